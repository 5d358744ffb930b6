//! Walks the order ahead and says what is to be read next.
//!
//! ```text
//! batches     0   1   2   3   4   5   6   7   8   9 │ planned as far as their bytes fit the window
//!             ▲head           ▲cursor               │
//! shard A     •   •       •           •       •     │ one visit: every row that any planned batch wants
//! ```
//!
//! The cursor goes over the slots in order. At a slot whose row nobody fetches yet, the shard is visited for all rows that
//! planned batches want of it, so a shard is read once in half a window at most, whatever the order. Batches leave in
//! order as soon as their last row has come.
//!
//! Rows that only need copying, at hand or in maps, go to threads batch by batch, small batches together, and few of them
//! ahead: threads do not wait for each other's batch, and the memory of a batch that was taken is the next one's.

mod leave;
mod visit;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use packstone_io::BufferPool;

use super::cache::Cache;
use super::delivery::Delivery;
use super::directory::{Directory, ShardId};
use super::job::{From, Job, Outcome, Part, Target};
use super::options::OnFault;
use super::sources::{Sources, outside};
use super::steps::{Slot, Steps};
use super::worker::Shared;
use super::{Drawn, Order};
use crate::error::{Error, Result};
use crate::exec::died;
use crate::format::{Access, ShardRef};
use crate::model::{Batch, Field};

/// Bytes that are guessed for a value of any length before one was seen.
const GUESS: u64 = 256;
/// What a planned row takes besides its values.
const PLAN_BYTES: u64 = 96;
/// Bytes of files that stay mapped, and their number; they take address space, and no memory of their own.
const MAPPED_BYTES: u64 = 16 << 30;
const MAPS: usize = 1 << 12;
/// Bytes of batches in the making where no shard is decoded as a whole: enough for some rows a visit.
const APART_BYTES: u64 = 16 << 20;
/// The same where shards are maps: what is copied should still be in the processor's cache when it is taken.
const COPIED_BYTES: u64 = 4 << 20;
/// Bytes that a thread copies at once, where batches are smaller.
const JOB_BYTES: u64 = 1 << 20;
/// Bytes of batches that are made ahead in any case.
const WARM_BYTES: u64 = 8 << 20;
/// Visits of whole shards that are handed out at a time for each thread: each may hold a decoded shard until it is made.
const VISITS: usize = 4;
/// Rows that are planned at most: looking farther ahead gains nothing.
const MOST_ROWS: u64 = 1 << 17;
/// Rows that are planned before the first are read. Each time after that it is twice as many, so that the first batch
/// waits for little more than itself.
const FIRST_ROWS: u64 = 1 << 11;

/// What leaves the planner, in order.
pub(super) enum Ready {
    /// A batch, and how many samples were left out of it.
    Batch(Box<Delivery>, u64),
    /// The batch of this step cannot be had.
    Failed(Error),
    /// The epoch has no more steps.
    End,
}

/// What a planner goes by.
#[derive(Clone)]
pub(super) struct Course {
    pub(super) order: Arc<dyn Order>,
    pub(super) steps: Steps,
    pub(super) epoch: u64,
    pub(super) step: u64,
    pub(super) window: u64,
    pub(super) threads: usize,
    pub(super) faults: OnFault,
}

/// The planner.
pub(super) struct Planner {
    course: Course,
    shared: Arc<Shared>,
    sources: Arc<Sources>,
    pool: BufferPool,
    drawn: Option<Arc<dyn Drawn>>,
    directory: Directory,
    access: Access,
    /// Where shards are read as a whole.
    cache: Option<Cache>,
    /// Rows of shards that were delivered, where shards are read as a whole.
    served: HashMap<ShardId, u64>,
    begun: bool,
    /// Rows are at hand.
    hand: bool,
    planned: VecDeque<Planned>,
    /// The number of the first planned batch, of the first that has not left, of the one at the cursor with its slot.
    head: u64,
    sent: u64,
    cursor: (u64, usize),
    /// The first batches that visits were made for, as far as they are behind the head.
    ahead: VecDeque<u64>,
    pending: HashMap<ShardId, Pending>,
    /// What only needs copying and is to be one job.
    gathered: Gathered,
    /// Shards that were or will be compared with their checksums ahead, those that are next, and how many are now.
    checked: HashSet<ShardId>,
    to_check: VecDeque<(ShardId, Arc<ShardRef>)>,
    checking: usize,
    flying: HashMap<u64, (ShardId, Arc<[Part]>)>,
    jobs_made: u64,
    /// Nothing more is planned; what is told behind the last batch; it was told.
    ended: bool,
    last: Option<Error>,
    closed: bool,
    /// Bytes of planned batches, and of those before the cursor.
    bytes: u64,
    before: u64,
    rows: u64,
    /// Rows that are planned at once.
    portion: u64,
    row_bytes: u64,
    /// Rows of any length were seen, or there are none.
    learned: bool,
    /// Jobs to be done, in this order.
    pub(super) jobs: VecDeque<(u64, Job)>,
    /// What may leave.
    pub(super) ready: VecDeque<Ready>,
}

