//! Every bound of the engine, in one place, with unit and reason.

use crate::ids::Name;

/// Bounds that an operator may set; [`Limits::default`] gives the documented values.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Turns that may wait or run before new requests are refused with `Busy`. Deliveries that wait for a
    /// retry or for a paused component do not count.
    pub turns_waiting_max: usize,
    /// Requests of one client that may wait or run before its next one is refused with `Busy`.
    pub turns_waiting_per_client_max: usize,
    /// The weights of clients: requests that begin in one round. Clients not listed have 1.
    pub client_weights: Vec<(Name, u32)>,
    /// Executed turns that may wait for the disk before new requests are refused.
    pub uncommitted_turns_max: usize,
    /// Outbound requests in memory, to all destinations. Those beyond wait on disk. Each has a few kilobytes.
    pub requests_waiting_max: usize,
    /// Outbound requests in memory to one destination. Those beyond wait on disk. A destination also gets at
    /// most as much as is left for all others.
    pub requests_waiting_per_destination_max: usize,
    /// Waiting deliveries in memory (for a retry or a paused component). Those beyond are only on disk until
    /// they are released.
    pub deliveries_waiting_in_memory_max: usize,
    /// How often a delivery is tried before it becomes a dead letter.
    pub attempts_max: u32,
    /// For how long a delivery is tried before it becomes a dead letter, in milliseconds.
    pub retry_for_ms: u64,
    /// A component is paused when deliveries about this many subjects have failed since the last success,
    pub pause_subjects: usize,
    /// and from this many senders.
    pub pause_senders: usize,
    /// The time from the pause of a component to its first probe, in milliseconds. It doubles after each failed
    /// probe.
    pub probe_initial_ms: u64,
    /// The longest time between two probes, in milliseconds.
    pub probe_max_ms: u64,
    /// The pause after a delivery's first failure, in milliseconds. It doubles after each further one.
    pub retry_initial_ms: u64,
    /// The longest pause between a delivery's attempts, in milliseconds.
    pub retry_max_ms: u64,
    /// How long an executed turn waits for others to join its group, in microseconds. When no turn is running,
    /// a group with an answer or an outbound request is written at once.
    pub commit_linger_us: u64,
    /// Bytes of document bodies in the cache, beside those that are not on disk yet.
    pub cache_bytes_max: usize,
    /// How long a turn waits for a document that another turn has locked, in microseconds, before it ends without effect
    /// and its job queues for the document. Most locks are released sooner. It waits
    /// up to four times if other turns are quicker each time. With 0 it looks once.
    pub lock_wait_us: u64,
    /// Reruns of one turn because of conflicts, before it counts as failed.
    pub conflicts_max: u32,
    /// The length of a chain of events from one request, reminder or report. A delivery beyond it is parked. A
    /// payment's longest chain has about ten events. Components that publish to each other without end get here
    /// within a second.
    pub hops_max: u32,
    /// Bytes of answers of calls outside the host that all turns have together while they wait. A turn beyond them
    /// is refused, because nothing of it is on disk yet.
    pub answer_bytes_max: usize,
    /// The highest redelivery count (starts of the host while the delivery was pending) with which a
    /// delivery is not a poison candidate.
    pub redeliveries_max: u32,
    /// Bytes that the history keeps of each message: of its line, its headers and its body. 0 keeps no messages.
    pub message_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns_waiting_max: 4_096,
            turns_waiting_per_client_max: 1_024,
            client_weights: Vec::new(),
            uncommitted_turns_max: 65_536,
            requests_waiting_max: 16_384,
            requests_waiting_per_destination_max: 4_096,
            deliveries_waiting_in_memory_max: 16_384,
            attempts_max: 100,
            retry_for_ms: 4 * 3_600_000,
            pause_subjects: 8,
            pause_senders: 2,
            probe_initial_ms: 1_000,
            probe_max_ms: 30_000,
            retry_initial_ms: 50,
            retry_max_ms: 300_000,
            commit_linger_us: 10_000,
            cache_bytes_max: 256 << 20,
            lock_wait_us: 500,
            conflicts_max: 64,
            hops_max: 1_000,
            answer_bytes_max: 64 << 20,
            redeliveries_max: 5,
            message_bytes_max: 0,
        }
    }
}

