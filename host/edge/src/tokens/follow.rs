//! Asks the issuing component: regularly about those who send requests, and at once for what a request waits for.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rialto_tokens::{Client, Rules};
use tokio::sync::{Semaphore, watch};
use tokio::time::MissedTickBehavior;

use super::Tokens;
use super::state::Questions;
use crate::contained;

/// The time between two regular questions. Two of them fit into the time for which a state may be used, also if an
/// answer takes long.
const ASK_EVERY: Duration = Duration::from_millis(400);
/// The shortest time between two questions that requests wait for.
const ASK_AT_ONCE_EVERY: Duration = Duration::from_millis(50);
/// Clients in one question, the limit of the contract.
const CLIENTS_AT_ONCE: usize = 100;
/// The time between two log lines about failures.
const LOG_EVERY: Duration = Duration::from_secs(10);
/// Questions under way. More would not be answered sooner.
const QUESTIONS_MAX: usize = 64;

/// Why the issuing component could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AskError(pub String);

/// The component that issues tokens.
pub trait Issuer: Send + Sync + 'static {
    /// Which tokens are valid now.
    ///
    /// # Errors
    /// When it cannot be asked, or its answer cannot be used.
    fn rules(&self) -> impl Future<Output = Result<Rules, AskError>> + Send;

    /// Those of these clients, by their ids, whose tokens are valid now.
    ///
    /// # Errors
    /// When it cannot be asked, or its answer cannot be used.
    fn clients(
        &self,
        ids: &[Arc<str>],
    ) -> impl Future<Output = Result<HashMap<Arc<str>, Client>, AskError>> + Send;
}

/// Questions to an issuer.
struct Asking<I> {
    tokens: Arc<Tokens>,
    issuer: Arc<I>,
    under_way: Arc<Semaphore>,
    /// When a failure was last logged.
    logged: Arc<Mutex<Option<Instant>>>,
}

impl<I> Clone for Asking<I> {
    fn clone(&self) -> Self {
        Self {
            tokens: self.tokens.clone(),
            issuer: self.issuer.clone(),
            under_way: self.under_way.clone(),
            logged: self.logged.clone(),
        }
    }
}

impl Tokens {
    /// Ask the issuer until told to stop.
    pub async fn follow(
        self: Arc<Self>,
        issuer: Arc<impl Issuer>,
        mut stop: watch::Receiver<bool>,
    ) {
        let asking = Asking {
            tokens: self.clone(),
            issuer,
            under_way: Arc::new(Semaphore::new(QUESTIONS_MAX)),
            logged: Arc::default(),
        };
        let mut regular = tokio::time::interval(ASK_EVERY);
        regular.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let questions = tokio::select! {
                _ = regular.tick() => self.state.lock().followed(Instant::now()),
                () = self.wanted.notified() => self.state.lock().wanted(Instant::now()),
                _ = stop.wait_for(|stop| *stop) => return,
            };
            let wait = tokio::time::sleep(ASK_AT_ONCE_EVERY);
            asking.ask(questions);
            tokio::select! {
                () = wait => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
        }
    }
}

impl<I: Issuer> Asking<I> {
    /// Ask, without waiting for the answers.
    fn ask(&self, questions: Questions) {
        if questions.rules {
            let asking = self.clone();
            self.spawn(async move { asking.ask_rules().await });
        }
        for ids in questions.clients.chunks(CLIENTS_AT_ONCE) {
            let (asking, ids) = (self.clone(), ids.to_vec());
            self.spawn(async move { asking.ask_clients(&ids).await });
        }
    }

    fn spawn(&self, question: impl Future<Output = Result<(), AskError>> + Send + 'static) {
        let Ok(permit) = self.under_way.clone().try_acquire_owned() else {
            return;
        };
        let (logged, tokens) = (self.logged.clone(), self.tokens.clone());
        contained::spawn("a question to the issuer of tokens", async move {
            let outcome = question.await;
            drop(permit);
            if let Err(error) = outcome {
                log(&mut logged.lock(), &error);
            }
            // Those who wait look again, and ask again after a failure.
            tokens.answers.send_modify(|count| *count += 1);
        });
    }

    async fn ask_rules(&self) -> Result<(), AskError> {
        let asked = Instant::now();
        let rules = self.issuer.rules().await?;
        let mut state = self.tokens.state.lock();
        if state.rules_answered(asked) {
            self.tokens.verifier.set_rules(rules);
        }
        Ok(())
    }

    async fn ask_clients(&self, ids: &[Arc<str>]) -> Result<(), AskError> {
        let asked = Instant::now();
        let found = self.issuer.clients(ids).await?;
        self.tokens.state.lock().clients_answered(asked, ids, found);
        Ok(())
    }
}

/// Log a failure, unless one was logged a short time ago.
fn log(logged: &mut Option<Instant>, error: &AskError) {
    if logged.is_some_and(|at| at.elapsed() < LOG_EVERY) {
        return;
    }
    *logged = Some(Instant::now());
    tracing::error!(
        "tokens: the component that issues them cannot be asked; requests are refused until it can: {error}"
    );
}
