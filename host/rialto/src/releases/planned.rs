//! Plans of releases: made, signed by officers, and applied.

use anyhow::Context as _;
use data_encoding::HEXLOWER;
use rialto_components::Digest;
use rialto_engine::time::SystemEntropy;
use rialto_engine::{Engine, Entropy as _};
use rialto_manifest::scheme::SchemeDocument;
use rialto_store_sqlite::{PlanSignature, StoredPlan};
use serde::{Deserialize, Serialize};

use super::changes::{Kept, meant_for};
use super::{Applied, ChangeRequest, Refused, Releases};
use crate::audit::beginning;
use crate::operators::Caller;
use crate::plan;
use crate::plans::{Backtested, FORM, PASSKEY, Plan, PlannedFrom, SignatureFile};
use crate::spec;

/// The most plans that a list shows.
const LISTED_MAX: u32 = 50;
/// The longest text of a plan, in bytes.
const PLAN_BYTES_MAX: usize = 16 << 20;
/// The random bytes by which two hosts make two plans of the same.
const NONCE_BYTES: usize = 16;

/// A plan as the operators' API shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownPlan {
    /// Its digest.
    pub digest: String,
    /// Who made it.
    pub maker: String,
    /// When; milliseconds since 1970.
    pub made: u64,
    /// When it can be applied no more.
    pub expires: u64,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The release that must be current for it.
    pub from: u64,
    /// `WAITING` for signatures, `READY`, `APPLIED`, `SCHEDULED` if its release comes into force later, `UNFINISHED` if its release never became current, `EXPIRED`, or `OUTDATED` when another release is current or one was current in between.
    pub state: String,
    /// The release that it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<u64>,
    /// How many officers must sign.
    pub needed: usize,
    /// Who has signed.
    pub signatures: Vec<ShownSignature>,
    /// The plan's text, octet by octet; only where one plan is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// An officer's approval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShownSignature {
    /// Who.
    pub officer: String,
    /// `Ed25519`, `ES256` or `passkey`.
    pub kind: String,
    /// When the host took it; milliseconds since 1970.
    pub at: u64,
    /// Whether it counts now.
    pub counts: bool,
}

impl Releases {
    /// Make a plan of a document, and keep it. Nothing becomes current.
    ///
    /// # Errors
    /// When the document does not fit or is current already, no release is current, or the backtest is of no use.
    pub fn make_plan(
        &self,
        request: &ChangeRequest<'_>,
        document: SchemeDocument,
        backtest: Option<&str>,
    ) -> Result<ShownPlan, Refused> {
        let current = self.current();
        meant_for(request.expected, current.as_ref())?;
        let Some((number, before)) = current else {
            return Err(Refused::Unplanned(
                "there is no release yet: the first one needs no plan".to_owned(),
            ));
        };
        let to = spec::digest(document.digest());
        let from = PlannedFrom {
            release: number,
            digest: spec::digest(before.digest()),
            activations: self.activations_done()?,
        };
        if to == from.digest {
            return Err(Refused::Unplanned(format!(
                "nothing would change: release {number} is current"
            )));
        }
        let release = self.prepare(0, &document)?;
        self.nothing_is_scheduled()?;
        let later = self.later(request.dates)?;
        self.has_possible_dates(Some(&before), &document, self.begins(later))?;
        let stored = self.store.releases().context("reading the releases")?;
        let next = stored.last().map_or(1, |last| last.number + 1);
        let backtest = self.backtested(backtest, to, &document)?;
        let made = self.clock.now();
        let mut nonce = [0; NONCE_BYTES];
        SystemEntropy.fill(&mut nonce);
        let plan = Plan {
            nonce: HEXLOWER.encode(&nonce),
            form: FORM.to_owned(),
            changes: plan::changes(Some(&before), &document),
            needs_approval: self.needs_approval(Some(&before), &document),
            calendar: match later {
                None => self.calendar(&document, self.clock.now().0),
                Some(later) => self.calendar_planned(&document, later, next),
            },
            fresh_counters: self.fresh_counters(&release),
            effective_from: request.dates.effective_from,
            effective_until: request.dates.effective_until,
            maker: request.who.person.to_string(),
            made: made.0,
            expires: made
                .0
                .saturating_add(self.operator.releases.plan_life.millis()),
            note: beginning(request.note),
            from,
            to,
            backtest,
            document,
        };
        let content = plan.text().context("writing the plan")?;
        if content.len() > PLAN_BYTES_MAX {
            return Err(Refused::Unplanned(format!(
                "the plan has {} bytes, and may have {PLAN_BYTES_MAX}",
                content.len()
            )));
        }
        let digest = Digest::of(&content).to_string();
        let stored = StoredPlan {
            digest: digest.clone(),
            content,
            maker: plan.maker.clone(),
            made,
            release: None,
        };
        self.store.add_plan(&stored).context("storing the plan")?;
        self.shown_plan(&stored, true)
    }

