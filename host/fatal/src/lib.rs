//! Panics, and which of them end the process.
//!
//! | A panic in | has the effect | by |
//! | --- | --- | --- |
//! | a handler | its turn fails | [`contained`] |
//! | the task of a connection | the connection ends | [`CatchPanic`] |
//! | the task of an outbound delivery | the delivery fails | [`CatchPanic`] |
//! | a call of a provider of keys | the call fails | [`contained_secretly`], [`CatchPanic::secretly`] |
//! | anything else, or inside [`Critical`] | the process ends | [`end_process_on_panic`] |
//!
//! After any other panic the state in memory may be inconsistent, so the process ends and the next start
//! continues from the disk. It ends before the panicking thread unwinds, so that no inconsistent state can
//! reach the disk.
//!
//! All this needs panics that unwind. No profile of `Cargo.toml` sets `panic`, so they unwind in every build.

#[cfg(panic = "abort")]
compile_error!("a contained panic must unwind: remove `panic = \"abort\"` from the profile");

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Called with the reason when the process must end. In a host it does not return.
pub type OnFatal = Box<dyn Fn(&str) + Send + Sync>;

/// The effect of a panic on this thread now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Panics {
    /// The process ends.
    End,
    /// The caller handles it.
    Contained,
    /// The caller handles it, and nobody reads its message, because it may have a part of a secret.
    Secret,
}

thread_local! {
    static PANICS: Cell<Panics> = const { Cell::new(Panics::End) };
    /// Where the last panic was whose message nobody reads.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Restores the effect from before when it is dropped.
struct Before(Panics);

impl Drop for Before {
    fn drop(&mut self) {
        PANICS.set(self.0);
    }
}

/// A panic's message. If nobody may read that, the place of the panic in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panic(String);

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Panic {
    fn of(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Self(text.unwrap_or_else(|| "without a message".into()))
    }

    /// The last panic of this thread whose message nobody reads.
    fn secret() -> Self {
        let place = PLACE.take();
        Self(place.unwrap_or_else(|| "at an unknown place".into()))
    }
}

fn run<T>(panics: Panics, run: impl FnOnce() -> T) -> Result<T, Panic> {
    let before = Before(PANICS.replace(panics));
    let ran = catch_unwind(AssertUnwindSafe(run));
    drop(before);
    ran.map_err(|panic| match panics {
        Panics::Secret => Panic::secret(),
        Panics::End | Panics::Contained => Panic::of(&*panic),
    })
}

/// Run code whose panic harms nothing else.
///
/// # Errors
/// When it panics.
pub fn contained<T>(body: impl FnOnce() -> T) -> Result<T, Panic> {
    run(Panics::Contained, body)
}

/// Run code that has secrets and whose panic harms nothing else. The panic's message is written nowhere in a process
/// with [`end_process_on_panic`].
///
/// # Errors
/// When it panics, with the place in the code.
pub fn contained_secretly<T>(body: impl FnOnce() -> T) -> Result<T, Panic> {
    run(Panics::Secret, body)
}

/// A future on which nothing else depends. A panic ends only the future, also while it is dropped.
pub struct CatchPanic<F> {
    work: Option<Pin<Box<F>>>,
    panics: Panics,
}

impl<F: Future> CatchPanic<F> {
    /// Wrap a future.
    pub fn new(work: F) -> Self {
        Self::of(work, Panics::Contained)
    }

    /// Wrap a future that has secrets, as [`contained_secretly`].
    pub fn secretly(work: F) -> Self {
        Self::of(work, Panics::Secret)
    }

    fn of(work: F, panics: Panics) -> Self {
        Self {
            work: Some(Box::pin(work)),
            panics,
        }
    }
}

impl<F> CatchPanic<F> {
    fn end(&mut self) {
        let work = self.work.take();
        // Nothing else uses what the future had.
        let _ = run(self.panics, || drop(work));
    }
}

impl<F> Drop for CatchPanic<F> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<F: Future> Future for CatchPanic<F> {
    type Output = Result<F::Output, Panic>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let panics = self.panics;
        let Some(work) = self.work.as_mut() else {
            panic!("work is polled after its end");
        };
        let ended = match run(panics, || work.as_mut().poll(context)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => Err(panic),
        };
        self.end();
        Poll::Ready(ended)
    }
}

/// Until this is dropped, a panic of this thread ends the process, also inside [`contained`], because the
/// code changes shared state.
///
/// It belongs to the thread: no task may keep it across an await.
pub struct Critical(
    #[allow(dead_code, reason = "it is put back when this is dropped")] Before,
    PhantomData<*const ()>,
);

impl Critical {
    /// Begin now.
    #[must_use]
    pub fn begin() -> Self {
        Self(Before(PANICS.replace(Panics::End)), PhantomData)
    }
}

/// Run code that must not panic; `what` names it. If it panics, the process ends. In a process without
/// [`end_process_on_panic`], `on_fatal` is called instead.
pub fn guarded<T>(what: &str, on_fatal: impl FnOnce(&str), body: impl FnOnce() -> T) -> Option<T> {
    match run(Panics::End, body) {
        Ok(value) => Some(value),
        Err(panic) => {
            on_fatal(&format!("{what} panicked: {panic}"));
            None
        }
    }
}

/// End the process at once, with the reason in the log and on standard error.
pub fn abort(reason: &str) -> ! {
    tracing::error!(reason, "the host ends at once: {reason}");
    std::process::abort()
}

/// From now on a panic that is not contained ends the process before its thread unwinds.
pub fn end_process_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if PANICS.get() == Panics::Secret {
            let place = panic.location().map(|place| format!("at {place}"));
            PLACE.set(place);
            return;
        }
        before(panic);
        if PANICS.get() == Panics::End {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("without a name");
            let text = Panic::of(panic.payload());
            let location = panic.location().map(ToString::to_string);
            let location = location.unwrap_or_default();
            abort(&format!(
                "the thread `{name}` panicked at {location}: {text}"
            ));
        }
    }));
}
