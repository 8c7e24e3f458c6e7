//! Activates a release: sets the mark, runs the turns of its activation, and makes it current. A start continues an
//! interrupted activation. [`super::changes`] decides which release is activated.

use std::sync::Arc;

use anyhow::Context as _;
use rialto_components::runtime::Argument;
use rialto_components::{Activation, ComponentPrivileges, Digest, Release};
use rialto_engine::{Engine, Failure, Timestamp};
use rialto_manifest::operator::OPERATORS;
use rialto_manifest::scheme::SchemeDocument;
use rialto_store_sqlite::StoredActivation;

use super::{ChangeRequest, Refused, Releases, api_of, unfit};
use crate::audit::beginning;
use crate::authorization::privileges;

/// The component name of an activation's turns in the history. They belong to several components.
const ACTIVATION: &str = "release";
/// The most steps of an activation. More means that a component never ends.
const ACTIVATION_STEPS_MAX: u32 = 10_000;

impl Releases {
    /// Continue with the release that was current when the host stopped. None if there was none.
    pub fn resume(&self) -> Result<Option<u64>, Refused> {
        let number = self
            .store
            .current_release()
            .context("reading the current release")?;
        if number == 0 {
            self.resume_first_activation()?;
            return Ok(None);
        }
        let prepared = self.prepared.lock().take();
        let (release, document) = match prepared.filter(|prepared| prepared.number == number) {
            Some(prepared) => (prepared.release, prepared.document),
            None => {
                let document = self.document(number)?;
                (self.prepare(number, &document)?, document)
            }
        };
        self.install(Arc::new(release), number, document)?;
        // Before any turn runs: its instant may have passed.
        self.expect_next()?;
        Ok(Some(number))
    }

    /// Run the deliveries of an interrupted first activation on its release.
    fn resume_first_activation(&self) -> Result<(), Refused> {
        let number = self.activating()?;
        if number != 0
            && let Ok(release) = self
                .document(number)
                .and_then(|document| self.prepare(number, &document))
        {
            self.runtime.make_current(Arc::new(release));
        }
        Ok(())
    }

    /// Finish an interrupted activation. Returns the release's number; none if there was none, or if it had to be given
    /// up.
    pub fn finish(&self, engine: &Engine) -> Result<Option<u64>, Refused> {
        let number = self.activating()?;
        if number == 0 {
            return Ok(None);
        }
        if self.is_ahead(number)? {
            self.give_up()?;
            return Ok(None);
        }
        let mut current = self.current.lock();
        let finished = self.document(number).and_then(|document| {
            let release = Arc::new(self.prepare(number, &document)?);
            self.make_current(engine, &mut current, release, document, None)
        });
        match finished {
            Ok(()) => {
                tracing::warn!(
                    release = number,
                    "the host stopped while it activated this release; the release is current now"
                );
                Ok(Some(number))
            }
            Err(reason @ Refused::Failed(_)) => Err(reason),
            Err(reason) => {
                tracing::error!(release = number, %reason, "the host stopped while it activated this release, and the release cannot be activated; `rialto release rollback` tries again");
                self.give_up()?;
                Ok(None)
            }
        }
    }

    /// Store the request for an activation, with the mark that it begins.
    pub(super) fn begin(
        &self,
        number: u64,
        request: &ChangeRequest<'_>,
        at: Timestamp,
    ) -> Result<(), Refused> {
        let begun = StoredActivation {
            release: number,
            // The store sets it.
            before: 0,
            at,
            person: request.who.person.to_string(),
            operator: request.who.operator.to_string(),
            note: beginning(request.note),
            done: false,
        };
        let kept = self.store.begin_activation(&begun);
        Ok(kept.context("storing which release is being activated")?)
    }

    /// Activate a stored release and make it current. The request is none if the mark of its activation exists already.
    pub(super) fn make_current(
        &self,
        engine: &Engine,
        current: &mut Option<(u64, SchemeDocument)>,
        release: Arc<Release>,
        document: SchemeDocument,
        request: Option<&ChangeRequest<'_>>,
    ) -> Result<(), Refused> {
        let number = release.number;
        self.bring_last_good(&release, &document)?;
        if current.is_none() {
            // No release serves yet, so the deliveries of the activation run on this release too.
            self.runtime.make_current(release.clone());
        }
        if let Some(request) = request {
            self.begin(number, request, self.clock.now())?;
        }
        self.activate_or_give_up(engine, &release, &document)?;
        self.store
            .set_current_release(number)
            .context("storing which release is current")?;
        self.publish(release, &document)?;
        *current = Some((number, document));
        Ok(())
    }

