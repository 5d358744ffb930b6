//! The driver of checks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use packstone::format::{Audit, AuditTask, ReadContext};
use packstone::model::{Finding, Severity};
use packstone::ops::{VerifyOptions, verify};
use packstone::{MemoryRoot, Place, Root};

use crate::fake::{FakeFormat, member, witness};

fn finding(severity: Severity, code: &'static str, file: &str, record: u64) -> Finding {
    Finding::new(severity, code, Place::file(file).record(record), "expected more, found less")
}

fn task(
    bytes: u64,
    run: impl FnOnce(&mut ReadContext) -> Vec<Finding> + Send + 'static,
) -> AuditTask {
    AuditTask { bytes, samples: 10, run: Box::new(run) }
}

fn root() -> Arc<dyn Root> {
    Arc::new(MemoryRoot::new())
}

fn with(findings: Vec<Finding>, tasks: Vec<AuditTask>) -> FakeFormat {
    FakeFormat { audit: Audit { findings, tasks, documents: 3 }.into(), ..FakeFormat::default() }
}

fn threads(threads: usize) -> VerifyOptions {
    VerifyOptions { threads, ..VerifyOptions::default() }
}

#[test]
fn findings_are_sorted_and_said_once_whatever_the_threads() {
    for n in [0, 1, 4] {
        let tasks = (0..20u64).rev().map(|at| {
            task(at, move |context| {
                std::thread::sleep(std::time::Duration::from_micros(at * 37 % 300));
                context.notes.push(finding(Severity::Info, "fake/note", "shard-00", 7));
                vec![finding(Severity::Error, "fake/b", &format!("shard-{at:02}"), 1)]
            })
        });
        let early = vec![
            finding(Severity::Error, "fake/b", "shard-03", 1),
            finding(Severity::Warning, "fake/a", "shard-03", 1),
            Finding::new(Severity::Info, "fake/all", Place::default(), "expected nothing"),
        ];
        let report = verify(&with(early, tasks.collect()), root(), &threads(n), None).unwrap();
        let said: Vec<_> = report
            .findings
            .iter()
            .map(|f| (f.place.file.clone().unwrap_or_default(), f.code))
            .collect();
        let mut want = vec![(String::new(), "fake/all")];
        for at in 0..20 {
            if at == 3 {
                want.push(("shard-03".to_owned(), "fake/a"));
            }
            want.push((format!("shard-{at:02}"), "fake/b"));
            if at == 0 {
                want.push(("shard-00".to_owned(), "fake/note"));
            }
        }
        assert_eq!(said, want, "{n} threads");
        assert_eq!(
            (report.tasks, report.samples, report.bytes, report.documents),
            (20, 200, 190, 3)
        );
        assert_eq!((report.worst(), report.is_clean()), (Some(Severity::Error), false));
        let json = report.to_json();
        assert_eq!(member(&json, "errors").as_u64(), Some(20));
        assert_eq!(member(&json, "warnings").as_u64(), Some(1));
        assert_eq!(member(&json, "infos").as_u64(), Some(2));
        assert_eq!(member(&json, "clean").as_bool(), Some(false));
    }
}

#[test]
fn what_is_only_worth_knowing_is_clean() {
    let report = |severity| {
        verify(
            &with(vec![finding(severity, "fake/x", "f", 0)], Vec::new()),
            root(),
            &threads(1),
            None,
        )
        .unwrap()
    };
    assert!(report(Severity::Info).is_clean() && !report(Severity::Warning).is_clean());
    let nothing = verify(&with(Vec::new(), Vec::new()), root(), &threads(1), None).unwrap();
    assert!(nothing.is_clean() && nothing.worst().is_none());
}

#[test]
fn a_panic_is_a_finding_and_ends_nothing_else() {
    for n in [0, 1, 3] {
        let tasks = (0..8u32).map(|at| {
            task(1, move |context| {
                // The context of the task that panicked would still hold its note.
                context.notes.push(finding(Severity::Info, "fake/note", "f", u64::from(at)));
                assert!(at != 3, "on purpose");
                vec![]
            })
        });
        let report = verify(&with(Vec::new(), tasks.collect()), root(), &threads(n), None).unwrap();
        let dead: Vec<_> =
            report.findings.iter().filter(|f| f.code == "exec/thread_died").collect();
        assert_eq!(dead.len(), 1, "{n} threads");
        assert_eq!(dead[0].severity, Severity::Error);
        let noted: Vec<_> = report.findings.iter().filter_map(|f| f.place.record).collect();
        assert_eq!(noted, [0, 1, 2, 4, 5, 6, 7], "{n} threads");
    }
}

#[test]
fn progress_is_by_bytes_and_stops_it() {
    let done = Arc::new(AtomicUsize::new(0));
    let tasks = |count: u64| {
        let one = |bytes| {
            let done = Arc::clone(&done);
            task(bytes, move |_| {
                done.fetch_add(1, Ordering::SeqCst);
                Vec::new()
            })
        };
        (1..=count).map(one).collect::<Vec<_>>()
    };
    let (progress, seen) = witness(99);
    verify(&with(Vec::new(), tasks(4)), root(), &threads(2), Some(&progress)).unwrap();
    assert_eq!((seen.seen(), done.load(Ordering::SeqCst)), ((10, 10), 4));

    done.store(0, Ordering::SeqCst);
    let (progress, _) = witness(3);
    let stopped =
        verify(&with(Vec::new(), tasks(500)), root(), &threads(2), Some(&progress)).unwrap_err();
    assert_eq!(stopped.code(), "ops/cancelled");
    assert!(done.load(Ordering::SeqCst) <= 3 + 5, "no more than the window ran on");
}

#[test]
fn threads_keep_their_context() {
    let tasks = (0..6).map(|_| {
        task(1, |context| {
            let verify = context.verify;
            // A buffer that goes back to the pool is the next one out.
            let buffer = context.pool.take(1 << 20).unwrap();
            vec![Finding::new(
                Severity::Info,
                "fake/seen",
                Place::default(),
                format!("{verify} {:p}", buffer.as_ptr()),
            )]
        })
    });
    let report = verify(&with(Vec::new(), tasks.collect()), root(), &threads(0), None).unwrap();
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert!(report.findings[0].message.starts_with("true "));
}
