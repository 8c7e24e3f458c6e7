//! Who reads along: the open streams, and what each is sent.
//!
//! A message is encoded once and shared by all streams. Each stream has room for few messages. One whose reader is slow
//! loses messages, and is told how many documents were in them; nobody waits for it. A reader that takes nothing at all is
//! disconnected by the listener, as of each other answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use parking_lot::Mutex;
use rialto_engine::Engine;
use rialto_manifest::operator::Role;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::changes::{Changes, KINDS_MAX, Kind};
use crate::access::Access;
use crate::operators::{Caller, Shown};

/// Streams at a time.
pub const STREAMS_MAX: usize = 64;
/// Streams of one person at a time.
pub const STREAMS_OF_ONE_MAX: usize = 16;
/// Messages that wait for a slow reader.
const MESSAGES_MAX: usize = 16;

/// A message of a stream (server-sent events), ready to be sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its bytes.
    pub bytes: Bytes,
    /// How many documents a reader loses without it.
    pub documents: u64,
}

impl Message {
    /// A message of this event. The data is one line of JSON.
    #[must_use]
    pub fn new(event: &str, data: &str) -> Self {
        debug_assert!(!data.contains(['\n', '\r']), "{data}");
        Self {
            bytes: format!("event: {event}\ndata: {data}\n\n").into(),
            documents: 0,
        }
    }

    /// The last message of a stream.
    fn end(why: &str) -> Self {
        Self::new("end", &format!("{{\"why\":\"{why}\"}}"))
    }
}

/// Why no stream was opened.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// The host has as many as it takes.
    #[error("{STREAMS_MAX} streams are open, as many as the host takes; close one")]
    All,
    /// The person has as many as one may have.
    #[error(
        "this person has {STREAMS_OF_ONE_MAX} streams open, as many as one may have; close one"
    )]
    Person,
    /// Too many kinds of documents are watched.
    #[error("{KINDS_MAX} collections are watched, as many as the host watches at a time")]
    Kinds,
}

struct Stream {
    caller: Caller,
    kinds: Vec<Kind>,
    sender: mpsc::Sender<Bytes>,
    /// Documents in messages for which there was no room, and of which the reader was not told yet.
    lost: u64,
}

impl Stream {
    /// Send a message, if there is room. False if the reader is gone. Returns the documents lost.
    fn send(&mut self, message: &Message) -> (bool, u64) {
        if self.lost > 0 {
            let told = Message::new("lost", &format!("{{\"documents\":{}}}", self.lost));
            match self.sender.try_send(told.bytes) {
                Ok(()) => self.lost = 0,
                Err(TrySendError::Closed(_)) => return (false, 0),
                Err(TrySendError::Full(_)) => {}
            }
        }
        match self.sender.try_send(message.bytes.clone()) {
            Ok(()) => (true, 0),
            Err(TrySendError::Closed(_)) => (false, 0),
            Err(TrySendError::Full(_)) => {
                self.lost += message.documents;
                (true, message.documents)
            }
        }
    }
}

/// The open streams.
#[derive(Default)]
pub struct Streams {
    all: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    streams: Vec<Stream>,
    /// Why no more are opened, once the host ends.
    ended: Option<&'static str>,
    /// Documents that slow readers have lost since the host's start.
    lost: u64,
}

impl Streams {
    /// Open a stream for an operator, about these kinds of documents. The first message is sent at once.
    ///
    /// # Errors
    /// When there are too many.
    pub fn open(
        &self,
        caller: &Caller,
        kinds: Vec<Kind>,
        (changes, engine): (&Changes, &Engine),
        first: &Message,
    ) -> Result<StreamBody, NotOpened> {
        let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
        let mut open = self.all.lock();
        let Open { streams, ended, .. } = &mut *open;
        if let Some(why) = ended {
            let _ = sender.try_send(Message::end(why).bytes);
            return Ok(StreamBody(receiver));
        }
        remove(streams, changes, |stream| stream.sender.is_closed());
        if streams.len() >= STREAMS_MAX {
            return Err(NotOpened::All);
        }
        let of_person = |stream: &&Stream| stream.caller.person == caller.person;
        if streams.iter().filter(of_person).count() >= STREAMS_OF_ONE_MAX {
            return Err(NotOpened::Person);
        }
        for (at, kind) in kinds.iter().enumerate() {
            if !changes.watch(kind, engine) {
                for watched in &kinds[..at] {
                    changes.leave(watched);
                }
                return Err(NotOpened::Kinds);
            }
        }
        let mut stream = Stream {
            caller: caller.clone(),
            kinds,
            sender,
            lost: 0,
        };
        stream.send(first);
        streams.push(stream);
        Ok(StreamBody(receiver))
    }

    /// How many are open, and how many documents slow readers have lost.
    #[must_use]
    pub fn counts(&self) -> (usize, u64) {
        let open = self.all.lock();
        (open.streams.len(), open.lost)
    }

    /// Whether any is open.
    #[must_use]
    pub fn is_any_open(&self) -> bool {
        !self.all.lock().streams.is_empty()
    }

