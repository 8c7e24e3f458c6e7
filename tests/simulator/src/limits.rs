//! The simulator's bounds, each with its unit and reason. No other file sets one.

use std::time::Duration;

/// Largest body read from a message, in octets: the FSPIOP limit of 5 MiB.
pub const BODY_BYTES_MAX: usize = 5_242_880;

/// Largest answer read from the control API, in octets: a long recording fits, a runaway does
/// not.
pub const CONTROL_ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Messages that a recorder keeps; the oldest give way. About 200 MB of typical messages.
pub const RECORDED_MESSAGES_MAX: usize = 100_000;

/// Idle connections kept to one destination. More than the concurrency of any benchmark that
/// two cores can serve, so that a run opens its connections once.
pub const IDLE_CONNECTIONS_MAX: usize = 1024;

/// How long an idle connection is kept. Shorter than common server-side limits (60 s), so that
/// the client lets go first.
pub const IDLE_CONNECTION_KEPT: Duration = Duration::from_secs(30);

/// How long a connection may take to open.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an HTTP answer may take, unless the settings say otherwise.
pub const HTTP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a step of a payment waits for its callback, unless the settings say otherwise.
pub const CALLBACK_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a payee tries to deliver a callback to the switch, unless the settings say
/// otherwise.
pub const CALLBACK_ATTEMPTS: u32 = 4;

/// The pause before the second attempt to deliver a callback; it doubles for each further one.
pub const CALLBACK_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// How long a quote and a transfer stay valid, unless the settings say otherwise.
pub const EXPIRES_IN: Duration = Duration::from_secs(60);

/// Payments that an open-loop benchmark keeps in flight. Beyond it the generator waits; the
/// wait counts as latency, so nothing is hidden.
pub const OPEN_LOOP_IN_FLIGHT_MAX: usize = 20_000;

/// How long a benchmark waits for payments in flight after its window closed.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);

/// Octets of a body shown in a transcript before it is cut.
pub const TRANSCRIPT_BODY_CHARS_MAX: usize = 160;

/// Characters of one text value shown in a transcript before it is cut (an ILP packet has
/// hundreds).
pub const TRANSCRIPT_VALUE_CHARS_MAX: usize = 40;

/// Answers that a payee remembers, so that a request that the switch repeats gets the same
/// answer again. Fifteen seconds of full load, about 15 MB.
pub const REMEMBERED_ANSWERS_MAX: usize = 20_000;
