//! The recorder: every message of an FSP, in and out, and waiting for one to come.
//!
//! A recorder that is off costs one atomic read a message. Expectations work also then.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use crate::limits::RECORDED_MESSAGES_MAX;

mod message;

pub use message::{Direction, Ending, Recorded};

/// A place in a recording, to note the answer later.
#[derive(Clone, Copy, Debug)]
pub struct Ticket(u64);

type Predicate = Box<dyn Fn(&Recorded) -> bool + Send>;

struct Expectation {
    id: u64,
    predicate: Predicate,
    found: oneshot::Sender<Recorded>,
}

#[derive(Default)]
struct Tape {
    messages: VecDeque<(Recorded, bool)>,
    /// The number of the tape's first message.
    first: u64,
    expectations: Vec<Expectation>,
    next_expectation: u64,
}

/// Keeps an FSP's messages.
pub struct Recorder {
    on: AtomicBool,
    expecting: AtomicUsize,
    tape: Mutex<Tape>,
    answered: Notify,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("on", &self.on)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recorder, running or not.
    pub fn new(on: bool) -> Self {
        Self {
            on: AtomicBool::new(on),
            expecting: AtomicUsize::new(0),
            tape: Mutex::default(),
            answered: Notify::new(),
        }
    }

    /// Switches recording on or off. What was recorded stays.
    pub fn switch(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    /// True while messages are recorded.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Forgets all messages.
    pub fn clear(&self) {
        let mut tape = self.tape.lock();
        tape.first += tape.messages.len() as u64;
        tape.messages.clear();
    }

    /// All messages, in the order in which they were sent and received.
    pub fn messages(&self) -> Vec<Recorded> {
        let tape = self.tape.lock();
        tape.messages
            .iter()
            .map(|(message, _)| message.clone())
            .collect()
    }

    /// The violations of the API definition in received messages: path and complaint.
    pub fn complaints(&self) -> Vec<String> {
        let tape = self.tape.lock();
        let of = |message: &Recorded| -> Vec<String> {
            let place = format!("{} {}", message.method, message.path);
            message
                .complaints
                .iter()
                .map(|complaint| format!("{place}: {complaint}"))
                .collect()
        };
        tape.messages
            .iter()
            .flat_map(|(message, _)| of(message))
            .collect()
    }

    /// True if a message has to be handed to the recorder at all.
    pub(crate) fn wants(&self) -> bool {
        self.is_on() || self.expecting.load(Ordering::Relaxed) > 0
    }

    /// Records a message. The ticket, if it is kept, is needed to note its answer later.
    pub(crate) fn record(&self, message: Recorded) -> Option<Ticket> {
        let mut tape = self.tape.lock();
        let mut claimed = false;
        if message.direction == Direction::In {
            // The oldest expectation that fits gets the message. One whose owner has gone away
            // is passed over.
            while let Some(place) = tape
                .expectations
                .iter()
                .position(|e| (e.predicate)(&message))
            {
                let expectation = tape.expectations.remove(place);
                self.expecting.fetch_sub(1, Ordering::Relaxed);
                if expectation.found.send(message.clone()).is_ok() {
                    claimed = true;
                    break;
                }
            }
        }
        if !self.is_on() {
            return None;
        }
        let ticket = Ticket(tape.first + tape.messages.len() as u64);
        tape.messages.push_back((message, claimed));
        if tape.messages.len() > RECORDED_MESSAGES_MAX {
            tape.messages.pop_front();
            tape.first += 1;
        }
        Some(ticket)
    }

    /// Notes how a message ended. Nothing happens if the message is no longer kept.
    pub(crate) fn ended(&self, ticket: Ticket, ending: Ending, took: Duration) {
        let mut tape = self.tape.lock();
        let place = ticket
            .0
            .checked_sub(tape.first)
            .and_then(|place| usize::try_from(place).ok());
        if let Some((message, _)) = place.and_then(|place| tape.messages.get_mut(place))
            && message.ending == Ending::Pending
        {
            message.ending = ending;
            message.took_us = micros(took);
        }
        drop(tape);
        self.answered.notify_waiters();
    }

    /// Waits until every message out has its answer, at most this long. True if that is so.
    pub async fn settled(&self, within: Duration) -> bool {
        let settled = async {
            loop {
                let answered = self.answered.notified();
                let pending = {
                    let tape = self.tape.lock();
                    tape.messages
                        .iter()
                        .any(|(message, _)| message.ending == Ending::Pending)
                };
                if !pending {
                    break;
                }
                answered.await;
            }
        };
        tokio::time::timeout(within, settled).await.is_ok()
    }

    /// Expects a message in. A recorded one that nobody has claimed yet is as good as one still
    /// to come, so that nothing is missed between a request and the wait for its callback.
    pub fn expect(&self, predicate: impl Fn(&Recorded) -> bool + Send + 'static) -> Expected<'_> {
        let mut tape = self.tape.lock();
        let (found, receiver) = oneshot::channel();
        let earlier = tape.messages.iter_mut().find(|(message, claimed)| {
            !claimed && message.direction == Direction::In && predicate(message)
        });
        let mut id = None;
        if let Some((message, claimed)) = earlier {
            *claimed = true;
            let _ = found.send(message.clone()); // the receiver is in our hands
        } else {
            tape.next_expectation += 1;
            id = Some(tape.next_expectation);
            let expectation = Expectation {
                id: tape.next_expectation,
                predicate: Box::new(predicate),
                found,
            };
            tape.expectations.push(expectation);
            self.expecting.fetch_add(1, Ordering::Relaxed);
        }
        Expected {
            recorder: self,
            id,
            receiver,
        }
    }

    fn forget(&self, id: u64) {
        let mut tape = self.tape.lock();
        if let Some(place) = tape.expectations.iter().position(|e| e.id == id) {
            tape.expectations.remove(place);
            self.expecting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A message that is expected. Letting go of it ends the expectation.
#[derive(Debug)]
pub struct Expected<'a> {
    recorder: &'a Recorder,
    id: Option<u64>,
    receiver: oneshot::Receiver<Recorded>,
}

/// The expected message did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the expected message did not come within {} ms", waited.as_millis())]
pub struct NotReceived {
    /// How long it was waited for.
    pub waited: Duration,
}

impl Expected<'_> {
    /// Waits for the message, at most this long.
    pub async fn within(mut self, timeout: Duration) -> Result<Recorded, NotReceived> {
        match tokio::time::timeout(timeout, &mut self.receiver).await {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(_)) | Err(_) => Err(NotReceived { waited: timeout }),
        }
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.recorder.forget(id);
        }
    }
}

/// A duration in whole microseconds.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::{HeaderMap, Method};