    /// Run the turns of the activation. The mark is removed if the release is refused, and stays if the engine stops.
    pub(super) fn activate_or_give_up(
        &self,
        engine: &Engine,
        release: &Arc<Release>,
        document: &SchemeDocument,
    ) -> Result<(), Refused> {
        match self.activate(engine, release, document) {
            Ok(()) => Ok(()),
            // The engine stopped: the next start continues from the mark.
            Err(stopped @ Refused::Failed(_)) => Err(stopped),
            Err(refused) => {
                self.give_up()?;
                Err(refused)
            }
        }
    }

    fn activating(&self) -> Result<u64, Refused> {
        let number = self.store.activating_release();
        Ok(number.context("reading which release is being activated")?)
    }

    fn give_up(&self) -> Result<(), Refused> {
        let given_up = self.store.set_activating_release(0);
        Ok(given_up.context("storing that no release is being activated")?)
    }

    /// Run the turns of the activation, one step after the other, until all components are done.
    fn activate(
        &self,
        engine: &Engine,
        release: &Arc<Release>,
        document: &SchemeDocument,
    ) -> Result<(), Refused> {
        let mut next = Activation::first(release.clone(), published(release, document)?);
        while let Some(activation) = next {
            let step = activation.step;
            if step == ACTIVATION_STEPS_MAX {
                return Err(Refused::Unfit(vec![format!(
                    "it cannot be activated: after {step} steps there is still more to do"
                )]));
            }
            let (sender, receiver) = std::sync::mpsc::sync_channel(1);
            engine.submit_activation(
                ACTIVATION.into(),
                Arc::new(Argument::Activation(activation.clone())),
                Box::new(move |outcome| {
                    let _ = sender.send(outcome);
                }),
            );
            let outcome = receiver.recv().context("the engine has stopped")?;
            let answer = outcome.map_err(|failure| match (failure, step) {
                (Failure::Shutdown, _) => {
                    Refused::Failed(anyhow::anyhow!("the engine has stopped"))
                }
                (failure, 0) => Refused::Unfit(vec![format!(
                    "it cannot be activated, and nothing of it was done: {failure}"
                )]),
                (failure, _) => Refused::Unfit(vec![format!(
                    "it cannot be activated; what its {step} steps before did stays: {failure}"
                )]),
            })?;
            next = activation.next(&*answer);
        }
        Ok(())
    }

    pub(super) fn publish(
        &self,
        release: Arc<Release>,
        document: &SchemeDocument,
    ) -> Result<(), Refused> {
        let scheme = document.scheme().map_err(|problems| unfit(&problems))?;
        for (name, api) in &self.apis {
            let fresh = api_of(&release, name, &scheme).map_err(|e| anyhow::anyhow!("{e}"))?;
            api.store(Arc::new(fresh));
        }
        self.runtime.make_current(release.clone());
        if let Some(offering) = &self.offering {
            let stored = |digest: &Digest| self.store.component(&digest.to_string()).ok().flatten();
            match offering.calls(&release, stored) {
                Ok(calls) => {
                    for unserved in &calls.unserved {
                        tracing::warn!(interface = %unserved.interface, why = %unserved.why, "an interface is offered to gRPC clients but cannot be served");
                    }
                    self.calls.send_replace(Arc::new(calls));
                }
                Err(error) => {
                    tracing::error!("gRPC serves no calls: {error:#}");
                    self.calls.send_replace(Arc::default());
                }
            }
        }
        Ok(())
    }

    fn install(
        &self,
        release: Arc<Release>,
        number: u64,
        document: SchemeDocument,
    ) -> Result<(), Refused> {
        self.bring_last_good(&release, &document)?;
        self.publish(release, &document)?;
        *self.current.lock() = Some((number, document));
        Ok(())
    }
}

/// The privileges that a release's components publish.
fn published(
    release: &Release,
    document: &SchemeDocument,
) -> Result<Vec<ComponentPrivileges>, Refused> {
    let scheme = document.scheme().map_err(|problems| unfit(&problems))?;
    let api = api_of(release, OPERATORS, &scheme).map_err(|e| anyhow::anyhow!("{e}"))?;
    Ok(privileges(&api))
}
