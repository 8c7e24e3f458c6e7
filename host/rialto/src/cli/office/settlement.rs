//! `rialto settlement`.

use serde_json::{Value, json};

use super::{Asking, Looking, Segment, items, print, rows, shown, text};
use crate::out::{self, Unwritten};
use crate::words;

#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum Settlement {
    /// Show the settlement models and the rules that choose between them, as JSON
    Models {
        #[command(flatten)]
        looking: Looking,
    },
    /// List batches, each line with its id first
    Batches {
        /// List only this state: OPEN, CLOSED, AWAITING_SETTLEMENT or SETTLED.
        #[arg(id = "only", long = "only", value_name = "STATE")]
        state: Option<String>,
        /// List only this settlement model.
        #[arg(long)]
        model: Option<String>,
        /// List only this currency.
        #[arg(long)]
        currency: Option<String>,
        /// List only batches with this participant.
        #[arg(long, value_name = "ID")]
        participant: Option<String>,
        #[command(flatten)]
        looking: Looking,
    },
    /// Show a batch, with what its members paid and received
    Batch {
        /// The batch's id.
        id: Segment,
        #[command(flatten)]
        looking: Looking,
    },
    /// Close an open batch in an emergency. A settlement closes its batches by itself
    Close {
        /// The batch's id.
        id: Segment,
        #[command(flatten)]
        asking: Asking,
    },
    /// List settlements, each line with its id first
    List {
        /// List only this state, such as PENDING or COMPLETED.
        #[arg(id = "only", long = "only", value_name = "STATE")]
        state: Option<String>,
        /// List only this settlement model.
        #[arg(long)]
        model: Option<String>,
        #[command(flatten)]
        looking: Looking,
    },
    /// Show a settlement, with what each participant pays or receives
    Show {
        /// The settlement's id.
        id: Segment,
        #[command(flatten)]
        looking: Looking,
    },
    /// Settle batches of one settlement model together
    Settle {
        /// The batches' ids.
        #[arg(required = true)]
        batches: Vec<Segment>,
        #[command(flatten)]
        asking: Asking,
    },
    /// Confirm that the settlement bank has moved the funds. Another operator must have asked for the settlement
    Complete {
        /// The settlement's id.
        id: Segment,
        #[command(flatten)]
        asking: Asking,
    },
    /// Abort a settlement. Another operator must have asked for it
    Abort {
        /// The settlement's id.
        id: Segment,
        #[command(flatten)]
        asking: Asking,
    },
}

impl Settlement {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Models { looking } => {
                let models: Value = looking.at.client()?.get("/settlement-models")?;
                out::json(&models)?;
                Ok(0)
            }
            Self::Batches {
                state,
                model,
                currency,
                participant,
                looking,
            } => {
                let filters = [
                    ("state", state.as_deref()),
                    ("model", model.as_deref()),
                    ("currency", currency.as_deref()),
                    ("participant", participant.as_deref()),
                ];
                batches(&filters, &looking)
            }
            Self::Batch { id, looking } => batch(&id, &looking),
            Self::Close { id, asking } => {
                asking.change(&format!("/settlement-batches/{id}/close"), json!({}))
            }
            Self::List {
                state,
                model,
                looking,
            } => {
                let filters = [("state", state.as_deref()), ("model", model.as_deref())];
                list(&filters, &looking)
            }
            Self::Show { id, looking } => show(&id, &looking),
            Self::Settle { batches, asking } => {
                let batches: Vec<&str> = batches.iter().map(|batch| batch.0.as_str()).collect();
                asking.change("/settlements", json!({ "batches": batches }))
            }
            Self::Complete { id, asking } => {
                asking.change(&format!("/settlements/{id}/complete"), json!({}))
            }
            Self::Abort { id, asking } => {
                asking.change(&format!("/settlements/{id}/abort"), json!({}))
            }
        }
    }
}

fn batches(filters: &[(&str, Option<&str>)], looking: &Looking) -> anyhow::Result<u8> {
    let found = items(&looking.at.client()?, "/settlement-batches", filters)?;
    let line = |of: &Value| {
        let opened = words::instant(of["openedAt"].as_u64().unwrap_or_default());
        let (id, state) = (text(of, "id"), text(of, "state"));
        format!("{id}  {state}  opened {opened}")
    };
    Ok(print(
        &found,
        looking.json,
        "there are no such batches",
        line,
    )?)
}

