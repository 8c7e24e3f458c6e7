//! The waiting steps and their callbacks.
//!
//! A callback is found by its path alone, for FSPIOP gives a lookup no id of its own. Where
//! several wait for one path, the longest waiting gets the next callback.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// A callback that came in.
#[derive(Clone, Debug)]
pub struct Callback {
    /// True if its path ended in `/error`.
    pub error: bool,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// When it came.
    pub arrived: Instant,
}

type Queue = VecDeque<(u64, oneshot::Sender<Callback>)>;

/// All waiting steps of one FSP.
#[derive(Debug, Default)]
pub(super) struct WaitingRoom {
    state: Mutex<(u64, HashMap<Box<str>, Queue>)>,
}

impl WaitingRoom {
    /// Begins to wait for a callback to this path: resource and key, such as `quotes/<id>`,
    /// decoded, without `/error`.
    pub(super) fn enter(&self, path: String) -> Waiting<'_> {
        let path = path.into_boxed_str();
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state.lock();
        state.0 += 1;
        let id = state.0;
        state
            .1
            .entry(path.clone())
            .or_default()
            .push_back((id, sender));
        Waiting {
            room: self,
            path,
            id,
            receiver,
        }
    }

    /// Hands a callback to the longest waiting. False if nobody waits for it.
    pub(super) fn deliver(&self, path: &str, mut callback: Callback) -> bool {
        let mut state = self.state.lock();
        let Some(queue) = state.1.get_mut(path) else {
            return false;
        };
        while let Some((_, sender)) = queue.pop_front() {
            match sender.send(callback) {
                Ok(()) => return true,
                Err(unsent) => callback = unsent, // gave up just now: the next one gets it
            }
        }
        false
    }
}

/// A wait for a callback. Letting go of it ends the wait.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    room: &'a WaitingRoom,
    path: Box<str>,
    id: u64,
    receiver: oneshot::Receiver<Callback>,
}

impl Waiting<'_> {
    /// The callback, when it comes.
    pub(super) async fn callback(&mut self) -> Callback {
        match (&mut self.receiver).await {
            Ok(callback) => callback,
            // The sender lives in the room until it is used; the room outlives this wait.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.room.state.lock();
        if let Some(queue) = state.1.get_mut(&self.path) {
            queue.retain(|(id, _)| *id != self.id);
            if queue.is_empty() {
                state.1.remove(&self.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callback(error: bool) -> Callback {
        Callback {
            error,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            arrived: crate::time::now(),
        }
    }

    #[tokio::test]
    async fn longest_waiting_gets_the_callback() {
        let room = WaitingRoom::default();
        let mut first = room.enter("parties/MSISDN/1".to_owned());
        let mut second = room.enter("parties/MSISDN/1".to_owned());
        let gone = room.enter("parties/MSISDN/1".to_owned());
        drop(gone);
        assert!(room.deliver("parties/MSISDN/1", callback(false)));
        assert!(room.deliver("parties/MSISDN/1", callback(true)));
        assert!(!room.deliver("parties/MSISDN/1", callback(false)));
        assert!(!room.deliver("parties/MSISDN/2", callback(false)));
        assert!(!first.callback().await.error);
        assert!(second.callback().await.error);
        drop((first, second));
        assert!(room.state.lock().1.is_empty());
    }
}