/// A batch that is planned.
struct Planned {
    step: u64,
    slots: Vec<Slot>,
    indices: Vec<Option<u64>>,
    /// Where each slot's row is, until it is being fetched.
    wanted: Vec<Option<ShardId>>,
    target: Arc<Target>,
    missing: usize,
    faults: Vec<(usize, Error)>,
    bytes: u64,
}

/// Copies for one job.
#[derive(Default)]
struct Gathered {
    source: usize,
    bytes: u64,
    /// Rows at hand.
    indices: Vec<u64>,
    /// Decoded shards, each with its number of parts.
    shards: Vec<(Arc<ShardRef>, Arc<Batch>, usize)>,
    parts: Vec<Part>,
}

/// Rows of a shard that planned batches want and nobody fetches.
struct Pending {
    shard: Arc<ShardRef>,
    /// Batch, row, slot, in the order of the first two.
    rows: Vec<(u64, usize, usize)>,
}

impl Planner {
    pub(super) fn new(course: Course, shared: Arc<Shared>, pool: BufferPool) -> Self {
        let sources = Arc::clone(&shared.sources);
        let fixed = |field: &Field| match field.value_bytes() {
            Some(bytes) if !field.varies() => bytes,
            _ => GUESS,
        };
        let row_bytes =
            sources.schema.fields.iter().map(fixed).fold(PLAN_BYTES, u64::saturating_add);
        Self {
            begun: false,
            access: Access::Whole,
            cache: None,
            directory: Directory::new(Arc::clone(&sources)),
            drawn: None,
            served: HashMap::new(),
            hand: false,
            planned: VecDeque::new(),
            head: 0,
            sent: 0,
            cursor: (0, 0),
            ahead: VecDeque::new(),
            pending: HashMap::new(),
            gathered: Gathered::default(),
            checked: HashSet::new(),
            to_check: VecDeque::new(),
            checking: 0,
            flying: HashMap::new(),
            jobs_made: 0,
            ended: false,
            last: None,
            closed: false,
            bytes: 0,
            before: 0,
            rows: 0,
            portion: FIRST_ROWS,
            row_bytes,
            learned: !sources.schema.fields.iter().any(Field::varies),
            jobs: VecDeque::new(),
            ready: VecDeque::new(),
            course,
            shared,
            sources,
            pool,
        }
    }

    /// Plans, hands out jobs and lets batches leave, as far as that goes now. True where more could be planned at once.
    pub(super) fn advance(&mut self) -> bool {
        if !self.begun {
            self.begin();
        }
        let enough = self.rows.saturating_add(self.portion);
        let wants_more =
            |planner: &Self| !planner.ended && !planner.shared.stopped() && planner.has_room();
        while self.rows < enough && wants_more(self) {
            if let Err(error) = self.plan() {
                (self.ended, self.last) = (true, Some(error));
            }
        }
        if self.rows >= enough {
            self.portion = self.portion.saturating_mul(2);
        }
        let learned = self.learned;
        self.check_ahead();
        self.dispatch();
        self.submit_gathered();
        self.leave();
        // How many batches fit may be known only now.
        self.learned != learned || wants_more(self)
    }

    /// Looks at how rows are had.
    fn begin(&mut self) {
        self.begun = true;
        let shared = Arc::clone(&self.shared);
        let _reading = shared.reading("the first rows".to_owned());
        self.hand = self.sources.at_hand();
        self.access = self.sources.access();
        self.cache = match self.access {
            _ if self.hand => None,
            Access::Whole => Some(Cache::new(self.course.window / 2, usize::MAX)),
            Access::Mapped => Some(Cache::new(MAPPED_BYTES, MAPS)),
            Access::Apart => None,
        };
    }

    /// A batch was taken; its memory is the taker's.
    pub(super) fn taken(&mut self) {
        if let Some(batch) = self.planned.pop_front() {
            self.head += 1;
            self.bytes = self.bytes.saturating_sub(batch.bytes);
            self.rows = self.rows.saturating_sub(batch.slots.len() as u64);
            if self.cursor.0 >= self.head {
                self.before = self.before.saturating_sub(batch.bytes);
            }
        }
    }