    fn message(direction: Direction, path: &str) -> Recorded {
        Recorded {
            fsp: "payerfsp".parse().expect("an id"),
            at_us: 1,
            direction,
            method: Method::PUT,
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::from_static(b"{\"a\":1}"),
            ending: Ending::Pending,
            took_us: 0,
            complaints: Vec::new(),
        }
    }

    const SOON: Duration = Duration::from_secs(5);
    const AT_ONCE: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn expectation_is_met_by_earlier_or_later_message() {
        let recorder = Recorder::new(true);
        recorder.record(message(Direction::In, "/quotes/1"));
        let first = recorder
            .expect(|m| m.path == "/quotes/1")
            .within(SOON)
            .await;
        assert!(first.is_ok());
        let claimed = recorder
            .expect(|m| m.path == "/quotes/1")
            .within(AT_ONCE)
            .await;
        assert_eq!(claimed.err(), Some(NotReceived { waited: AT_ONCE }));

        let later = recorder.expect(|m| m.path == "/quotes/2");
        recorder.record(message(Direction::Out, "/quotes/2"));
        recorder.record(message(Direction::In, "/quotes/2"));
        assert_eq!(
            later.within(SOON).await.expect("it came").direction,
            Direction::In
        );
        assert_eq!(recorder.messages().len(), 3);
    }

    #[tokio::test]
    async fn a_recorder_that_is_off_keeps_nothing_but_meets_expectations() {
        let recorder = Recorder::new(false);
        assert!(!recorder.wants());
        let expected = recorder.expect(|_| true);
        assert!(recorder.wants());
        recorder.record(message(Direction::In, "/transfers/1"));
        assert!(expected.within(SOON).await.is_ok());
        drop(recorder.expect(|_| true));
        assert!(
            !recorder.wants(),
            "an expectation that is let go leaves nothing behind"
        );
        assert!(recorder.messages().is_empty());
    }

    #[tokio::test]
    async fn a_recording_is_settled_when_each_message_has_its_answer() {
        let recorder = Recorder::new(true);
        let ticket = recorder
            .record(message(Direction::Out, "/quotes"))
            .expect("kept");
        assert!(!recorder.settled(AT_ONCE).await);
        recorder.ended(ticket, Ending::Status(202), Duration::from_millis(2));
        assert!(recorder.settled(SOON).await);
        assert_eq!(recorder.messages()[0].status(), Some(202));
        assert_eq!(recorder.messages()[0].took_us, 2000);
        recorder.clear();
        let next = recorder
            .record(message(Direction::Out, "/transfers"))
            .expect("kept");
        recorder.ended(ticket, Ending::Status(500), Duration::ZERO);
        assert_eq!(
            recorder.messages()[0].status(),
            None,
            "an old ticket fits nothing new"
        );
        recorder.ended(next, Ending::Broken("gone".into()), Duration::ZERO);
        assert!(recorder.settled(SOON).await);
    }

    #[test]
    fn a_recording_reads_back_from_its_lines() {
        let bodies = ["", "{\"a\": 1}", "not JSON", "{\r\n  \"b\": [true]\r\n}"];
        let lines: Vec<String> = bodies
            .iter()
            .map(|body| {
                let mut message = message(Direction::Out, "/quotes");
                message.body = Bytes::from_static(body.as_bytes());
                message
                    .headers
                    .insert("fspiop-source", http::HeaderValue::from_static("a"));
                message.ending = Ending::Broken("gone".to_owned());
                serde_json::to_string(&message).expect("JSON")
            })
            .collect();
        assert!(lines.iter().all(|line| !line.contains('\n')), "{lines:?}");
        let read = Recorded::from_json_lines(&lines.join("\n")).expect("a recording");
        let found: Vec<&[u8]> = read.iter().map(|message| &*message.body).collect();
        assert_eq!(
            found,
            [&b""[..], b"{\"a\": 1}", b"not JSON", b"{\"b\":[true]}"]
        );
        assert_eq!(read[0].header("fspiop-source"), "a");
        assert_eq!(read[0].ending, Ending::Broken("gone".to_owned()));
        assert!(Recorded::from_json_lines("{}").is_err());
    }

    #[test]
    fn message_is_written_as_json_with_its_body() {
        let json = serde_json::to_value(message(Direction::In, "/quotes/1")).expect("JSON");
        assert_eq!(json["body"]["a"], 1);
        assert_eq!(json["direction"], "in");
        assert_eq!(json["ending"], "pending");
    }
}
