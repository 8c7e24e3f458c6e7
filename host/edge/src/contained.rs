//! Tasks that serve one connection or deliver one request: a panic in one ends that one, and is told in the
//! log.

use rialto_engine::fatal::Contained;

/// Runs the tasks of a connection that hyper wants run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Executor;

impl<F> hyper::rt::Executor<F> for Executor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        spawn("a task of a connection", task);
    }
}

/// Run a task to its end, or to its panic; `what` names it.
pub fn spawn<F>(what: &'static str, task: F)
where
    F: Future<Output: Send> + Send + 'static,
{
    tokio::spawn(told(what, task));
}

/// The task, which tells of its panic.
pub async fn told<F: Future>(what: &'static str, task: F) {
    if let Err(panic) = Contained::new(task).await {
        tracing::error!("{what} panicked: {panic}");
    }
}
