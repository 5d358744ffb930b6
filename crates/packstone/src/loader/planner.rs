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

mod advance;
mod dispatch;
mod done;
mod gather;
mod leave;
mod parts;
mod plan;
mod room;
mod visit;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use packstone_io::{BufferPool, RelPath};

use self::parts::{Gathered, Pending, Planned};
use super::cache::Cache;
use super::delivery::Delivery;
use super::directory::{Directory, ShardId};
use super::job::{Job, Part};
use super::options::OnFault;
use super::sources::Sources;
use super::steps::Steps;
use super::worker::Shared;
use super::{Drawn, Order};
use crate::error::Error;
use crate::format::{Access, ShardRef};
use crate::model::Field;

/// Bytes that are guessed for a value of any length before one was seen.
const GUESS: u64 = 256;
/// What a planned row takes besides its values.
const PLAN_BYTES: u64 = 96;
/// Bytes that a thread copies at once, where batches are smaller.
const JOB_BYTES: u64 = 1 << 20;
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
    checked_files: HashSet<(usize, RelPath)>,
    /// Files whose comparison has not ended, each with the shard that stands for it.
    awaited: HashMap<(usize, RelPath), ShardId>,
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
            checked_files: HashSet::new(),
            awaited: HashMap::new(),
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

    fn at(&mut self, seq: u64) -> Option<&mut Planned> {
        self.planned.get_mut(usize::try_from(seq.checked_sub(self.head)?).ok()?)
    }
}
