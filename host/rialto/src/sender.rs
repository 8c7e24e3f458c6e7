//! A thread that sends what the store has to a service outside. It looks again and again until its host stops, and then once
//! more, for a short time.

use std::future::Future;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

/// The pause after the first failure; it doubles.
const PAUSE_INITIAL: Duration = Duration::from_secs(1);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long a stopping host waits for an answer.
pub const LAST: Duration = Duration::from_secs(2);

/// The pause after a failure, and the pause that came before it.
pub fn pause_after(before: Option<Duration>) -> Duration {
    before.map_or(PAUSE_INITIAL, |before| (before * 2).min(PAUSE_MAX))
}

/// The running thread.
pub struct Sender {
    thread: Option<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

impl Sender {
    /// Start a thread of this name.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn start(
        name: &str,
        handle: &Handle,
        body: impl FnOnce(Host) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let host = Host {
            handle: handle.clone(),
            stop: stopped,
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || body(host))?;
        Ok(Self {
            thread: Some(thread),
            stop,
        })
    }

    /// Have it look once more, for a short time, and end it.
    pub fn stop(mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The host, as such a thread sees it.
pub struct Host {
    handle: Handle,
    stop: watch::Receiver<bool>,
}

impl Host {
    /// Whether the host stops.
    pub fn stops(&self) -> bool {
        *self.stop.borrow()
    }

    /// Whether the next look is the last one. All that the host has written is there then. A host that was dropped has ended
    /// too.
    pub fn is_last_look(&self) -> bool {
        self.stops() || self.stop.has_changed().is_err()
    }

    /// Wait so long, or until the host stops.
    pub fn pause(&mut self, pause: Duration) {
        let stopped = self.stop.wait_for(|stop| *stop);
        let _ = self
            .handle
            .block_on(async { tokio::time::timeout(pause, stopped).await });
    }

    /// Run this to its end. None if the host stops before, and a moment has passed since.
    pub fn run<T>(&mut self, task: impl Future<Output = T>) -> Option<T> {
        let stop = &mut self.stop;
        self.handle.block_on(async {
            tokio::select! {
                done = task => Some(done),
                () = soon_after(stop) => None,
            }
        })
    }

    /// The runtime of its tasks.
    pub fn runtime(&self) -> &Handle {
        &self.handle
    }
}

/// Wait until the host stops, and a moment longer.
async fn soon_after(stop: &mut watch::Receiver<bool>) {
    // Without the sender of the signal the host has ended.
    let _ = stop.wait_for(|stop| *stop).await;
    tokio::time::sleep(LAST).await;
}
