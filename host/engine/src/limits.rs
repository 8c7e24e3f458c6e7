//! Every bound of the engine, in one place, with unit and reason.

use crate::ids::Name;

/// Bounds that an operator may set; [`Limits::default`] gives the documented values.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Turns that may be waiting or running before new requests are refused with `Busy`.
    /// Beyond this a client waits longer than it gains. Deliveries that wait for another attempt or for
    /// a paused component do not count.
    pub turns_waiting_max: usize,
    /// Requests of one client that may be waiting or running before more of its are refused with `Busy`.
    pub turns_waiting_per_client_max: usize,
    /// Clients that get more requests begun in their turn than one, and how many: those not named get one.
    pub client_weights: Vec<(Name, u32)>,
    /// Executed turns that may wait for the disk before new requests are refused.
    pub uncommitted_turns_max: usize,
    /// Outbound requests that may be in memory, to all destinations; those beyond wait on disk.
    /// Each is a few kilobytes.
    pub requests_waiting_max: usize,
    /// Requests to one destination that may be in memory; those beyond wait on disk. Each destination has
    /// at most as much as is left for all others, too, so that dead ones leave room.
    pub requests_waiting_per_destination_max: usize,
    /// Deliveries that wait for another attempt or for a paused component and are in memory; those
    /// beyond are on disk alone until their time comes.
    pub deliveries_waiting_in_memory_max: usize,
    /// How often a delivery is tried before it becomes a dead letter.
    pub attempts_max: u32,
    /// For how long a delivery is tried before it becomes a dead letter, in milliseconds.
    pub retry_for_ms: u64,
    /// A component is paused when deliveries about so many subjects have failed since the last success,
    pub pause_subjects: usize,
    /// and from so many senders.
    pub pause_senders: usize,
    /// The time from the pause of a component to its first probe, in milliseconds; doubles after each
    /// that fails.
    pub probe_initial_ms: u64,
    /// The longest time between two probes, in milliseconds.
    pub probe_max_ms: u64,
    /// The pause after a delivery's first failure, in milliseconds; doubles after each more.
    pub retry_initial_ms: u64,
    /// The longest pause between a delivery's attempts, in milliseconds.
    pub retry_max_ms: u64,
    /// How long an executed turn waits for company before its group is written, in microseconds,
    /// while other turns are running. With nothing running a group is written at once.
    pub commit_linger_us: u64,
    /// Bytes of document bodies kept in memory beside those that are not yet on disk.
    pub cache_bytes_max: usize,
    /// How often a worker looks again at a document that another turn holds before it ends its
    /// own turn and queues for the document. Holders are usually done within microseconds.
    pub lock_looks_max: u32,
    /// Reruns of one turn because of other turns, before it counts as failed.
    pub conflicts_max: u32,
    /// Events that may follow one upon another from one request, reminder or report: a delivery
    /// further away is parked. A payment's longest chain is some ten; components that publish to
    /// each other without end get here within a second.
    pub hops_max: u32,
    /// The highest redelivery count (starts of the host while the delivery was pending) with which a
    /// delivery is not a poison candidate.
    pub redeliveries_max: u32,
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
            commit_linger_us: 5_000,
            cache_bytes_max: 256 << 20,
            lock_looks_max: 24,
            conflicts_max: 64,
            hops_max: 1_000,
            redeliveries_max: 5,
        }
    }
}

/// How long what a request causes to be sent waits for the request's answer to leave, in milliseconds, from
/// the commit of the first of it.
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
/// Steps of one turn's history: calls, verdicts, events and so on.
pub const STEPS_PER_TURN_MAX: usize = 4_096;
/// Receipts that one turn may leave.
pub const RECEIPTS_PER_TURN_MAX: usize = 256;
/// Log lines that are kept of one turn. Beyond them an operator reads nothing new.
pub const LINES_PER_TURN_MAX: u32 = 256;
/// Bytes that one turn may read, scan, write and stage in all. Executed turns wait for the disk in
/// memory, and counts alone would let one of them hold gigabytes.
pub const TURN_BYTES_MAX: usize = 16 << 20;
/// Bytes of a scan's page; it ends with the document that reaches this, and the next page goes on.
pub const SCAN_BYTES_MAX: usize = 4 << 20;
/// Ranges that one turn may scan; pages that follow one another are one. Each is compared with what other
/// turns write until the turn has its position in the log.
pub const SCANS_PER_TURN_MAX: usize = 1_024;
/// Writes that the log remembers for scans beyond those that wait for the disk. A turn that has scanned
/// before more of them than this runs again.
pub const WRITES_REMEMBERED_MAX: usize = 65_536;
/// Documents that a scan asks the store for at once: so many at their longest are in memory for one
/// page.
pub const SCAN_STEP: u32 = 64;
/// Collections that one component may have. They are numbered for good.
pub const COLLECTIONS_PER_COMPONENT_MAX: usize = 256;
/// Turns that a worker runs one after the other because each is the first event of the one before.
/// Then the next goes to the end of the queue, so that a chain without end leaves room for others.
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