    /// What came of a job.
    pub(super) fn done(&mut self, number: u64, result: std::thread::Result<Outcome>) {
        let Some((id, parts)) = self.flying.remove(&number) else { return };
        if parts.is_empty() {
            self.checking = self.checking.saturating_sub(1);
        }
        let outcome = result.unwrap_or_else(|_| {
            let all = parts.iter().flat_map(|part| part.rows.iter().map(|row| (part.seq, row.1)));
            Outcome { faults: all.map(|(seq, slot)| (seq, slot, died())).collect(), decoded: None }
        });
        for part in parts.iter() {
            if let Some(batch) = self.at(part.seq) {
                batch.missing = batch.missing.saturating_sub(part.rows.len());
            }
        }
        for (seq, slot, error) in outcome.faults {
            if let Some(batch) = self.at(seq) {
                batch.faults.push((slot, error));
            }
        }
        if let Some(batch) = outcome.decoded {
            self.keep(id, batch);
        }
    }

    /// A shard was decoded as a whole.
    fn keep(&mut self, id: ShardId, batch: Arc<Batch>) {
        let Some(cache) = &mut self.cache else { return };
        let served = self.served.get(&id).copied().unwrap_or(0);
        let left = (batch.rows() as u64).saturating_sub(served);
        let pending = &self.pending;
        let next = |id: &ShardId| pending.get(id)?.rows.first().map(|row| row.0);
        cache.keep(id, batch, left, next);
    }

    fn at(&mut self, seq: u64) -> Option<&mut Planned> {
        self.planned.get_mut(usize::try_from(seq.checked_sub(self.head)?).ok()?)
    }

    fn has_room(&self) -> bool {
        if self.hand {
            // Looking farther ahead gains nothing: a job for each thread, one that waits and one to be taken.
            let threads = self.course.threads as u64;
            let jobs = if threads == 0 { 1 } else { threads + 2 };
            let fits = self.course.window.checked_div(jobs).unwrap_or(0);
            let job = JOB_BYTES.min(fits).max(self.batch_bytes());
            let more = self.gathered.parts.is_empty() || self.gathered.bytes < job;
            let room = self.bytes.saturating_add(job) <= job.saturating_mul(jobs);
            return self.planned.is_empty() || more && (room || !self.gathered.parts.is_empty());
        }
        let window = if self.checks_ahead() { self.course.window } else { self.window() };
        // Before rows were seen, nobody knows how many fit.
        let known = self.learned && self.bytes < window && self.rows < MOST_ROWS;
        self.planned.is_empty() || known
    }

    /// True where threads that have nothing to copy can compare whole shards with their checksums.
    fn checks_ahead(&self) -> bool {
        self.shared.verify && self.access == Access::Apart && self.course.threads > 1
    }

    fn batch_bytes(&self) -> u64 {
        self.row_bytes.saturating_mul(self.course.steps.share.batch())
    }

    /// Bytes of batches in the making.
    fn window(&self) -> u64 {
        match self.access {
            Access::Whole => self.course.window / 2,
            Access::Apart => {
                let few = self.batch_bytes().saturating_mul(self.course.threads as u64 + 2);
                few.max(APART_BYTES).min(self.course.window)
            }
            Access::Mapped => {
                let few = self.batch_bytes().saturating_mul(self.course.threads as u64 + 1);
                few.max(COPIED_BYTES).min(self.course.window)
            }
        }
    }

