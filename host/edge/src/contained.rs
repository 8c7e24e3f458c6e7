//! Spawns the tasks of connections and deliveries. A panic ends only its own task and is logged.

use rialto_engine::fatal::CatchPanic;

/// Runs hyper's tasks of a connection.
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

/// Spawn a task; `what` names it in the log.
pub fn spawn<F>(what: &'static str, task: F)
where
    F: Future<Output: Send> + Send + 'static,
{
    tokio::spawn(told(what, task));
}

/// Run a task, and log its panic.
pub async fn told<F: Future>(what: &'static str, task: F) {
    if let Err(panic) = CatchPanic::new(task).await {
        tracing::error!("{what} panicked: {panic}");
    }
}