    /// What a backtest says, and whether it is there and good enough.
    fn backtested(
        &self,
        text: Option<&str>,
        to: Digest,
        document: &SchemeDocument,
    ) -> Result<Option<Backtested>, Refused> {
        let wanted = &self.operator.releases;
        let Some(text) = text else {
            if wanted.backtest_required {
                return Err(Refused::Unplanned(
                    "a plan needs a backtest here (`backtest-required` of rialto.toml): `rialto release backtest DIR --out FILE`, then --backtest FILE".to_owned(),
                ));
            }
            return Ok(None);
        };
        let backtest =
            Backtested::of(text, to).map_err(|error| Refused::Unplanned(error.to_string()))?;
        if wanted.backtest_required {
            let scheme = document.scheme();
            let scheme = scheme.map_err(|problems| Refused::Unplanned(problems.plain()))?;
            backtest
                .is_enough(&scheme)
                .map_err(|why| Refused::Unplanned(format!("the backtest is not enough: {why}")))?;
        }
        let dearer = wanted
            .fuel_increase_max
            .map(|most| (most, backtest.dearer(most.millionths())));
        if let Some((most, dearer)) = dearer
            && !dearer.is_empty()
        {
            return Err(Refused::Unplanned(format!(
                "rules need more fuel than the {most} more that rialto.toml allows (`fuel-increase-max`): {}",
                dearer.join("; ")
            )));
        }
        Ok(Some(backtest))
    }

