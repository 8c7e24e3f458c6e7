//! Runs a call as a turn: decodes the message to arguments, runs and commits the turn, and encodes the function's
//! result.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rialto_components::external_calls::{Call, CallOutcome, Client as CallClient, label};
use rialto_components::runtime::Argument;
use rialto_engine::{Engine, Name, Requester, Trace};
use rialto_proto::Refusal;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tonic::Status;

use crate::answer;
use crate::body::SharedPermit;
use crate::calls::{Calls, Served, Target};

/// The component name of a turn that publishes a client's event. No component has this name.
const OUTSIDE: &str = "outside";

/// Releases that may become current while one call waits for its turn.
const RELEASES_MET_MAX: u32 = 4;
/// The longest time between a release becoming current and its table.
const TABLE_WITHIN: Duration = Duration::from_secs(2);

/// Runs calls as turns.
#[derive(Clone)]
pub struct Turns {
    /// Runs it.
    pub engine: Engine,
    /// The table of the release that is current.
    pub calls: watch::Receiver<Arc<Calls>>,
}

impl Turns {
    /// Runs a method for a client. The message's memory stays reserved until the turn has ended, also if the client is
    /// gone. If another release becomes current before the turn begins, the call is looked up again in its table.
    pub async fn run(
        &self,
        calls: &Arc<Calls>,
        served: &Arc<Served>,
        message: Bytes,
        permit: SharedPermit,
        trace: Trace,
        (asker, client): (Requester, CallClient),
    ) -> Result<Bytes, Status> {
        let until = asker.within.map(|within| Instant::now() + within);
        let (mut calls, mut served) = (calls.clone(), served.clone());
        for _ in 0..RELEASES_MET_MAX {
            let asker = Requester {
                within: until.map(|until| until.saturating_duration_since(Instant::now())),
                ..asker.clone()
            };
            let message = message.clone();
            let from = (asker, client.clone());
            let called = self.run_once(&calls, &served, message, permit.clone(), trace, from);
            match called.await? {
                CallOutcome::Returned(value) => return answer(&calls, &served, &value),
                CallOutcome::ReleaseChanged => {
                    let path = format!("/{}/{}", served.service, served.method.name);
                    calls = self.another_than(calls.release).await?;
                    served = calls.find(&path).ok_or_else(answer::gone)?.clone();
                }
            }
        }
        Err(answer::gone())
    }

    /// Waits for the table of another release than this one. It comes just after the release.
    async fn another_than(&self, release: u64) -> Result<Arc<Calls>, Status> {
        let mut tables = self.calls.clone();
        let another = tables.wait_for(|calls| calls.release != release);
        match tokio::time::timeout(TABLE_WITHIN, another).await {
            Ok(Ok(calls)) => Ok(calls.clone()),
            _ => Err(answer::gone()),
        }
    }

    async fn run_once(
        &self,
        calls: &Calls,
        served: &Served,
        message: Bytes,
        permit: SharedPermit,
        trace: Trace,
        (asker, client): (Requester, CallClient),
    ) -> Result<CallOutcome, Status> {
        let method = &served.method;
        let arguments = calls.codec.arguments(method, &message);
        let arguments = arguments.map_err(|misfit| answer::refused(Refusal::from(&misfit)))?;
        drop(message);
        let call = Call {
            interface: method.interface.as_str().into(),
            function: method.function.as_str().into(),
            arguments,
            release: calls.release,
            client: Some(client),
        };
        let name = label(&method.interface, &method.function);
        let (component, argument): (Name, _) = match &served.target {
            Target::Component(component) => (component.clone(), Argument::Call(call)),
            Target::Everyone => (OUTSIDE.into(), Argument::Event(call)),
        };
        let (sender, receiver) = oneshot::channel();
        let submitted = self.engine.submit_for(
            asker,
            component,
            format!("gRPC {name}").into(),
            Arc::new(argument),
            trace,
            Box::new(move |outcome| {
                drop(permit);
                let _ = sender.send(outcome);
            }),
        );
        submitted.map_err(|_| answer::busy())?;
        let reply = match receiver.await {
            Ok(Ok(reply)) => reply,
            Ok(Err(failure)) => return Err(answer::failed(&failure)),
            Err(_) => return Err(answer::broken()),
        };
        let called = reply.downcast::<CallOutcome>().map(|called| *called);
        called.map_err(|_| answer::broken())
    }
}

/// The answer's bytes.
fn answer(calls: &Calls, served: &Served, value: &serde_json::Value) -> Result<Bytes, Status> {
    match calls.codec.answer(&served.method, value) {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        Ok(Err(refusal)) => Err(answer::refused(refusal)),
        Err(misfit) => {
            let method = &served.method.name;
            tracing::error!(%method, %misfit, "a component's answer does not fit its contract; the client gets the status UNKNOWN");
            Err(Status::unknown(
                "the call took effect, and its answer does not fit the contract",
            ))
        }
    }
}
