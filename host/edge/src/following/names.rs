//! What a component knows of names: of each that has sent a request lately, one value or none.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::{AskError, Followed, KnownNames, NAMES_AT_ONCE, Waiting, follow, is_fresh};

/// The component that knows values of names.
pub trait Keeper<V>: Send + Sync + 'static {
    /// The values of these names. Names without one are left out.
    ///
    /// # Errors
    /// When it cannot be asked, or its answer cannot be used.
    fn values(
        &self,
        names: &[Arc<str>],
    ) -> impl Future<Output = Result<HashMap<Arc<str>, V>, AskError>> + Send;
}

/// The values of all names in which requests have come lately.
pub(crate) struct Names<V> {
    known: Mutex<KnownNames<V>>,
    waiting: Waiting,
}

/// Names, and the component that is asked about them.
struct Asking<V, K> {
    names: Arc<Names<V>>,
    keeper: Arc<K>,
    trouble: &'static str,
}

impl<V> Default for Names<V> {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            waiting: Waiting::default(),
        }
    }
}

impl<V: Send + 'static> Names<V> {
    /// What `judge` makes of a name's value, as soon as a fresh one is known. None when there is no answer in time.
    pub async fn of<T>(&self, name: &Arc<str>, judge: impl Fn(Option<&V>) -> T) -> Option<T> {
        let look = || self.look(name, Instant::now(), &judge);
        let want = |name| self.known.lock().want(name);
        self.waiting.until(look, want).await
    }

    /// What `judge` makes of a name's value, or the name that must be asked about first.
    pub fn look<T>(
        &self,
        name: &Arc<str>,
        now: Instant,
        judge: impl Fn(Option<&V>) -> T,
    ) -> Result<T, Arc<str>> {
        let mut known = self.known.lock();
        let known = known.of(name, now);
        if is_fresh(known.asked, now) {
            Ok(judge(known.value.as_ref()))
        } else {
            Err(name.clone())
        }
    }

    /// Ask the component until told to stop. A failure is logged with the beginning `trouble`.
    pub async fn follow(
        self: Arc<Self>,
        keeper: Arc<impl Keeper<V>>,
        trouble: &'static str,
        stop: watch::Receiver<bool>,
    ) {
        let asking = Asking {
            names: self,
            keeper,
            trouble,
        };
        follow(Arc::new(asking), stop).await;
    }
}

impl<V: Send + 'static, K: Keeper<V>> Followed for Asking<V, K> {
    type Question = Vec<Arc<str>>;

    fn trouble(&self) -> &'static str {
        self.trouble
    }

    fn waiting(&self) -> &Waiting {
        &self.names.waiting
    }

    fn regular(&self, now: Instant) -> Vec<Vec<Arc<str>>> {
        split(&self.names.known.lock().followed(now))
    }

    fn wanted(&self, now: Instant) -> Vec<Vec<Arc<str>>> {
        split(&self.names.known.lock().wanted(now))
    }

    async fn ask(&self, names: Vec<Arc<str>>) -> Result<(), AskError> {
        let asked = Instant::now();
        let found = self.keeper.values(&names).await?;
        self.names.known.lock().answered(asked, &names, found);
        Ok(())
    }
}

/// Questions of which none has too many names.
fn split(names: &[Arc<str>]) -> Vec<Vec<Arc<str>>> {
    names.chunks(NAMES_AT_ONCE).map(<[_]>::to_vec).collect()
}
