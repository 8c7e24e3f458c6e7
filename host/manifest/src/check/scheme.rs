//! The checks of `scheme.toml` alone.

use std::collections::HashSet;
use std::fmt::Display;

use super::{changes, list, unknown};
use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::operator::Surface;
use crate::scheme::{Binding, Participant, Quarantine, Scheme, SchemeFile};
use crate::values::{Amount, Name};

/// Check the scheme's document by itself.
pub(crate) fn scheme(document: &Document<SchemeFile>, problems: &mut Diagnostics) {
    let mut check = Check {
        document,
        file: &document.value,
        problems,
    };
    check.facts();
    check.names();
    check.contexts();
    check.steps();
    check.participants();
}

/// A rule that stands at a step twice with the same settings: it would judge the same twice. Releases that were
/// stored before this was looked at may have one; only folders are refused.
pub(crate) fn bound_twice(scheme: &Scheme, problems: &mut Diagnostics) {
    for (step, bindings) in &scheme.steps {
        for (n, binding) in bindings.iter().enumerate() {
            let is_same = |earlier: &Binding| {
                earlier.rule == binding.rule
                    && earlier.settings == binding.settings
                    && earlier.overlaps(binding)
            };
            if bindings[..n].iter().any(is_same) {
                scheme.document().problem(
                    problems,
                    &format!("steps/{step}/{n}/rule"),
                    Code::Duplicate,
                    format!(
                        "rule `{}` is bound to the step `{step}` twice, with the same settings",
                        binding.rule
                    ),
                    "Leave one of them out, or give them different settings.",
                );
            }
        }
    }
}

struct Check<'a> {
    document: &'a Document<SchemeFile>,
    file: &'a SchemeFile,
    problems: &'a mut Diagnostics,
}

