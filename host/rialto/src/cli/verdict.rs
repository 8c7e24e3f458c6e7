//! `rialto verdict`: which rules were in force at an instant for what an id stands for, and which verdicts stood then.

use anyhow::Context as _;
use rialto_manifest::scheme::Binding;
use rialto_manifest::{ComponentKind, Scheme};

use super::inspect::{note_missing, path};
use super::release::current_at;
use super::{At, instants};
use crate::ops::FiledReceipt;
use crate::releases::ShownRelease;
use crate::words::{RuleInForce, StepAsOf, Stood, StoodVerdict, VerdictAsOf};
use crate::{out, words};

/// Shows what was in force at an instant for a transfer or a quote, and what had been decided about it by then
#[derive(Debug, clap::Args)]
pub(super) struct Verdict {
    /// The id of a transfer or a quote.
    id: String,
    /// The instant, such as 2026-01-31T09:00:00Z, or so long ago, such as `2 h`. Without it, now.
    #[arg(long, value_name = "TIME", value_parser = instants::past)]
    as_of: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

impl Verdict {
    pub fn run(self) -> anyhow::Result<u8> {
        let client = self.at.client()?;
        let as_of = self.as_of.unwrap_or_else(instants::now);
        let filed: Vec<FiledReceipt> =
            client.get(&format!("/receipts/{}?again=false", path(&self.id)))?;
        note_missing(&client, "receipts")?;
        if filed.is_empty() {
            out::note(format_args!("there is no receipt about {}", self.id));
            return Ok(1);
        }
        let number = current_at(&client, as_of)?;
        let release: ShownRelease = client.get(&format!("/releases/{number}"))?;
        let scheme = release.document.scheme();
        let scheme = scheme.map_err(|problems| anyhow::anyhow!("{}", problems.plain()))?;
        let found = VerdictAsOf {
            id: self.id,
            as_of,
            release: number,
            digest: release.summary.digest.clone(),
            steps: steps(&filed, &release, &scheme, as_of)?,
        };
        if self.json {
            out::json(&found)?;
        } else {
            out::text(words::verdict_as_of(&found))?;
        }
        Ok(0)
    }
}

/// The steps of which there are receipts, in the order in which they were first judged.
fn steps(
    filed: &[FiledReceipt],
    release: &ShownRelease,
    scheme: &Scheme,
    as_of: u64,
) -> anyhow::Result<Vec<StepAsOf>> {
    let mut names: Vec<&str> = Vec::new();
    let mut in_order: Vec<&FiledReceipt> = filed.iter().collect();
    in_order.sort_by_key(|one| (one.at, one.id));
    for receipt in in_order.iter().filter_map(|one| one.receipt.as_ref()) {
        if !names.contains(&&*receipt.step) {
            names.push(&receipt.step);
        }
    }
    let of_step = |step: &str| -> anyhow::Result<StepAsOf> {
        let bound = scheme.steps.iter().find(|(name, _)| name.as_str() == step);
        let bindings = bound.map_or(&[][..], |(_, bindings)| bindings.as_slice());
        let asked = bindings.iter().flat_map(Binding::intervals);
        let asked = asked.filter(|one| one.binding.is_effective(as_of));
        let in_force = asked.map(|one| in_force(release, &one.binding));
        Ok(StepAsOf {
            step: step.to_owned(),
            in_force: in_force.collect::<anyhow::Result<_>>()?,
            stood: stood(&in_order, step, as_of),
        })
    };
    names.into_iter().map(of_step).collect()
}

/// A rule with its settings at one time.
fn in_force(release: &ShownRelease, binding: &Binding) -> anyhow::Result<RuleInForce> {
    let rule = binding.rule.as_str();
    let digest = release.document.digests().get(ComponentKind::Rule, rule);
    let digest = digest.with_context(|| format!("the release does not have the rule {rule}"))?;
    Ok(RuleInForce {
        rule: rule.to_owned(),
        digest: digest.to_string(),
        settings: serde_json::Value::Object(binding.settings.clone()),
        effective_from: binding.effective_from.map(|at| at.millis()),
        effective_until: binding.effective_until.map(|at| at.millis()),
    })
}

/// The last judgement of a step until an instant: the verdicts of one turn. None if there was none yet.
fn stood(in_order: &[&FiledReceipt], step: &str, as_of: u64) -> Option<Stood> {
    let of_step = in_order.iter().filter(|one| {
        let receipt = one.receipt.as_ref();
        // Of old receipts it is not said whether they decided; those of shadows and drafts did not.
        one.at <= as_of
            && receipt.is_some_and(|receipt| {
                let is_decision = receipt.decided.unwrap_or(receipt.shadow.is_none());
                &*receipt.step == step && is_decision && !receipt.what_if
            })
    });
    let at = of_step.clone().map(|one| one.at).max()?;
    let last = of_step.filter(|one| one.at == at);
    let verdicts: Vec<StoodVerdict> = last
        .filter_map(|one| {
            let receipt = one.receipt.as_ref()?;
            Some(StoodVerdict {
                receipt: one.id,
                rule: receipt.rule.to_string(),
                digest: receipt.digest.to_string(),
                settings_digest: receipt.settings_digest.to_string(),
                release: receipt.release,
                verdict: receipt.verdict.clone(),
            })
        })
        .collect();
    let refused = verdicts.iter().any(|one| one.verdict.refuses());
    Some(Stood {
        at,
        allows: !refused,
        verdicts,
    })
}