fn batch(id: &Segment, looking: &Looking) -> anyhow::Result<u8> {
    let client = looking.at.client()?;
    let found: Value = client.get(&format!("/settlement-batches/{id}"))?;
    if looking.json {
        out::json(&found)?;
        return Ok(0);
    }
    rows([
        (
            "batch",
            format!("{} ({})", text(&found, "id"), text(&found, "state")),
        ),
        ("model", text(&found, "model")),
        ("settlement", text(&found, "settlement")),
    ])?;
    members(found["positions"].as_array().into_iter().flatten())?;
    if !found["nextCursor"].is_null() {
        out::note("only the first members are shown: --json has the cursor of the next page");
    }
    Ok(0)
}

fn list(filters: &[(&str, Option<&str>)], looking: &Looking) -> anyhow::Result<u8> {
    let found = items(&looking.at.client()?, "/settlements", filters)?;
    let line = |of: &Value| {
        let at = words::instant(of["created"]["at"].as_u64().unwrap_or_default());
        let (id, state) = (text(of, "id"), text(of, "state"));
        let (by, why) = (text(&of["created"], "by"), text(&of["created"], "reason"));
        format!("{id}  {state}  {at} by {by}  {why}")
    };
    Ok(print(
        &found,
        looking.json,
        "there are no such settlements",
        line,
    )?)
}

impl Asking {
    /// Changes a batch or a settlement. No second operator approves it.
    fn change(&self, path: &str, mut body: Value) -> anyhow::Result<u8> {
        body["reason"] = json!(self.reason);
        let changed: Value = self.at.client()?.post(path, &body)?;
        if self.json {
            out::json(&changed)?;
            return Ok(0);
        }
        let id = text(&changed, "id");
        out::line(&id)?;
        let state = text(&changed, "state");
        out::note(match state.as_str() {
            "PENDING" => format!(
                "the settlement waits for an operator with the role `checker`, once the bank has moved the funds: \
                 rialto settlement complete {id} --reason WHY --as NAME"
            ),
            _ => format!("its state is {state}"),
        });
        Ok(0)
    }
}

fn show(id: &Segment, looking: &Looking) -> anyhow::Result<u8> {
    let client = looking.at.client()?;
    let found: Value = client.get(&format!("/settlements/{id}"))?;
    let matrix = items(&client, &format!("/settlements/{id}/matrix"), &[])?;
    if looking.json {
        let mut whole = found;
        whole["matrix"] = json!(matrix);
        out::json(&whole)?;
        return Ok(0);
    }
    let acts = [
        ("created", "asked for"),
        ("completed", "completed"),
        ("aborted", "given up"),
    ];
    rows([
        (
            "settlement",
            format!("{} ({})", text(&found, "id"), text(&found, "state")),
        ),
        ("model", text(&found, "model")),
    ])?;
    let batches = found["batches"].as_array().into_iter().flatten();
    rows(
        batches
            .filter_map(Value::as_str)
            .map(|id| ("batch", id.to_owned())),
    )?;
    rows(
        acts.iter()
            .filter(|(member, _)| found[*member].is_object())
            .map(|(member, name)| {
                let act = &found[*member];
                let at = words::instant(act["at"].as_u64().unwrap_or_default());
                (
                    *name,
                    format!("{at} by {}: {}", text(act, "by"), text(act, "reason")),
                )
            }),
    )?;
    members(&matrix)?;
    let short = found["short"].as_array().into_iter().flatten();
    for of in short {
        let (needs, has) = (shown(&of["needs"]), shown(&of["has"]));
        out::line(format_args!(
            "short: {} needs {needs} and has {has}",
            text(of, "participant")
        ))?;
    }
    Ok(0)
}

/// What each participant paid and received, and its net amount.
fn members<'a>(of: impl IntoIterator<Item = &'a Value>) -> Result<(), Unwritten> {
    let mut of = of.into_iter();
    of.try_for_each(|of| {
        let (paid, received) = (shown(&of["paid"]), shown(&of["received"]));
        let net = shown(&of["net"]);
        let direction = text(&of["net"], "direction").to_lowercase();
        let id = text(of, "participant");
        out::line(format_args!(
            "{id:<32} paid {paid}, received {received}: {direction} {net}"
        ))
    })
}