impl Check<'_> {
    fn problem(&mut self, path: &str, code: Code, message: String, help: impl Into<String>) {
        self.document
            .problem(self.problems, path, code, message, help);
    }

    /// Report each key that an earlier element has.
    fn duplicates<K: Display>(
        &mut self,
        what: &str,
        keys: impl Iterator<Item = K>,
        path: impl Fn(usize) -> String,
    ) {
        let mut seen = HashSet::new();
        for (n, key) in keys.enumerate() {
            let key = key.to_string();
            let message = format!("{what} `{key}` is declared twice");
            if !seen.insert(key) {
                self.problem(&path(n), Code::Duplicate, message, "Leave one of them out.");
            }
        }
    }

    fn facts(&mut self) {
        let file = self.file;
        let codes = file.currencies.iter().map(|currency| &currency.code);
        self.duplicates("currency", codes, |n| format!("currencies/{n}/code"));
        let codes = file.errors.iter().map(|error| &error.code);
        self.duplicates("error code", codes, |n| format!("errors/{n}/code"));
        let ids = file.participants.iter().map(|participant| &participant.id);
        self.duplicates("participant", ids, |n| format!("participants/{n}/id"));
    }

    /// Contexts and rules share one space of names: logs and receipts say no more than the name.
    fn names(&mut self) {
        for name in self.file.rules.keys() {
            if self.file.contexts.contains_key(name) {
                self.problem(
                    &format!("rules/{name}"),
                    Code::Duplicate,
                    format!("`{name}` is the name of a context and of a rule"),
                    "Contexts and rules need different names.",
                );
            }
        }
    }

    fn contexts(&mut self) {
        for (name, context) in &self.file.contexts {
            let grants = &context.grants;
            let path = format!("contexts/{name}/grants");
            if !grants.outbound.is_empty()
                && !grants.host.contains(&Surface::Http)
                && !self.document.is_doubtful(&format!("{path}/host"))
            {
                self.problem(
                    &format!("{path}/outbound"),
                    Code::Contradiction,
                    format!("context `{name}` may send to origins, but has no grant for `http`"),
                    "Add `http` to `grants.host`, or leave `grants.outbound` out.",
                );
            }
        }
    }

    fn steps(&mut self) {
        for (step, bindings) in &self.file.steps {
            for (n, binding) in bindings.iter().enumerate() {
                self.binding(step, n, binding);
            }
        }
    }

    fn binding(&mut self, step: &Name, n: usize, binding: &Binding) {
        let file = self.file;
        if binding.shadow.is_some() && binding.canary.is_some() {
            self.problem(
                &format!("steps/{step}/{n}/canary"),
                Code::Contradiction,
                format!("the rule `{}` has a shadow and a canary", binding.rule),
                "Leave one of them out: the rule itself is the shadow of its canary.",
            );
        }
        if let (Some(from), Some(until)) = (binding.effective_from, binding.effective_until)
            && until <= from
        {
            self.problem(
                &format!("steps/{step}/{n}/effective-until"),
                Code::Contradiction,
                format!(
                    "the rule `{}` would end at {until}, before it begins at {from}",
                    binding.rule
                ),
                "Name an end after the beginning.",
            );
        }
        self.quarantine(step, n, binding);
        changes::check(self.document, self.problems, (step, n), binding);
        let shadow = binding.shadow.as_ref();
        let named = [
            ("rule", Some(&binding.rule)),
            ("shadow/rule", shadow.map(|shadow| &shadow.rule)),
            (
                "canary/rule",
                binding.canary.as_ref().map(|canary| &canary.rule),
            ),
        ];
        for (place, rule) in named {
            let Some(rule) = rule.map(Name::as_str) else {
                continue;
            };
            if !file.rules.contains_key(rule) && !self.document.is_dropped(rule) {
                let known = || file.rules.keys().map(Name::as_str);
                self.problem(
                    &format!("steps/{step}/{n}/{place}"),
                    Code::UnknownName,
                    unknown("rule", rule, known()),
                    format!("The scheme's rules: {}.", list(known())),
                );
            }
        }
        let path = format!("steps/{step}/{n}/failure-code");
        let code = &binding.failure_code;
        let declared = file.errors.iter().any(|error| error.code == *code)
            || self.document.is_doubtful("errors");
        let written = self.document.is_written(&path);
        let refuses = binding.on_failure.may_refuse()
            && !self
                .document
                .is_doubtful(&format!("steps/{step}/{n}/on-failure"));
        if !declared && (written || refuses) {
            let which = if written { "" } else { " (the default)" };
            self.problem(
                &path,
                Code::UnknownName,
                format!("the scheme does not declare the failure code `{code}`{which}"),
                "Declare it under [[errors]], or name one that is declared there.",
            );
        }
    }

    fn quarantine(&mut self, step: &Name, n: usize, binding: &Binding) {
        let Some(quarantine) = &binding.quarantine else {
            return;
        };
        let path = format!("steps/{step}/{n}/quarantine");
        let Quarantine { pause, longest, .. } = quarantine;
        if self.document.is_doubtful(&path) {
            return;
        }
        if pause.millis() == 0 {
            self.problem(
                &format!("{path}/pause"),
                Code::BadValue,
                format!("the quarantine of the rule `{}` has no pause", binding.rule),
                "Write how long the rule is not asked, as in `30 s`, or leave `quarantine` out.",
            );
        } else if pause > longest {
            self.problem(
                &format!("{path}/pause"),
                Code::Contradiction,
                format!(
                    "the quarantine of the rule `{}` has a pause of {pause}, which is longer than its longest, {longest}",
                    binding.rule
                ),
                "Lower `pause`, or raise `longest`.",
            );
        }
    }

    fn participants(&mut self) {
        for (n, participant) in self.file.participants.iter().enumerate() {
            if participant.id == self.file.hub {
                self.problem(
                    &format!("participants/{n}/id"),
                    Code::Duplicate,
                    format!("`{}` is the hub's id", participant.id),
                    "Give the participant another id, or the hub with `hub`.",
                );
            }
            self.callbacks(n, participant);
            self.accounts(n, participant);
        }
    }

    /// A callback that nobody may send would only be found out with the first payment.
    fn callbacks(&mut self, n: usize, participant: &Participant) {
        let origin = participant.callback_base_url.origin();
        let contexts = || {
            let grants = self.file.contexts.values().map(|context| &context.grants);
            grants.filter(|grants| grants.host.contains(&Surface::Http))
        };
        let covered = contexts().any(|g| g.outbound.iter().any(|pattern| pattern.covers(origin)));
        if contexts().next().is_some() && !covered && !self.document.is_doubtful("contexts") {
            self.problem(
                &format!("participants/{n}/callback-base-url"),
                Code::NotGranted,
                format!("no context may send to `{origin}`"),
                "Add the origin to `grants.outbound` of the context that sends callbacks.",
            );
        }
    }

    fn accounts(&mut self, n: usize, participant: &Participant) {
        let currencies = participant.accounts.iter().map(|account| &account.currency);
        let what = format!("account of `{}` in", participant.id);
        self.duplicates(&what, currencies, |m| {
            format!("participants/{n}/accounts/{m}/currency")
        });
        for (m, account) in participant.accounts.iter().enumerate() {
            let path = format!("participants/{n}/accounts/{m}");
            let code = &account.currency;
            if self.document.is_repaired(&format!("{path}/currency"))
                || self.document.is_doubtful("currencies")
            {
                continue;
            }
            let Some(currency) = self.file.currencies.iter().find(|c| c.code == *code) else {
                let known = self.file.currencies.iter().map(|c| c.code.as_str());
                let help = format!("The scheme's currencies: {}.", list(known));
                let message = format!("the scheme does not declare the currency `{code}`");
                let path = format!("{path}/currency");
                self.problem(&path, Code::UnknownName, message, help);
                continue;
            };
            let scale = currency.scale;
            let path_of = |key| format!("{path}/{key}");
            self.amount(
                &path_of("opening-liquidity"),
                account.opening_liquidity,
                scale,
                code,
            );
            if let Some(cap) = account.net_debit_cap {
                self.amount(&path_of("net-debit-cap"), cap, scale, code);
            }
            if let Some(threshold) = account.liquidity_threshold {
                self.amount(&path_of("liquidity-threshold"), threshold, scale, code);
            }
        }
    }

    fn amount(&mut self, path: &str, amount: Amount, scale: u8, currency: &impl Display) {
        if amount.minor_units(scale).is_err() {
            self.problem(
                path,
                Code::OverPrecise,
                format!("`{amount}` has more decimals than {currency}, which has {scale}"),
                "Amounts are exact and never rounded: write the amount that is meant.",
            );
        }
    }
}
