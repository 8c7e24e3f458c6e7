//! The door of a listener: it has a request answered by this host while this host serves, and by the one that serves otherwise.

use std::pin::{Pin, pin};
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use parking_lot::Mutex;
use rialto_tls::ListenerTls;
use tokio::sync::Notify;

use crate::Answer;
use crate::link::{Link, Passing, Refusal};
use crate::origin::Origin;

/// An answer to come.
pub type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;
/// Answers the requests of a listener in this host.
pub type Handler = Arc<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>;

/// Whether this host's lease holds at this moment. Only then does it answer, because another host may serve otherwise.
pub type Holds = Arc<dyn Fn() -> bool + Send + Sync>;

/// What a door is made of.
pub struct DoorSettings {
    /// The TLS of its listener.
    pub tls: Option<Arc<ListenerTls>>,
    /// To the host that serves.
    pub link: Arc<Link>,
    /// Whether this host may answer.
    pub holds: Holds,
    /// How requests are passed.
    pub passing: Passing,
}

/// The door of one listener.
pub struct Door {
    name: String,
    settings: DoorSettings,
    own: Mutex<Own>,
    /// Told when a request of this host's was answered.
    ended: Notify,
}

/// How this host answers.
#[derive(Default)]
struct Own {
    handler: Option<Handler>,
    under_way: usize,
}

impl Door {
    /// The door of a listener. Until it has a handler, all requests are passed.
    #[must_use]
    pub fn new(name: &str, settings: DoorSettings) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            settings,
            own: Mutex::default(),
            ended: Notify::new(),
        })
    }

    /// The TLS of its listener.
    #[must_use]
    pub const fn tls(&self) -> Option<&Arc<ListenerTls>> {
        self.settings.tls.as_ref()
    }

    /// Whether this host answers.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.own.lock().handler.is_some()
    }

    /// Have this host answer from now on.
    pub fn open(&self, handler: Handler) {
        self.own.lock().handler = Some(handler);
    }

    /// Have the host that serves answer from now on. Returns when this one has answered what it had begun.
    pub async fn pass(&self) {
        // Taken out under the lock, and dropped without it: it may have the last hold on much.
        let handler = self.own.lock().handler.take();
        drop(handler);
        loop {
            let mut ended = pin!(self.ended.notified());
            // What ends from here on is seen.
            ended.as_mut().enable();
            if self.own.lock().under_way == 0 {
                return;
            }
            ended.await;
        }
    }

    /// Answer a request of this listener.
    pub async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let DoorSettings { link, passing, .. } = &self.settings;
        if let Some(begun) = self.begin() {
            let answered = begun.answer(request).await;
            return answered.unwrap_or_else(|Lapsed| self.lapsed());
        }
        let origin = Origin::of(&self.name, &request);
        link.pass(request, &origin, passing).await
    }

    /// What is told in the place of an answer that may be out of date.
    pub(crate) fn lapsed(&self) -> Answer {
        (self.settings.passing.refused)(Refusal::Lapsed)
    }

    /// How this host answers a request; none if it does not, because it does not serve, or its lease has run out.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<Begun> {
        let mut own = self.own.lock();
        let handler = own.handler.clone()?;
        if !(self.settings.holds)() {
            return None;
        }
        own.under_way += 1;
        Some(Begun {
            door: self.clone(),
            handler,
        })
    }
}

/// A request that this host answers. It counts until this is dropped.
pub(crate) struct Begun {
    door: Arc<Door>,
    handler: Handler,
}

impl Begun {
    /// Answer it.
    ///
    /// # Errors
    /// When it may only ask, and the lease has run out meanwhile: what was read may no longer be true. What changes something is
    /// refused by the store then.
    pub async fn answer(self, request: Request<Incoming>) -> Result<Answer, Lapsed> {
        let DoorSettings { holds, passing, .. } = &self.door.settings;
        let asks = (passing.asks)(request.method());
        let answer = (self.handler)(request).await;
        if asks && !holds() {
            return Err(Lapsed);
        }
        Ok(answer)
    }
}

/// The lease has run out while a request was answered.
#[derive(Debug)]
pub(crate) struct Lapsed;

impl Drop for Begun {
    fn drop(&mut self) {
        let is_last = {
            let mut own = self.door.own.lock();
            own.under_way = own.under_way.saturating_sub(1);
            own.under_way == 0
        };
        if is_last {
            self.door.ended.notify_waiters();
        }
    }
}
