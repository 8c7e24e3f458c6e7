//! Panics after which nothing may go on.
//!
//! A panic inside a handler fails its turn, one that serves a connection ends the connection, and one that
//! delivers a request fails the delivery ([`contained`], [`Contained`]). Anywhere else nobody can say what is
//! left half done, or what no longer works: the process ends, and the next start goes on from what is on
//! disk. In a host it ends before the panicking thread unwinds, so that nothing of what is half done can
//! reach the disk ([`end_process_on_panic`]).

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// What is done when nothing may go on, with the reason in words. In a host it does not return.
pub type OnFatal = Box<dyn Fn(&str) + Send + Sync>;

/// What a panic on this thread means now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Panics {
    /// The process ends.
    End,
    /// Somebody takes care of it.
    Contained,
}

thread_local! {
    static PANICS: Cell<Panics> = const { Cell::new(Panics::End) };
}

/// Puts back what a panic meant before.
struct Before(Panics);

impl Drop for Before {
    fn drop(&mut self) {
        PANICS.set(self.0);
    }
}

/// What a panic said.
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
}

fn run<T>(panics: Panics, run: impl FnOnce() -> T) -> Result<T, Panic> {
    let before = Before(PANICS.replace(panics));
    let ran = catch_unwind(AssertUnwindSafe(run));
    drop(before);
    ran.map_err(|panic| Panic::of(&*panic))
}

/// Run what may panic without harm to anything else.
///
/// # Errors
/// When it panics.
pub fn contained<T>(body: impl FnOnce() -> T) -> Result<T, Panic> {
    run(Panics::Contained, body)
}

/// Work on which nothing else depends: if it panics, also while it is dropped, it ends, and nothing else does.
pub struct Contained<F>(Option<Pin<Box<F>>>);

impl<F: Future> Contained<F> {
    /// This work.
    pub fn new(work: F) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<F> Contained<F> {
    fn end(&mut self) {
        let work = self.0.take();
        // What it had is nobody's by now.
        let _ = contained(|| drop(work));
    }
}

impl<F> Drop for Contained<F> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Result<F::Output, Panic>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = self.0.as_mut() else {
            panic!("work is polled after its end");
        };
        let ended = match contained(|| work.as_mut().poll(context)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => Err(panic),
        };
        self.end();
        Poll::Ready(ended)
    }
}

/// Until this is dropped, a panic of this thread ends the process, also within what is contained: what is
/// done now is everybody's.
///
/// It is this thread's: no task may hold it while it waits.
pub struct Critical(
    #[allow(dead_code, reason = "it is put back when this is dropped")] Before,
    PhantomData<*const ()>,
);

impl Critical {
    /// From now on.
    #[must_use]
    pub fn begin() -> Self {
        Self(Before(PANICS.replace(Panics::End)), PhantomData)
    }
}

/// Run what must not panic; `what` names it. If it does all the same, the process ends, or in a process
/// without [`end_process_on_panic`] what `on_fatal` does happens.
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
