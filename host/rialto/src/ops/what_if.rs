//! What the rules would say about a draft. Nothing is decided. The receipts are marked, are in the answer, and are kept
//! nowhere.

use axum::Json;
use axum::extract::State;
use rialto_components::judges::Agreed;
use rialto_components::rules::Outcome;
use rialto_components::what_if::{self, Draft as Judged, ToldVerdict};
use rialto_receipts::ProofFile;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extractors::{At, Body};
use super::problem::Kind;
use super::{Host, Problem, blocking};

/// What a draft without a subject is about.
const DRAFT: &str = "draft";

/// A draft at a step.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Draft {
    /// What it is about, as receipts have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The step's input, as receipts have it.
    pub input: Value,
    /// Under which rules it was agreed that it may come; none for those in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<AgreedDraft>,
}

/// Under which rules it was agreed that a draft may come, as receipts have it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgreedDraft {
    /// The release.
    pub release: u64,
    /// When; milliseconds since 1970.
    pub at: u64,
}

/// What the rules would say.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhatIf {
    /// Always true: it is no decision.
    pub what_if: bool,
    /// The step.
    pub step: String,
    /// The release that was asked.
    pub release: u64,
    /// Whether the step would allow the request, as far as the rules that were asked go.
    pub allows: bool,
    /// The verdicts, in the order in which the rules are asked, up to the first refusal.
    pub verdicts: Vec<WhatIfVerdict>,
    /// Rules that are confidential, and were not asked.
    pub left_out: usize,
    /// Rules that are suspended, and were not asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspended: Vec<String>,
    /// The receipts of the verdicts, each marked as a what-if: a file that `rialto receipts verify` reads. They are nowhere
    /// else.
    pub receipts: ProofFile,
}

/// What one rule would say.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhatIfVerdict {
    /// The rule, by its name in the scheme.
    pub rule: String,
    /// Its own version.
    pub version: String,
    /// What it says of itself.
    pub summary: String,
    /// The verdict.
    pub verdict: Outcome,
    /// The release whose rule it is.
    pub release: u64,
    /// Its settings at this step, which have its limits.
    pub settings: Value,
    /// Fuel used.
    pub fuel: u64,
    /// The branches that it has marked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<String>,
    /// The hash of its receipt.
    pub receipt: String,
}

pub(super) async fn ask(
    State(shared): Host,
    At(step): At<String>,
    Body(draft): Body<Draft>,
) -> Result<Json<WhatIf>, Problem> {
    blocking(&shared.clone().reads, move || {
        let release = shared.runtime.current();
        let release = release.ok_or_else(|| Problem::new(Kind::NotNow, "no release is current"))?;
        if !release.steps.contains_key(step.as_str()) {
            let mut steps: Vec<&str> = release.steps.keys().map(|known| &**known).collect();
            steps.sort_unstable();
            let detail = format!(
                "no rule is bound to `{step}`; rules are at {}",
                steps.join(", ")
            );
            return Err(Problem::new(Kind::NotFound, detail));
        }
        let now = shared.releases.now();
        let agreed = draft
            .agreed
            .map(|AgreedDraft { release, at }| Agreed { release, at });
        let about = Judged {
            step: &step,
            subject: draft.subject.as_deref().unwrap_or(DRAFT),
            input: &draft.input,
            agreed,
            now: now.0,
        };
        let said = what_if::judge(&release, &about, &|bytes| shared.access.fill(bytes))
            .map_err(|misfit| Problem::new(Kind::Malformed, misfit.to_string()))?;
        let written = |error: rialto_receipts::Malformed| {
            Problem::new(Kind::Internal, format!("a receipt: {error}"))
        };
        let receipts = what_if::file(&said.verdicts, now).map_err(written)?;
        // Each verdict has a receipt, or there is no answer.
        let with_receipts = said.verdicts.iter().zip(hashes(&receipts));
        let verdicts = with_receipts.map(told).collect::<Result<Vec<_>, _>>()?;
        Ok(Json(WhatIf {
            what_if: true,
            release: release.number,
            allows: !verdicts.iter().any(|one| one.verdict.refuses()),
            step,
            verdicts,
            left_out: said.left_out,
            suspended: said.suspended.iter().map(ToString::to_string).collect(),
            receipts,
        }))
    })
    .await
}

/// The hashes of receipts, and then nothing without end.
fn hashes(receipts: &ProofFile) -> impl Iterator<Item = &str> {
    let all = receipts.what_ifs.iter().map(|one| &*one.hash);
    all.chain(std::iter::repeat(""))
}

/// A verdict and the hash of its receipt.
fn told((one, hash): (&ToldVerdict, &str)) -> Result<WhatIfVerdict, Problem> {
    let receipt = one.receipt.as_ref().map_err(|reason| {
        let detail = format!("a rule could not be asked: {reason}; try again");
        Problem::new(Kind::NotNow, detail)
    })?;
    Ok(WhatIfVerdict {
        rule: one.rule.to_string(),
        version: one.version.clone(),
        summary: one.summary.clone(),
        release: receipt.release,
        settings: serde_json::from_str(&one.settings).unwrap_or_default(),
        verdict: receipt.verdict.clone(),
        fuel: receipt.fuel,
        branches: receipt.branches.clone(),
        receipt: hash.to_owned(),
    })
}
