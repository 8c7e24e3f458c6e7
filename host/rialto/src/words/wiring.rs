//! A checked scheme as text for people: each component with its grants and links, the listeners, and the scheme's
//! facts.

use std::fmt::Write as _;

use rialto_components::release::{BoundRule, Member};
use rialto_components::wiring::{Link, Target};
use rialto_components::{Failing, Failings, Isolation, Release, Role};
use rialto_grpc::Calls;
use rialto_manifest::Manifest;
use serde_json::Value;

use super::Paint;

/// The widest line, in columns.
const WIDTH: usize = 120;
/// Columns before a row's text: four, the row's name, and a space.
const INDENT: usize = 15;

/// A release's wiring as a table: each component's imports, their providers, and its limits.
pub fn wiring(release: &Release, colours: bool) -> String {
    let paint = Paint(colours);
    let mut text = String::new();
    for (at, member) in release.members.iter().enumerate() {
        component(&mut text, release, at, member, &paint);
    }
    for (at, event) in &release.wiring.unheard {
        let name = &release.members[*at].identity.name;
        let note = format!("note: {name} consumes {event}, which nothing here publishes");
        let _ = writeln!(text, "{}", paint.dim(&note));
    }
    text
}

/// The calls that gRPC clients may make, and offered calls that no component exports.
pub fn calls(calls: &Calls, colours: bool) -> String {
    let paint = Paint(colours);
    let mut text = String::new();
    for path in calls.paths() {
        let _ = writeln!(text, "gRPC {}", path.trim_start_matches('/'));
    }
    for unserved in &calls.unserved {
        let why = unserved.why.lines().next().unwrap_or_default();
        let note = format!(
            "note: {} is offered by gRPC and not served: {why}",
            unserved.interface
        );
        let _ = writeln!(text, "{}", paint.dim(&note));
    }
    text
}

fn component(text: &mut String, release: &Release, at: usize, member: &Member, paint: &Paint) {
    let role = match member.role {
        Role::Context => "context",
        Role::Rule => "rule",
    };
    let digest = member.digest.hex();
    let _ = writeln!(
        text,
        "{} {}  {}",
        paint.dim(role),
        paint.bold(&member.identity.name),
        paint.dim(&format!("sha256:{}…", &digest[..12]))
    );
    if let Some(listener) = &member.listener {
        row(text, "serves", [format!("HTTP on the listener {listener}")]);
    }
    row(text, "limits", limits(member));
    let links: Vec<&Link> = release
        .wiring
        .links
        .iter()
        .filter(|l| l.importer == at)
        .collect();
    row(text, "uses", links.iter().filter_map(|link| surface(link)));
    row(text, "sends to", member.identity.outbound.iter().cloned());
    let joined: Vec<_> = links
        .iter()
        .flat_map(|link| joined(release, link))
        .collect();
    for (verb, what, whom) in &joined {
        let alike = joined
            .iter()
            .filter(|(other, _, _)| kind(other) == kind(verb));
        let width = alike.map(|(_, what, _)| what.len()).max().unwrap_or(0);
        let line = format!("    {verb:<10} {what:<width$} → {whom}");
        if line.chars().count() <= WIDTH {
            let _ = writeln!(text, "{line}");
        } else {
            let _ = writeln!(text, "    {verb:<10} {what}\n{:INDENT$}→ {whom}", "");
        }
    }
    if let Some(rule) = &member.description {
        row(text, "is", [format!("{} {}", rule.name, rule.version)]);
        let words = rule.summary.split_whitespace().map(str::to_owned);
        rows(text, "", "", words);
        row(text, "may return", rule.codes.iter().cloned());
    }
}

/// The group of verbs whose interfaces are listed together.
fn kind(verb: &str) -> &str {
    verb.trim_start_matches("then ")
}

/// Add a row of items; none if there are none.
fn row(text: &mut String, name: &str, items: impl IntoIterator<Item = String>) {
    rows(text, name, ",", items);
}

/// As `row`, with a separator.
fn rows(text: &mut String, name: &str, between: &str, items: impl IntoIterator<Item = String>) {
    let mut line = format!("    {name:<10} ");
    let mut filled = 0;
    for item in items {
        if filled > 0 {
            line.push_str(between);
            if line.chars().count() + 1 + item.chars().count() > WIDTH {
                let _ = writeln!(text, "{line}");
                line = " ".repeat(INDENT);
            } else {
                line.push(' ');
            }
        }
        line.push_str(&item);
        filled += 1;
    }
    if filled > 0 {
        let _ = writeln!(text, "{line}");
    }
}

fn limits(member: &Member) -> Vec<String> {
    let limits = &member.limits;
    let fuel = match limits.fuel {
        Some(fuel) => format!("{fuel} fuel"),
        None => "no bound of fuel".into(),
    };
    let mut said = vec![
        bytes(limits.memory_bytes),
        format!("{} ms", limits.deadline_ms),
        fuel,
    ];
    match member.isolation {
        // A rule has as many instances as verdicts are under way.
        Isolation::Fresh if member.role == Role::Rule => {}
        _ => said.push(format!("{} instances", limits.instances)),
    }
    said.push(match member.isolation {
        Isolation::Fresh => "a fresh one for each call".into(),
        Isolation::Pooled { turns_per_instance } => {
            format!("replaced after {turns_per_instance} turns")
        }
    });
    said
}

fn bytes(bytes: usize) -> String {
    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;
    if bytes.is_multiple_of(MIB) {
        format!("{} MiB", bytes / MIB)
    } else if bytes.is_multiple_of(KIB) {
        format!("{} KiB", bytes / KIB)
    } else {
        format!("{bytes} bytes")
    }
}

