//! Asks the issuing component: regularly about those who send requests, and at once for what a request waits for.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use rialto_tokens::{Client, Rules};
use tokio::sync::watch;

use super::Tokens;
use super::state::Questions;
use crate::following::{self, AskError, Followed, NAMES_AT_ONCE, Waiting};

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

/// Tokens, and the issuer that is asked for them.
struct Asking<I> {
    tokens: Arc<Tokens>,
    issuer: Arc<I>,
}

/// A question to the issuer.
enum Question {
    Rules,
    Clients(Vec<Arc<str>>),
}

impl Tokens {
    /// Ask the issuer until told to stop.
    pub async fn follow(self: Arc<Self>, issuer: Arc<impl Issuer>, stop: watch::Receiver<bool>) {
        let asking = Asking {
            tokens: self,
            issuer,
        };
        following::follow(Arc::new(asking), stop).await;
    }
}

impl<I: Issuer> Followed for Asking<I> {
    type Question = Question;

    fn trouble(&self) -> &'static str {
        "tokens: the component that issues them cannot be asked"
    }

    fn waiting(&self) -> &Waiting {
        &self.tokens.waiting
    }

    fn regular(&self, now: Instant) -> Vec<Question> {
        split(&self.tokens.state.lock().followed(now))
    }

    fn wanted(&self, now: Instant) -> Vec<Question> {
        split(&self.tokens.state.lock().wanted(now))
    }

    async fn ask(&self, question: Question) -> Result<(), AskError> {
        let asked = Instant::now();
        match question {
            Question::Rules => {
                let rules = self.issuer.rules().await?;
                let mut state = self.tokens.state.lock();
                if state.rules_answered(asked) {
                    self.tokens.verifier.set_rules(rules);
                }
            }
            Question::Clients(ids) => {
                let found = self.issuer.clients(&ids).await?;
                let mut state = self.tokens.state.lock();
                state.clients.answered(asked, &ids, found);
            }
        }
        Ok(())
    }
}

/// Questions of which none has too many clients.
fn split(questions: &Questions) -> Vec<Question> {
    let rules = questions.rules.then_some(Question::Rules);
    let clients = questions.clients.chunks(NAMES_AT_ONCE);
    let clients = clients.map(|ids| Question::Clients(ids.to_vec()));
    rules.into_iter().chain(clients).collect()
}
