//! Work that is shared out between threads which the caller waits for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use super::died;
use crate::error::Result;

/// Runs `work` on each item, on up to `threads` threads at once, and waits for all of them.
///
/// # Errors
/// The first error in the order of the items.
pub fn for_each<T: Sync>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<()> + Sync,
) -> Result<()> {
    map(items, threads, |part| part.iter().try_for_each(&work))?.into_iter().collect()
}

/// What `work` makes of each of up to `threads` equal parts of the items, all at once, in their order.
///
/// # Errors
/// `exec/thread_died` where `work` panicked: a fault of packstone.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&[T]) -> R + Sync,
) -> Result<Vec<R>> {
    let each = items.len().div_ceil(threads.max(1)).max(1);
    at_once(items.chunks(each), work)
}

/// What `work` makes of each part, all at once, each on a thread of its own, in their order.
///
/// # Errors
/// `exec/thread_died` where `work` panicked: a fault of packstone.
pub fn at_once<T: Send, R: Send>(
    parts: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Result<Vec<R>> {
    let mut parts = parts.into_iter();
    std::thread::scope(|scope| {
        let work = &work;
        let own = parts.next();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        // One part is for the thread that waits for the others.
        let own = own.map(|part| catch_unwind(AssertUnwindSafe(|| work(part))));
        let others = others.into_iter().map(std::thread::ScopedJoinHandle::join);
        own.into_iter().chain(others).map(|made| made.map_err(|_| died())).collect()
    })
}

/// Does `work` for all parts, on up to `threads` threads of which this is one; each takes the next part when it is done
/// with one, so that none waits for a thread that starts late.
///
/// # Errors
/// The first error that a thread met; `exec/thread_died` where `work` panicked: a fault of packstone.
pub fn share<T: Send>(
    parts: Vec<T>,
    threads: usize,
    work: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let helpers = threads.min(parts.len()).saturating_sub(1);
    let parts = Mutex::new(parts.into_iter());
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let all = || std::iter::from_fn(next).try_for_each(&work);
    let all = || catch_unwind(AssertUnwindSafe(all)).unwrap_or_else(|_| Err(died()));
    std::thread::scope(|scope| {
        // Where the system gives no threads, it is done without.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, all).ok();
        let helpers: Vec<_> = (0..helpers).map_while(spawn).collect();
        let own = all();
        let others =
            helpers.into_iter().map(|helper| helper.join().unwrap_or_else(|_| Err(died())));
        std::iter::once(own).chain(others).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_parts_are_done_once_each_and_faults_are_told() {
        for threads in [0, 1, 4] {
            let done = Mutex::new(Vec::new());
            let note = |n: u64| {
                done.lock().unwrap().push(n);
                Ok(())
            };
            share((0..100).collect(), threads, note).unwrap();
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..100).collect::<Vec<_>>(), "{threads} threads");
            let code = |work: fn(u64) -> Result<()>| {
                share((0..9).collect(), threads, work).unwrap_err().code()
            };
            assert_eq!(code(|n| if n == 5 { Err(died()) } else { Ok(()) }), "exec/thread_died");
            assert_eq!(
                code(|n| if n == 8 { panic!("on purpose") } else { Ok(()) }),
                "exec/thread_died"
            );
        }
    }
}