    /// Send a message to all, or to those about a kind of documents. Streams whose readers are gone are closed.
    pub fn send(&self, message: &Message, about: Option<&Kind>, changes: &Changes) {
        let mut open = self.all.lock();
        let Open { streams, lost, .. } = &mut *open;
        remove(streams, changes, |stream| {
            if about.is_some_and(|kind| !stream.kinds.contains(kind)) {
                return false;
            }
            let (is_there, of_it) = stream.send(message);
            *lost += of_it;
            !is_there
        });
    }

    /// End the streams of those who may no longer read: whose session or token has ended, or has no such role any more.
    pub fn look(&self, access: &Access, changes: &Changes) {
        let mut open = self.all.lock();
        remove(&mut open.streams, changes, |stream| {
            let may_read = still(access, &stream.caller);
            if !may_read {
                let _ = stream.sender.try_send(Message::end("unauthorized").bytes);
            }
            !may_read
        });
    }

    /// End all streams, for this reason, and open no more.
    pub fn end(&self, why: &'static str, changes: &Changes) {
        let mut open = self.all.lock();
        open.ended = Some(why);
        remove(&mut open.streams, changes, |stream| {
            let _ = stream.sender.try_send(Message::end(why).bytes);
            true
        });
    }
}

/// Close the streams that `ends` says.
fn remove(streams: &mut Vec<Stream>, changes: &Changes, mut ends: impl FnMut(&mut Stream) -> bool) {
    for stream in streams.extract_if(.., |stream| ends(stream)) {
        for kind in &stream.kinds {
            changes.leave(kind);
        }
    }
}

/// Whether what an operator has shown still holds, and may read.
fn still(access: &Access, caller: &Caller) -> bool {
    let now = match &caller.shown {
        Shown::File => access
            .operators()
            .named(&caller.name)
            .map(|(now, _)| now.clone()),
        Shown::Token(expiring) | Shown::Session(expiring) => access
            .credential(&expiring.id)
            .filter(|_| access.now() < expiring.expires)
            .and_then(|credential| access.caller(&credential)),
    };
    now.is_some_and(|now| now.person == caller.person && now.has(Role::Reader))
}

/// The body of an answer that goes on until its stream ends.
#[derive(Debug)]
pub struct StreamBody(mpsc::Receiver<Bytes>);

impl Body for StreamBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let next = self.0.poll_recv(context);
        next.map(|message| message.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// What a stream is about, as it is asked for: `component/collection`, and others behind commas.
///
/// # Errors
/// What is wrong, in words.
pub fn kinds(asked: &str) -> Result<Vec<Kind>, String> {
    /// Collections of one stream.
    const OF_ONE_MAX: usize = 4;
    /// Characters of a name.
    const NAME_MAX: usize = 128;
    let mut kinds: Vec<Kind> = Vec::new();
    for one in asked.split(',').filter(|one| !one.is_empty()) {
        let (component, collection) = one
            .split_once('/')
            .filter(|(component, collection)| {
                let fits = |name: &str| (1..=NAME_MAX).contains(&name.len());
                fits(component) && fits(collection) && !collection.contains('/')
            })
            .ok_or_else(|| {
                "`documents` has `component/collection`, and others behind commas".to_owned()
            })?;
        let kind = Kind {
            component: component.to_owned(),
            collection: collection.to_owned(),
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if kinds.len() > OF_ONE_MAX {
        return Err(format!(
            "a stream is about {OF_ONE_MAX} collections at most"
        ));
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> (Stream, mpsc::Receiver<Bytes>) {
        let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
        let caller = Caller {
            name: "anna".into(),
            person: "anna".into(),
            roles: [Role::Reader].into(),
            shown: Shown::File,
        };
        let stream = Stream {
            caller,
            kinds: Vec::new(),
            sender,
            lost: 0,
        };
        (stream, receiver)
    }

    fn text(receiver: &mut mpsc::Receiver<Bytes>) -> String {
        let bytes = receiver.try_recv().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn slow_reader_loses_messages_and_is_told_how_many_documents() {
        let (mut stream, mut receiver) = stream();
        let message = Message {
            documents: 3,
            ..Message::new("documents", "{}")
        };
        for _ in 0..MESSAGES_MAX {
            assert_eq!(stream.send(&message), (true, 0));
        }
        assert_eq!(stream.send(&message), (true, 3));
        assert_eq!(stream.send(&message), (true, 3));
        for _ in 0..2 {
            assert_eq!(text(&mut receiver), "event: documents\ndata: {}\n\n");
        }
        assert_eq!(stream.send(&message), (true, 0));
        for _ in 0..MESSAGES_MAX - 2 {
            text(&mut receiver);
        }
        let told = "event: lost\ndata: {\"documents\":6}\n\n";
        assert_eq!(text(&mut receiver), told);
        assert_eq!(text(&mut receiver), "event: documents\ndata: {}\n\n");
        drop(receiver);
        assert_eq!(stream.send(&message), (false, 0));
    }

    #[test]
    fn kinds_are_named_by_component_and_collection() {
        let of = |component: &str, collection: &str| Kind {
            component: component.to_owned(),
            collection: collection.to_owned(),
        };
        assert_eq!(kinds(""), Ok(vec![]));
        assert_eq!(kinds("a/b,c/d,a/b"), Ok(vec![of("a", "b"), of("c", "d")]));
        for wrong in ["a", "/b", "a/", "a/b/c", "a/1,a/2,a/3,a/4,a/5"] {
            assert!(kinds(wrong).is_err(), "{wrong}");
        }
    }
}