    /// Plans the next batch.
    fn plan(&mut self) -> Result<()> {
        let drawn = match &self.drawn {
            Some(drawn) => Arc::clone(drawn),
            None => {
                let _reading = self.shared.reading("the order of samples".to_owned());
                Arc::clone(self.drawn.insert(self.course.order.epoch(self.course.epoch)?))
            }
        };
        let step = self.course.step;
        let Some(slots) = self.course.steps.slots(step) else {
            self.ended = true;
            return Ok(());
        };
        self.course.step += 1;
        let seq = self.head + self.planned.len() as u64;
        let index = |slot: &Slot| {
            let Some(position) = slot.position else { return Ok(None) };
            let missing = || outside(self.course.order.len(), position);
            drawn.at(position).map(Some).ok_or_else(missing)
        };
        let indices = slots.iter().map(index).collect::<Result<Vec<Option<u64>>>>()?;
        let bytes = self.row_bytes.saturating_mul(slots.len() as u64);
        let schema = Arc::clone(&self.sources.schema);
        let target = Arc::new(Target::new(schema, slots.len(), self.pool.clone()));
        let mut batch = Planned {
            step,
            missing: indices.iter().flatten().count(),
            wanted: vec![None; slots.len()],
            faults: Vec::new(),
            slots,
            indices,
            target,
            bytes,
        };
        if self.hand {
            self.fetch_at_hand(seq, &mut batch);
        } else {
            self.want(seq, &mut batch);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.rows = self.rows.saturating_add(batch.slots.len() as u64);
        self.planned.push_back(batch);
        Ok(())
    }

    /// Puts all rows of a batch into the next job.
    fn fetch_at_hand(&mut self, seq: u64, batch: &mut Planned) {
        let inside = &mut self.gathered.indices;
        let mut rows = Vec::with_capacity(batch.indices.len());
        for (slot, index) in batch.indices.iter().enumerate() {
            let Some(index) = index else { continue };
            match self.sources.locate(*index) {
                Ok((_, index)) => {
                    rows.push((inside.len(), slot));
                    inside.push(index);
                }
                Err(error) => batch.faults.push((slot, error)),
            }
        }
        batch.missing = rows.len();
        if !rows.is_empty() {
            self.gathered.parts.push(Part { seq, target: Arc::clone(&batch.target), rows });
            self.gathered.bytes = self.gathered.bytes.saturating_add(batch.bytes);
            if self.gathered.bytes >= JOB_BYTES {
                self.submit_gathered();
            }
        }
    }

    /// Hands out a job for what was gathered.
    fn submit_gathered(&mut self) {
        let Gathered { source, indices, shards, parts, .. } = std::mem::take(&mut self.gathered);
        if !parts.is_empty() {
            let from = if self.hand { From::Hand(indices) } else { From::Decoded(shards) };
            self.submit((source, 0), from, parts);
        }
    }

    /// Lets shards be compared with their checksums that are wanted soon, one on each thread.
    fn check_ahead(&mut self) {
        while self.checking < self.course.threads
            && let Some((id, shard)) = self.to_check.pop_front()
        {
            self.checking += 1;
            self.submit(id, From::Check(shard), Vec::new());
        }
    }

    /// Writes down which rows of which shards a batch wants.
    fn want(&mut self, seq: u64, batch: &mut Planned) {
        let shared = Arc::clone(&self.shared);
        let _reading = shared.reading("the lists of shards".to_owned());
        let ahead = self.checks_ahead();
        for (slot, (index, wanted)) in batch.indices.iter().zip(&mut batch.wanted).enumerate() {
            let Some(index) = index else { continue };
            match self.directory.find(*index) {
                Ok((id, row, shard)) => {
                    *wanted = Some(id);
                    if ahead && self.checked.insert(id) && !shared.was_touched(id.0, &shard) {
                        self.to_check.push_back((id, Arc::clone(&shard)));
                    }
                    let pending = self.pending.entry(id);
                    let pending = pending.or_insert_with(|| Pending { shard, rows: Vec::new() });
                    pending.rows.push((seq, row, slot));
                }
                Err(error) => {
                    batch.faults.push((slot, error));
                    batch.missing -= 1;
                }
            }
        }
    }

    /// Goes on with the cursor and visits shards.
    fn dispatch(&mut self) {
        // With nobody to read ahead, only what is asked for is read.
        let lead = match self.access {
            _ if self.course.threads == 0 => 0,
            Access::Mapped => self.window(),
            Access::Whole | Access::Apart => self.window() / 2,
        };
        while !self.hand {
            if self.cursor.0 < self.head {
                (self.cursor, self.before) = ((self.head, 0), 0);
            }
            let (seq, slot) = self.cursor;
            if seq > self.head && self.before >= lead {
                return;
            }
            let Some(batch) = self.at(seq) else { return };
            let bytes = batch.bytes;
            match batch.wanted.get(slot).copied() {
                None => {
                    self.cursor = (seq + 1, 0);
                    self.before = self.before.saturating_add(bytes);
                    if self.gathered.bytes >= JOB_BYTES {
                        self.submit_gathered();
                    }
                }
                Some(None) => self.cursor.1 += 1,
                Some(Some(shard)) => {
                    if self.is_soon_enough(seq, shard) || self.is_busy() {
                        return;
                    }
                    self.cursor.1 += 1;
                    self.ahead.push_back(seq);
                    self.visit(seq, shard);
                }
            }
        }
    }

    /// True where the readers have enough to do: a visit that is put off finds more rows to take along.
    fn is_busy(&self) -> bool {
        let most = VISITS.saturating_mul(self.course.threads.max(1));
        self.access == Access::Whole && self.flying.len() >= most
    }

    /// True for a shard that is wanted later and then once for all: reading it now gains nothing but fresh memory.
    fn is_soon_enough(&mut self, seq: u64, shard: ShardId) -> bool {
        while self.ahead.front().is_some_and(|first| *first <= self.head) {
            self.ahead.pop_front();
        }
        let whole = |pending: &Pending| pending.rows.len() as u64 >= pending.shard.rows;
        seq > self.head
            && self.before >= WARM_BYTES
            && self.ahead.len() >= self.course.threads + 2
            && self.pending.get(&shard).is_some_and(whole)
    }
}
