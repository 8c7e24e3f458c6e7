//! The releases of before a start that may still judge what was agreed under their rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context as _;
use rialto_components::Release;
use rialto_components::earlier::KEPT_MAX;
use rialto_engine::Timestamp;

use super::last_good::taken_back;
use super::refused::unfit;
use super::{Refused, Releases};
use crate::located::located;
use crate::spec;

/// How long ago a release was replaced at most to be ready again after a start, in milliseconds: a day. What was agreed
/// longer ago is judged by the current one.
const REPLACED_WITHIN: u64 = 24 * 60 * 60 * 1_000;

impl Releases {
    /// Remember which releases were rolled back, and prepare the rules of those that were current in the last day. One that
    /// cannot be prepared is left out, and the log says so: the current release judges then.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn recall_earlier(&self) -> Result<(), Refused> {
        let activations = self.store.activations();
        let activations = activations.context("reading the activations")?;
        let withdrawn = taken_back(&activations);
        let done: Vec<_> = activations.iter().filter(|one| one.done).collect();
        let earlier = self.runtime.earlier();
        earlier.withdraw(withdrawn.clone());
        let current = self.current().map_or(0, |(number, _)| number);
        let since = Timestamp(self.now().0.saturating_sub(REPLACED_WITHIN));
        let mut seen = BTreeSet::from([0, current]);
        let replaced = done.iter().rev().take_while(|one| one.at >= since);
        let mut wanted: Vec<u64> = replaced
            .map(|one| one.before)
            .filter(|number| seen.insert(*number) && !withdrawn.contains(number))
            .take(KEPT_MAX)
            .collect();
        // The one that was current last comes last.
        wanted.reverse();
        for number in wanted {
            match self.prepare_rules(number) {
                Ok(release) => earlier.keep(Arc::new(release)),
                Err(reason) => {
                    tracing::warn!(release = number, %reason, "the rules of an earlier release are not ready: what was agreed under them is judged by the current release");
                }
            }
        }
        Ok(())
    }

    /// Prepare the rules of a stored release, without its contexts.
    fn prepare_rules(&self, number: u64) -> Result<Release, Refused> {
        let document = self.document(number)?;
        let scheme = document.scheme().map_err(|problems| unfit(&problems))?;
        let spec = spec::release(number, &document, |digest| {
            let bytes = self.store.component(&digest.to_string()).ok().flatten();
            bytes.map(Into::into)
        });
        let spec = spec.map_err(|error| Refused::Unfit(vec![error.to_string()]))?;
        let release = self.runtime.prepare(&spec.rules_alone());
        let release = release.map_err(|problems| unfit(&located(&scheme, &problems)))?;
        self.bring_last_good(&release, &document)?;
        Ok(release)
    }
}