    /// The last plans, the newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn plans(&self) -> Result<Vec<ShownPlan>, Refused> {
        let digests = self.store.plan_digests(LISTED_MAX);
        let digests = digests.context("reading the plans")?;
        // One text at a time: each may be long.
        let shown = digests
            .iter()
            .map(|digest| self.shown_plan(&self.stored_plan(digest)?.0, false));
        shown.collect()
    }

    /// One plan with its text.
    ///
    /// # Errors
    /// When there is none of this digest, or the store cannot be read.
    pub fn show_plan(&self, digest: &str) -> Result<ShownPlan, Refused> {
        self.shown_plan(&self.stored_plan(digest)?.0, true)
    }

    /// The document that a plan would make current.
    ///
    /// # Errors
    /// When there is none of this digest, or the store cannot be read.
    pub fn planned_document(&self, digest: &str) -> Result<SchemeDocument, Refused> {
        Ok(self.stored_plan(digest)?.1.document)
    }

    /// Take an officer's signature, which was made away from the host.
    ///
    /// # Errors
    /// When there is no such plan, or the signature does not count.
    pub fn sign_plan(&self, digest: &str, file: &SignatureFile) -> Result<ShownPlan, Refused> {
        let (stored, _) = self.stored_plan(digest)?;
        let plan = Digest::of(&stored.content);
        self.officers.verify(file, plan, &stored.maker)?;
        self.keep_signature(&stored, &file.officer, &file.algorithm, &file.signature)
    }

    /// Take an officer's approval, which was confirmed with a passkey.
    ///
    /// # Errors
    /// When there is no such plan, or the caller is no officer, or its maker.
    pub fn approve_plan(&self, digest: &str, by: &Caller) -> Result<ShownPlan, Refused> {
        let (stored, _) = self.stored_plan(digest)?;
        let person = by.person.to_string();
        self.officers
            .approves_with_passkey(&person, &stored.maker)?;
        self.keep_signature(&stored, &person, PASSKEY, "")
    }

    fn keep_signature(
        &self,
        plan: &StoredPlan,
        officer: &str,
        kind: &str,
        signature: &str,
    ) -> Result<ShownPlan, Refused> {
        let signature = PlanSignature {
            plan: plan.digest.clone(),
            officer: officer.to_owned(),
            kind: kind.to_owned(),
            signature: signature.to_owned(),
            at: self.clock.now(),
        };
        let kept = self.store.sign_plan(&signature);
        kept.context("storing who signed the plan")?;
        self.shown_plan(plan, false)
    }

    /// Make what a plan has current.
    ///
    /// # Errors
    /// When it was applied, is too old, was made for another release, or too few officers have signed it.
    pub fn apply_plan(
        &self,
        engine: &Engine,
        request: &ChangeRequest<'_>,
        digest: &str,
    ) -> Result<Applied, Refused> {
        let mut current = self.current.lock();
        let (stored, plan) = self.stored_plan(digest)?;
        if let Some(release) = stored.release {
            return Err(Refused::PlanApplied { release });
        }
        if self.clock.now().0 >= plan.expires {
            return Err(Refused::PlanExpired(plan.expires));
        }
        let from = Some(plan.from.release);
        meant_for(from, current.as_ref())?;
        meant_for(request.expected, current.as_ref())?;
        // Otherwise one that officers have overtaken would come back with a rollback.
        if self.activations_done()? != plan.from.activations {
            return Err(Refused::PlanOvertaken(plan.from.release));
        }
        let signers = self.signers(&stored)?;
        let needed = self.officers.needed();
        if signers.len() < needed {
            return Err(Refused::PlanUnsigned {
                needed,
                signers,
                officers: self.officers.names().map(str::to_owned).collect(),
            });
        }
        let before = current
            .as_ref()
            .map(|(number, document)| (*number, document));
        let digests_agree =
            before.is_some_and(|(_, now)| spec::digest(now.digest()) == plan.from.digest);
        if !digests_agree {
            return Err(Refused::Failed(anyhow::anyhow!(
                "release {} is not the one that the plan was made for, and has its number",
                plan.from.release
            )));
        }
        self.nothing_is_scheduled()?;
        // Dates may have passed since it was made.
        let later = self.later(plan.dates())?;
        self.has_possible_dates(
            before.map(|(_, now)| now),
            &plan.document,
            self.begins(later),
        )?;
        let approver = (needed > 0).then(|| signers.join(", "));
        let kept = Kept {
            maker: &plan.maker,
            note: if request.note.is_empty() {
                &plan.note
            } else {
                request.note
            },
            approver: approver.as_deref(),
        };
        if let Some(later) = later {
            let mut applied = self.schedule((&kept, request.who), before, &plan.document, later)?;
            let marked = self
                .store
                .plan_applied(&stored.digest, Some(applied.number));
            marked.context("storing that the plan is applied")?;
            applied.changes.clone_from(&plan.changes);
            return Ok(applied);
        }
        let (mut applied, release) = self.keep(&kept, before, &plan.document)?;
        applied.changes.clone_from(&plan.changes);
        // Before it becomes current: a plan is applied once, also when the host ends in between.
        let marked = self
            .store
            .plan_applied(&stored.digest, Some(applied.number));
        marked.context("storing that the plan is applied")?;
        if !applied.needs_approval.is_empty() {
            return Ok(applied);
        }
        let made = self.make_current(engine, &mut current, release, plan.document, Some(request));
        if let Err(Refused::Unfit(_)) = &made {
            // The release before stays current, and the plan can be tried again.
            let unmarked = self.store.plan_applied(&stored.digest, None);
            unmarked.context("storing that the plan is not applied")?;
        }
        made?;
        let (number, by) = (applied.number, &request.who.person);
        tracing::info!(release = number, plan = digest, maker = %plan.maker, signers = ?signers, %by, "a release is current by a plan");
        Ok(applied)
    }

    /// Refuse a change that would need a plan.
    pub(super) fn planned(&self, current: Option<&(u64, SchemeDocument)>) -> Result<(), Refused> {
        if self.officers.needed() == 0 || current.is_none() {
            return Ok(());
        }
        Err(Refused::PlanNeeded)
    }

    /// The same of a rollback: to the release that was current just before, none is needed, because officers have
    /// approved it.
    pub(super) fn planned_rollback(
        &self,
        current: Option<&(u64, SchemeDocument)>,
        number: u64,
    ) -> Result<(), Refused> {
        let Err(needed) = self.planned(current) else {
            return Ok(());
        };
        let now = current.map_or(0, |(number, _)| *number);
        let activations = self.store.activations();
        let activations = activations.context("reading the activations")?;
        let mut newest = activations.iter().rev();
        let last = newest.find(|one| one.done && one.release == now);
        // A later one was taken back by a rollback: it comes back by a plan alone.
        let is_just_before = last.is_some_and(|last| last.before == number);
        if is_just_before && number < now {
            Ok(())
        } else {
            Err(needed)
        }
    }

    /// How many activations have ended with another current release.
    fn activations_done(&self) -> Result<u64, Refused> {
        let activations = self.store.activations();
        let activations = activations.context("reading the activations")?;
        Ok(activations.iter().filter(|one| one.done).count() as u64)
    }

    fn stored_plan(&self, digest: &str) -> Result<(StoredPlan, Plan), Refused> {
        let stored = self.store.plan(digest).context("reading the plans")?;
        let stored = stored.ok_or_else(|| Refused::PlanUnknown(digest.to_owned()))?;
        let (plan, found) = Plan::read(&stored.content).context("reading a plan in the store")?;
        if found.to_string() != stored.digest || plan.maker != stored.maker {
            return Err(Refused::Failed(anyhow::anyhow!(
                "the plan {digest} in the store was changed"
            )));
        }
        Ok((stored, plan))
    }

    /// The officers whose approvals of a plan count now.
    fn signers(&self, plan: &StoredPlan) -> Result<Vec<String>, Refused> {
        let kept = self.store.plan_signatures(&plan.digest);
        let kept = kept.context("reading who signed the plan")?;
        let digest = Digest::of(&plan.content);
        Ok(self.officers.counting(&kept, digest, &plan.maker))
    }

    fn shown_plan(&self, stored: &StoredPlan, with_content: bool) -> Result<ShownPlan, Refused> {
        let (plan, _) = Plan::read(&stored.content).context("reading a plan in the store")?;
        let kept = self.store.plan_signatures(&stored.digest);
        let kept = kept.context("reading who signed the plan")?;
        let signers = self.signers(stored)?;
        let needed = self.officers.needed();
        let now = self
            .store
            .current_release()
            .context("reading the releases")?;
        let once_current = self.store.releases_once_current();
        let once_current = once_current.context("reading the releases")?;
        let state = if let Some(release) = stored.release {
            if once_current.contains(&release) {
                "APPLIED"
            } else if self.pending()?.iter().any(|one| one.release == release) {
                "SCHEDULED"
            } else {
                "UNFINISHED"
            }
        } else if self.clock.now().0 >= plan.expires {
            "EXPIRED"
        } else if (plan.from.release, plan.from.activations) != (now, self.activations_done()?) {
            "OUTDATED"
        } else if signers.len() < needed {
            "WAITING"
        } else {
            "READY"
        };
        let signatures = kept.into_iter().map(|one| ShownSignature {
            counts: signers.contains(&one.officer),
            officer: one.officer,
            kind: one.kind,
            at: one.at.0,
        });
        Ok(ShownPlan {
            digest: stored.digest.clone(),
            maker: stored.maker.clone(),
            made: stored.made.0,
            expires: plan.expires,
            note: plan.note,
            from: plan.from.release,
            state: state.to_owned(),
            release: stored.release,
            needed,
            signatures: signatures.collect(),
            content: with_content.then(|| stored.content.clone()),
        })
    }
}
