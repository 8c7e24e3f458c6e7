//! The FSPs of a run: they send planned messages, answer requests, and repeat unanswered messages.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use rand::RngExt as _;
use rialto_components::http::Response;
use rialto_components::runtime::Argument;
use rialto_engine::Trace;

use super::{Action, Sim};
use crate::door;
use crate::host::Host;
use crate::saying::{Draft, Message, Saying};
use crate::script::Reaction;
use crate::wire::Arrival;

impl Sim<'_> {
    /// What an FSP does when it is asked for a transfer the first time.
    pub(super) fn react(&mut self, arrival: &Arrival) {
        let request = &arrival.request;
        if request.method != "POST" || !request.url.ends_with("/transfers") {
            return;
        }
        let body: serde_json::Value =
            serde_json::from_str(request.body.as_deref().unwrap_or_default()).unwrap_or_default();
        let id = body["transferId"].as_str().unwrap_or_default();
        let payee = body["payeeFsp"].as_str().unwrap_or_default();
        let Some(plan) = self.plans.get(id).cloned() else {
            return;
        };
        if !self.asked_payees.insert(id.to_owned()) {
            return;
        }
        let Reaction {
            after: Some(after),
            is_late,
            saying,
            then,
            ..
        } = plan.reaction
        else {
            return;
        };
        let mut at = arrival.at + after;
        if is_late {
            // Often at the very instant, or just after: before or after the reminder.
            let over = [0, 0, 1, 30, after][self.rng.random_range(0..5)];
            at = at.max(plan.prepare.expiration + over);
        }
        let completed = plan.reaction.says_when.then_some(arrival.at);
        let draft = |saying| Draft {
            fsp: payee.to_owned(),
            subject: id.to_owned(),
            saying: with_time(saying, completed),
            destination: Some(plan.prepare.payer.clone()),
            spacious: after.is_multiple_of(2),
        };
        self.plan_to(at, Action::Say(Box::new(draft(saying))));
        for (later, saying) in then {
            self.plan_to(at + later, Action::Say(Box::new(draft(saying))));
        }
    }

    /// Do the next thing of the agenda, if its time has come.
    pub(super) fn act(&mut self) -> Result<()> {
        let now = self.now();
        let Some(first) = self.agenda.first_entry().filter(|e| e.key().0 <= now) else {
            return Ok(());
        };
        match first.remove() {
            Action::Say(draft) => self.say(*draft),
            Action::Again(number) => {
                let said = self.said(number);
                said.map_or(Ok(()), |draft| self.say(draft))
            }
        }
    }

    /// What a message said.
    pub(super) fn said(&self, number: u64) -> Option<Draft> {
        let place = usize::try_from(number - 1).ok()?;
        self.messages
            .get(place)
            .map(|message| message.draft.clone())
    }

    pub(super) fn say(&mut self, draft: Draft) -> Result<()> {
        let host = self
            .host
            .take()
            .context("between two hosts nobody listens")?;
        let said = self.say_at(&host, draft);
        self.host = Some(host);
        said
    }

    /// Say something to a host, whether it serves or not.
    pub(super) fn say_at(&mut self, host: &Host, draft: Draft) -> Result<()> {
        let number = self.messages.len() as u64 + 1;
        let message = Message::new(number, draft, self.now());
        let (component, request) = door::judge(&host.api, &message)
            .map_err(|violation| anyhow::anyhow!("{message:?} is refused: {violation:?}"))?;
        let label = format!("{} {}", message.method, message.path);
        let trace = message.headers();
        let trace = trace.get("traceparent").and_then(|t| t.to_str().ok());
        let trace = trace.and_then(Trace::parse).context("a trace")?;
        let (answers, journal) = (self.answers.clone(), self.world.journal.clone());
        let submitted = host.engine.submit(
            component,
            label.into(),
            Arc::new(Argument::Http {
                request: Arc::new(request),
                judged_by: None,
                is_audited: true,
                credential: None,
                may_keep: false,
            }),
            trace,
            Box::new(move |outcome| {
                let Ok(reply) = outcome else { return };
                if let Ok(response) = reply.downcast::<Response>() {
                    journal.lock().answers(trace.id);
                    answers.lock().insert(number, response.status);
                }
            }),
        );
        ensure!(submitted.is_ok(), "the host has more work than it can take");
        self.messages.push(message);
        Ok(())
    }

    /// An unanswered message is mostly repeated.
    pub(super) fn unsure(&mut self) {
        let answered = self.answers.lock().clone();
        let without = |m: &&Message| !answered.contains_key(&m.number);
        let unanswered = self.messages[self.life_began..].iter().filter(without);
        let unanswered: Vec<u64> = unanswered.map(|m| m.number).collect();
        self.life_began = self.messages.len();
        for number in unanswered {
            if self.rng.random_bool(0.75) {
                let at = self.now() + self.rng.random_range(0..1_000);
                self.plan_to(at, Action::Again(number));
            }
        }
    }
}

/// A commitment that says when the payment was completed, if it does.
fn with_time(saying: Saying, completed: Option<u64>) -> Saying {
    match saying {
        Saying::Fulfil {
            reserved,
            fulfilment,
            ..
        } => Saying::Fulfil {
            reserved,
            fulfilment,
            completed,
        },
        other => other,
    }
}
