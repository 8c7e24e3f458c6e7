//! Questions of the host to a component that knows something for it: who has valid tokens, who may do what. Each is a turn
//! that writes nothing.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rialto_components::external_calls::{Call, CallOutcome};
use rialto_components::release::{Member, Release};
use rialto_components::runtime::{Argument, Runtime};
use rialto_engine::{Engine, Name, Priority, Requester, Trace};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

/// How long an answer is of use.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// How long a turn that has begun in time may take.
const END_WITHIN: Duration = Duration::from_secs(1);
/// How often one question is asked if other releases become current meanwhile.
const RELEASES_MET_MAX: u32 = 3;

/// The one component of a release for which this holds, if there is one.
///
/// # Errors
/// The names of all of them, when there are several.
pub fn only(release: &Release, holds: impl Fn(&Member) -> bool) -> Result<Option<&Member>, String> {
    let all: Vec<&Member> = release.members.iter().filter(|one| holds(one)).collect();
    match all.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => {
            let names = several
                .iter()
                .map(|member| format!("`{}`", member.identity.name));
            Err(names.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Asks a component of the release that is current at the time.
pub struct Asking {
    /// Runs the turns.
    pub engine: Engine,
    /// Knows the current release.
    pub runtime: Arc<Runtime>,
    /// The interface that the component exports.
    pub handler: &'static str,
}

impl Asking {
    /// The result of a function of the component that `whom` finds in the release; none if it finds none. By the name
    /// of `asker` the question has a share of the engine's queue. No client's name begins with `host:`.
    ///
    /// # Errors
    /// When `whom` fails, there is no answer in time, or it has another form.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        asker: &str,
        whom: impl Fn(&Release) -> anyhow::Result<Option<Name>>,
        function: &str,
        arguments: Vec<serde_json::Value>,
    ) -> anyhow::Result<Option<T>> {
        for _ in 0..RELEASES_MET_MAX {
            let release = self.runtime.current().context("no release is current")?;
            let Some(component) = whom(&release)? else {
                return Ok(None);
            };
            let call = Call {
                interface: self.handler.into(),
                function: function.into(),
                arguments: arguments.clone(),
                release: release.number,
                client: None,
            };
            match self.call(asker, &component, call).await? {
                CallOutcome::Returned(value) => {
                    let read = serde_json::from_value(value);
                    return read.map(Some).with_context(|| {
                        format!("reading what `{component}` answers to `{function}`")
                    });
                }
                CallOutcome::ReleaseChanged => {}
            }
        }
        Err(anyhow!("other releases become current all the time"))
    }

    /// Call a component in a turn.
    async fn call(&self, asker: &str, component: &Name, call: Call) -> anyhow::Result<CallOutcome> {
        let (sender, answered) = oneshot::channel();
        let asker = Requester {
            name: asker.into(),
            within: Some(ANSWER_WITHIN),
            priority: Priority::High,
        };
        let function = call.function.clone();
        let submitted = self.engine.submit_for(
            asker,
            component.clone(),
            function,
            Arc::new(Argument::Call(call)),
            Trace::default(),
            Box::new(move |outcome| {
                let _ = sender.send(outcome);
            }),
        );
        submitted.map_err(|_| anyhow!("the host has more work than it can take"))?;
        let outcome = tokio::time::timeout(ANSWER_WITHIN + END_WITHIN, answered).await;
        let outcome = outcome.with_context(|| format!("`{component}` gave no answer in time"))?;
        let outcome = outcome.context("the host is shutting down")?;
        let reply = outcome.with_context(|| format!("asking `{component}`"))?;
        let called = reply.downcast::<CallOutcome>();
        let called = called.map_err(|_| anyhow!("`{component}` gave no answer"))?;
        Ok(*called)
    }
}