/// The host surface of a link, if it is one.
fn surface(link: &Link) -> Option<String> {
    match link.target {
        Target::Surface | Target::Secrets(_) => Some(link.interface.interface.clone()),
        Target::Wasi => Some(format!("{} (gives nothing)", link.interface)),
        _ => None,
    }
}

/// A link in words: its verb, its interface, and the other component.
fn joined(release: &Release, link: &Link) -> Vec<(&'static str, String, String)> {
    let name = |at: usize| release.members[at].identity.name.to_string();
    let short = link.interface.short();
    match &link.target {
        Target::Surface | Target::Secrets(_) | Target::Wasi => Vec::new(),
        Target::Provider(provider) => vec![("calls", short, name(*provider))],
        Target::Subscribers(all) => {
            let to: Vec<String> = all.iter().map(|&at| name(at)).collect();
            vec![("publishes", short, to.join(", "))]
        }
        Target::Counters(step) => {
            let rules = release.steps.get(step).into_iter().flatten();
            let counters = rules.flat_map(|rule| {
                let name = rule.identity.name.to_string();
                let counters = rule.counters_as_json().into_iter();
                counters.map(move |one| ("counts", counter(&one), name.clone()))
            });
            counters.collect()
        }
        Target::Step => {
            let step = link.interface.interface.clone();
            let rules = release
                .steps
                .get(step.as_str())
                .map_or(&[][..], Vec::as_slice);
            if rules.is_empty() {
                return vec![("asks", step, "no rule: everything is allowed".into())];
            }
            let verbs = std::iter::once("asks").chain(std::iter::repeat("then asks"));
            let asked = verbs.zip(rules);
            asked
                .map(|(verb, rule)| (verb, step.clone(), bound(rule)))
                .collect()
        }
    }
}

/// A counter in words: `payer-fsp, payee in day 0`. It is shown as JSON if it has another form.
pub fn counter(counter: &Value) -> String {
    let by = counter["by"].as_array().map(|by| {
        let names = by.iter().map(|name| name.as_str().unwrap_or("?"));
        names.collect::<Vec<_>>().join(", ")
    });
    let window = counter["window"].as_object();
    let window = window.and_then(|window| window.iter().next());
    match (by, window) {
        (Some(by), Some((kind, length))) => format!("{by} in {kind} {length}"),
        _ => counter.to_string(),
    }
}

/// A rule at a step, with the meaning of its failures.
fn bound(rule: &BoundRule) -> String {
    let word = |failing| match failing {
        Failing::Refuse => format!("refuse with {}", rule.failure_code),
        Failing::Allow => "allow".into(),
        Failing::AllowAndFlag => "allow and flag".into(),
        Failing::LastGood => format!(
            "ask its last good release, or else refuse with {}",
            rule.failure_code
        ),
    };
    let failing = match rule.failing.same() {
        Some(failing) => word(failing),
        None => {
            let Failings {
                trap,
                fuel,
                memory,
                verdict,
                otherwise,
            } = rule.failing;
            let by_kind = [
                ("trap", trap),
                ("fuel", fuel),
                ("memory", memory),
                ("verdict", verdict),
                ("otherwise", otherwise),
            ];
            let words = by_kind.map(|(kind, failing)| format!("{kind}: {}", word(failing)));
            words.join(", ")
        }
    };
    let quarantine = rule.quarantine.as_ref().map_or_else(String::new, |one| {
        let terms = one.terms;
        format!("; in quarantine after {} failures in a row", terms.failures)
    });
    let dates = [
        ("from", rule.effective.from),
        ("until", rule.effective.until),
    ];
    let dates = dates.map(|(word, at)| {
        at.map_or_else(String::new, |at| format!(" {word} {}", super::instant(at)))
    });
    let dates = dates.concat();
    format!(
        "{}{dates}; if it fails: {failing}{quarantine}",
        rule.identity.name
    )
}

/// The listeners, and the scheme's facts.
pub fn scheme(manifest: &Manifest, colours: bool) -> String {
    let paint = Paint(colours);
    let mut text = String::new();
    for (name, listener) in &manifest.operator().listeners {
        let _ = writeln!(
            text,
            "{} {}  http://{}",
            paint.dim("listener"),
            paint.bold(name.as_str()),
            listener.address
        );
    }
    let scheme = manifest.scheme();
    for participant in &scheme.participants {
        let _ = writeln!(
            text,
            "{} {}  {}",
            paint.dim("participant"),
            paint.bold(participant.id.as_str()),
            participant.name
        );
        let url = participant.callback_base_url.to_string();
        row(&mut text, "callbacks", [url]);
        match participant.jws_public_keys.len() {
            0 => {}
            1 => row(&mut text, "signs", ["with one key".to_owned()]),
            keys => row(&mut text, "signs", [format!("with one of {keys} keys")]),
        }
        for account in &participant.accounts {
            let cap = match &account.net_debit_cap {
                Some(cap) => format!("net debit cap {cap}"),
                None => "no net debit cap".into(),
            };
            let opening = format!("opening liquidity {}", account.opening_liquidity);
            row(
                &mut text,
                "account",
                [format!("{} with {opening}", account.currency), cap],
            );
        }
    }
    let currencies = scheme.currencies.iter();
    let currencies = currencies.map(|c| format!("{} with {} decimals", c.code, c.scale));
    let currencies: Vec<String> = currencies.collect();
    let _ = writeln!(
        text,
        "{} {}",
        paint.dim("currencies"),
        currencies.join(", ")
    );
    text
}