/// How long the outbound requests that a request causes wait for its answer, in milliseconds from the commit
/// of the first of them.
pub const ANSWER_LEAVES_MS_MAX: u64 = 1_000;
/// The longest document body, in bytes.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// The longest document id, in bytes.
pub const ID_BYTES_MAX: usize = 256;
/// The longest collection name, in bytes.
pub const COLLECTION_BYTES_MAX: usize = 64;
/// The largest page of a scan, in documents.
pub const SCAN_LIMIT_MAX: u32 = 1_000;
/// Documents that one turn may touch.
pub const DOCUMENTS_PER_TURN_MAX: usize = 4_096;
/// Deliveries, reminders and requests that one turn may stage, each.
pub const STAGED_PER_TURN_MAX: usize = 1_024;
/// Subjects of one turn's history.
pub const SUBJECTS_PER_TURN_MAX: usize = 8;
/// People whom one turn may name. Each has 12 bytes in each of its records.
pub const PEOPLE_PER_TURN_MAX: usize = 2_048;
/// Steps of one turn's history: calls, verdicts, events and so on.
pub const STEPS_PER_TURN_MAX: usize = 4_096;
/// Messages of one turn that the history keeps.
pub const MESSAGES_PER_TURN_MAX: usize = 64;
/// Bytes of one turn's messages that the history keeps.
pub const MESSAGE_BYTES_PER_TURN_MAX: usize = 1 << 20;
/// Receipts that one turn may leave.
pub const RECEIPTS_PER_TURN_MAX: usize = 256;
/// Entries of the audit log that one turn may write.
pub const AUDIT_ENTRIES_PER_TURN_MAX: usize = 256;
/// Log lines that are kept of one turn.
pub const LINES_PER_TURN_MAX: u32 = 256;
/// Bytes that one turn may read, scan, write and stage in all. Executed turns wait for the disk in memory,
/// and with limits of counts alone one of them could take gigabytes.
pub const TURN_BYTES_MAX: usize = 16 << 20;
/// Bytes of a scan's page. The page ends with the document that reaches this.
pub const SCAN_BYTES_MAX: usize = 4 << 20;
/// Ranges that one turn may scan; consecutive pages are one range. Each is compared with the writes of other
/// turns.
pub const SCANS_PER_TURN_MAX: usize = 1_024;
/// Committed writes that the log remembers for the validation of scans. A turn whose scan is older than the
/// remembered writes runs again.
pub const WRITES_REMEMBERED_MAX: usize = 65_536;
/// Documents that a scan reads from the store at a time, which bounds its memory.
pub const SCAN_STEP: u32 = 64;
/// Collections that one component may have. Their numbers are permanent.
pub const COLLECTIONS_PER_COMPONENT_MAX: usize = 256;
/// Turns of one chain that a worker runs in a row, each the first event of the one before. The next goes to
/// the end of the queue, so that an endless chain does not block others.
pub const CONTINUED_MAX: u32 = 16;

// How these bounds must fit each other.
const _: () = {
    assert!(
        SCAN_STEP <= SCAN_LIMIT_MAX,
        "a step of a scan is no longer than a page may be"
    );
    assert!(
        SCAN_BYTES_MAX + ID_BYTES_MAX + BODY_BYTES_MAX <= TURN_BYTES_MAX,
        "a turn may read a page that ends with the longest document"
    );
    assert!(
        DOCUMENTS_PER_TURN_MAX <= WRITES_REMEMBERED_MAX,
        "what one turn writes is remembered as a whole"
    );
    assert!(
        2 * STAGED_PER_TURN_MAX <= STEPS_PER_TURN_MAX,
        "each reminder and each request of a turn has a step in its history"
    );
};
