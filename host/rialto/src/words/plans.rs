//! Plans as text for people: what a plan changes, and who has signed it.

use std::fmt::Write as _;

use indicatif::HumanCount;
use rialto_components::Digest;

use super::{instant, plain};
use crate::plans::{Backtested, Plan};
use crate::releases::ShownPlan;

/// A plan, for who is to sign it.
pub fn plan(plan: &Plan, digest: Digest) -> String {
    let mut text = format!("plan       {digest}\n");
    let _ = writeln!(
        text,
        "replaces   release {} ({})",
        plan.from.release, plan.from.digest
    );
    let _ = writeln!(text, "by         {}", plan.to);
    let (made, maker) = (instant(plan.made), plain(&plan.maker));
    let _ = writeln!(text, "made       {made} by {maker}");
    let _ = writeln!(text, "expires    {}", instant(plan.expires));
    if let Some(from) = plan.effective_from {
        let until = plan.effective_until;
        let until = until.map_or_else(String::new, |until| format!(", until {until}"));
        let _ = writeln!(text, "in force   from {from}{until}");
    }
    if !plan.note.is_empty() {
        let _ = writeln!(text, "note       {}", plain(&plan.note));
    }
    let _ = writeln!(text, "changes");
    for change in &plan.changes {
        let _ = writeln!(text, "  {}", plain(change));
    }
    if !plan.needs_approval.is_empty() {
        let _ = writeln!(text, "it brings in money, or takes away proof");
        for reason in &plan.needs_approval {
            let _ = writeln!(text, "  {}", plain(reason));
        }
    }
    if !plan.calendar.is_empty() {
        let _ = writeln!(text, "calendar");
        for date in &plan.calendar {
            let _ = writeln!(text, "  {}", plain(date));
        }
    }
    if !plan.fresh_counters.is_empty() {
        let _ = writeln!(text, "counters");
        for counter in &plan.fresh_counters {
            let _ = writeln!(text, "  {}", plain(counter));
        }
    }
    match &plan.backtest {
        None => {
            let _ = writeln!(text, "backtest   none");
        }
        Some(backtest) => tested(&mut text, backtest),
    }
    text
}

fn tested(text: &mut String, backtest: &Backtested) {
    let _ = writeln!(text, "backtest   {}", backtest.digest);
    let _ = writeln!(
        text,
        "  as the maker says, by the rules of {}; the host has not judged again, and no canary is judged",
        instant(backtest.as_of)
    );
    if backtest.unread > 0 {
        let unread = HumanCount(backtest.unread);
        let _ = writeln!(text, "  {unread} receipts or archives could not be read");
    }
    if let Some(uncounted) = backtest.uncounted {
        let uncounted = HumanCount(uncounted);
        let _ = writeln!(
            text,
            "  {uncounted} requests cannot be followed: their counters were not kept"
        );
    }
    let part = if backtest.is_partial {
        ", a part of all"
    } else {
        ""
    };
    let _ = writeln!(
        text,
        "  {} requests from {} to {}{part}: {} would be decided otherwise, {} failed",
        HumanCount(backtest.requests),
        instant(backtest.since),
        instant(backtest.until),
        HumanCount(backtest.different),
        HumanCount(backtest.failures),
    );
    for of in &backtest.fuel {
        let before = if of.before.verdicts == 0 {
            "new".to_owned()
        } else {
            format!(
                "before {} and {}",
                HumanCount(of.before.p50),
                HumanCount(of.before.p99)
            )
        };
        let _ = writeln!(
            text,
            "  fuel of {} at {}: p50 {}, p99 {} ({before})",
            plain(&of.rule),
            plain(&of.step),
            HumanCount(of.after.p50),
            HumanCount(of.after.p99),
        );
    }
}

/// A plan in the list.
pub fn plan_in_a_list(plan: &ShownPlan) -> String {
    let signed = plan.signatures.iter().filter(|one| one.counts).count();
    let became = plan
        .release
        .map_or_else(String::new, |number| format!(" as release {number}"));
    let mut text = format!(
        "{:<8} {}  {}  by {}, {signed} of {} signatures{became}",
        plan.state,
        plan.digest,
        instant(plan.made),
        plain(&plan.maker),
        plan.needed,
    );
    if !plan.note.is_empty() {
        let _ = write!(text, ": {}", plain(&plan.note));
    }
    text.push('\n');
    text
}

/// Who has signed a plan, and what comes next.
pub fn signatures_of_plan(plan: &ShownPlan) -> String {
    let mut text = String::new();
    for one in &plan.signatures {
        let counts = if one.counts {
            ""
        } else {
            ", which does not count any more"
        };
        let _ = writeln!(
            text,
            "signed     {} by {} ({}){counts}",
            instant(one.at),
            plain(&one.officer),
            plain(&one.kind),
        );
    }
    let signed = plan.signatures.iter().filter(|one| one.counts).count();
    let _ = match plan.state.as_str() {
        "APPLIED" => writeln!(
            text,
            "it became release {}",
            plan.release.unwrap_or_default()
        ),
        "SCHEDULED" => writeln!(
            text,
            "release {} comes into force by it",
            plan.release.unwrap_or_default()
        ),
        "UNFINISHED" => writeln!(
            text,
            "it was applied as release {}, which never became current: make it again",
            plan.release.unwrap_or_default()
        ),
        "EXPIRED" => writeln!(text, "it is too old to be applied"),
        "OUTDATED" => writeln!(
            text,
            "another release is current than the one that it replaces, or was in between"
        ),
        "READY" => writeln!(
            text,
            "it can be applied: {signed} of {} signatures",
            plan.needed
        ),
        _ => writeln!(text, "it waits: {signed} of {} signatures", plan.needed),
    };
    text
}
