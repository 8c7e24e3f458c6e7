//! A call as a turn: the message becomes arguments, what the function gave becomes bytes, and in between the
//! turn was committed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rialto_components::outside::{Call, Called, label};
use rialto_components::runtime::Argument;
use rialto_engine::{Engine, Name, Trace};
use rialto_proto::Refusal;
use tokio::sync::{oneshot, watch};
use tonic::Status;

use crate::answer;
use crate::body::Held;
use crate::calls::{Calls, Served, Target};

/// Whose turn the telling of an event is: no component's.
const OUTSIDE: &str = "outside";

/// What a call runs on.
#[derive(Clone)]
pub struct Turns {
    /// Runs it.
    pub engine: Engine,
    /// The table of the release that is current.
    pub calls: watch::Receiver<Arc<Calls>>,
}

impl Turns {
    /// Run a method for somebody who waits no longer than `within`. The message's room is kept until its
    /// turn has ended, whoever waits for that.
    pub async fn run(
        &self,
        calls: &Calls,
        served: &Served,
        message: Bytes,
        held: Held,
        trace: Trace,
        within: Duration,
    ) -> Result<Bytes, Status> {
        let method = &served.method;
        let arguments = calls.codec.arguments(method, &message);
        let arguments = arguments.map_err(|misfit| answer::refused(Refusal::from(&misfit)))?;
        drop(message);
        let call = Call {
            interface: method.interface.as_str().into(),
            function: method.function.as_str().into(),
            arguments,
            release: calls.release,
        };
        let name = label(&method.interface, &method.function);
        let (component, argument): (Name, _) = match &served.target {
            Target::Component(component) => (component.clone(), Argument::Call(call)),
            Target::Everyone => (OUTSIDE.into(), Argument::Event(call)),
        };
        let (sender, receiver) = oneshot::channel();
        let submitted = self.engine.submit_within(
            component,
            format!("gRPC {name}").into(),
            Arc::new(argument),
            trace,
            Some(within),
            Box::new(move |outcome| {
                drop(held);
                let _ = sender.send(outcome);
            }),
        );
        submitted.map_err(|_| answer::busy())?;
        let reply = match receiver.await {
            Ok(Ok(reply)) => reply,
            Ok(Err(failure)) => return Err(answer::failed(&failure)),
            Err(_) => return Err(answer::broken()),
        };
        match reply.downcast::<Called>().map(|called| *called) {
            Ok(Called::Gave(value)) => self.answer(calls, served, &value),
            Ok(Called::Gone) => Err(answer::gone()),
            Err(_) => Err(answer::broken()),
        }
    }

    /// The answer's bytes. What was given is of the release on which the turn ran, which may be a later one
    /// than that on which the call was taken.
    fn answer(
        &self,
        calls: &Calls,
        served: &Served,
        value: &serde_json::Value,
    ) -> Result<Bytes, Status> {
        let own = calls.codec.answer(&served.method, value);
        let answered = own.or_else(|misfit| {
            let later = self.calls.borrow().clone();
            let path = format!("/{}/{}", served.service, served.method.name);
            match later.find(&path) {
                Some(served) if later.release != calls.release => {
                    later.codec.answer(&served.method, value)
                }
                _ => Err(misfit),
            }
        });
        match answered {
            Ok(Ok(bytes)) => Ok(bytes.into()),
            Ok(Err(refusal)) => Err(answer::refused(refusal)),
            Err(misfit) => {
                let method = &served.method.name;
                tracing::error!(%method, %misfit, "an answer does not fit its own contract");
                Err(Status::unknown(
                    "the call took effect, and its answer does not fit the contract",
                ))
            }
        }
    }
}
