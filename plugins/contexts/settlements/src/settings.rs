//! The component's settings: settlement models, and which transfer is settled by which.

use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::{minor_units, parse_configured_amount};
use rialto_sdk::scheme::Scheme;
use rialto_sdk::settings::Problems;
use serde::{Deserialize, Serialize};

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// The model of transfers that match no rule.
    pub settlement_model: String,
    /// The models. Without any, [`Self::settlement_model`] is a deferred net model.
    pub models: Vec<Model>,
    /// Which model settles which transfer: the first rule that matches.
    pub rules: Vec<Rule>,
}

/// A settlement model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Model {
    /// 1 to 32 letters, digits, `_`, `-`.
    pub name: String,
    /// How transfers are settled.
    pub kind: Kind,
    /// For a deferred model: whether an operator has to complete a settlement.
    #[serde(default)]
    pub settles: Settles,
    /// For a deferred model: how long a batch takes transfers, in milliseconds; 0: until it is closed.
    #[serde(default)]
    pub batch_interval_ms: u64,
    /// The currencies that it serves; all if empty.
    #[serde(default)]
    pub currencies: Vec<String>,
}

/// How a model settles transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Together, in batches, as net amounts between participants.
    DeferredNet,
    /// One by one, right after the commit.
    ImmediateGross,
}

/// When a deferred settlement moves the funds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Settles {
    /// When an operator confirms that the settlement bank has moved them.
    #[default]
    Manual,
    /// At once.
    Automatic,
}

/// The transfers that a model settles: those that match all given members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// The model's name.
    pub model: String,
    /// Any of these currencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub currencies: Vec<String>,
    /// Any of these payer FSPs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub payers: Vec<String>,
    /// Any of these payee FSPs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub payees: Vec<String>,
    /// Decimal text; with one currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount_at_least: Option<String>,
    /// Decimal text; with one currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount_below: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            settlement_model: "DEFERRED_NET".to_owned(),
            models: Vec::new(),
            rules: Vec::new(),
        }
    }
}

impl Model {
    /// The default for a name without settings: deferred net, completed by an operator.
    #[must_use]
    pub fn unlisted(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: Kind::DeferredNet,
            settles: Settles::Manual,
            batch_interval_ms: 0,
            currencies: Vec::new(),
        }
    }

    /// Whether it settles transfers in this currency.
    #[must_use]
    pub fn serves(&self, currency: &str) -> bool {
        self.currencies.is_empty() || self.currencies.iter().any(|own| own == currency)
    }
}

impl Rule {
    fn fits(&self, payer: &str, payee: &str, amount: &Money) -> bool {
        let any =
            |names: &[String], name: &str| names.is_empty() || names.iter().any(|n| n == name);
        let units = |text: &Option<String>| {
            let text = text.as_deref()?;
            let read = parse_configured_amount(text, &amount.currency, amount.scale);
            read.ok().map(|read| minor_units(&read))
        };
        any(&self.currencies, &amount.currency)
            && any(&self.payers, payer)
            && any(&self.payees, payee)
            && units(&self.amount_at_least).is_none_or(|least| least <= minor_units(amount))
            && units(&self.amount_below).is_none_or(|below| minor_units(amount) < below)
    }
}

impl Settings {
    /// The models, the default one first.
    #[must_use]
    pub fn models(&self) -> Vec<Model> {
        let mut models = vec![self.model(&self.settlement_model)];
        models.extend(
            self.models
                .iter()
                .filter(|m| m.name != self.settlement_model)
                .cloned(),
        );
        models
    }

    /// The model of this name, also of one that an earlier release had.
    #[must_use]
    pub fn model(&self, name: &str) -> Model {
        let listed = self.models.iter().find(|model| model.name == name);
        listed.cloned().unwrap_or_else(|| Model::unlisted(name))
    }

    /// The model that settles a transfer.
    #[must_use]
    pub fn choose(&self, payer: &str, payee: &str, amount: &Money) -> Model {
        let fits = |rule: &&Rule| rule.fits(payer, payee, amount);
        let rule = self.rules.iter().find(fits);
        self.model(rule.map_or(&self.settlement_model, |rule| &rule.model))
    }

    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        self.judge_within(rialto_sdk::scheme::scheme(), problems);
    }

    fn judge_within(&self, scheme: &Scheme, problems: &mut Problems) {
        let is_name = |name: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            (1..=32).contains(&name.len()) && name.bytes().all(fits)
        };
        if !is_name(&self.settlement_model) {
            let message = "a settlement model has 1 to 32 letters, digits, `_` or `-`";
            problems.note("/settlementModel", message);
        }
        let is_listed = |name: &str| self.models.iter().any(|model| model.name == name);
        if !self.models.is_empty() && !is_listed(&self.settlement_model) {
            let message = format!(
                "{:?} must be one of `models`: it settles what no rule matches",
                self.settlement_model
            );
            problems.note("/settlementModel", message);
        }
        for (n, model) in self.models.iter().enumerate() {
            if !is_name(&model.name) {
                let message = "a settlement model has 1 to 32 letters, digits, `_` or `-`";
                problems.note(&format!("/models/{n}/name"), message);
            }
            if self.models[..n]
                .iter()
                .any(|other| other.name == model.name)
            {
                let message = format!("there is already a model {:?}", model.name);
                problems.note(&format!("/models/{n}/name"), message);
            }
            for (m, currency) in model.currencies.iter().enumerate() {
                if scheme.scale_of(currency).is_none() {
                    let message = format!("the scheme does not use {currency:?}");
                    problems.note(&format!("/models/{n}/currencies/{m}"), message);
                }
            }
            if model.name == self.settlement_model && !model.currencies.is_empty() {
                let message = "the model that settles what no rule matches serves all currencies: leave out `currencies`";
                problems.note(&format!("/models/{n}/currencies"), message);
            }
        }
        for (n, rule) in self.rules.iter().enumerate() {
            self.judge_rule(&format!("/rules/{n}"), rule, scheme, problems);
        }
    }

    fn judge_rule(&self, at: &str, rule: &Rule, scheme: &Scheme, problems: &mut Problems) {
        let listed = self.models.iter().find(|model| model.name == rule.model);
        let Some(model) = listed else {
            let message = format!("{:?} is not one of `models`", rule.model);
            problems.note(&format!("{at}/model"), message);
            return;
        };
        for (n, currency) in rule.currencies.iter().enumerate() {
            if scheme.scale_of(currency).is_none() || !model.serves(currency) {
                let message = format!("the model {} does not serve {currency:?}", model.name);
                problems.note(&format!("{at}/currencies/{n}"), message);
            }
        }
        if rule.currencies.is_empty() && !model.currencies.is_empty() {
            let message = format!(
                "add `currencies`: the model {} does not serve all currencies",
                model.name
            );
            problems.note(&format!("{at}/currencies"), message);
        }
        for (name, text) in [
            ("amountAtLeast", &rule.amount_at_least),
            ("amountBelow", &rule.amount_below),
        ] {
            let Some(text) = text else { continue };
            let pointer = format!("{at}/{name}");
            match rule.currencies.as_slice() {
                [currency] => {
                    let scale = scheme.scale_of(currency).unwrap_or(0);
                    if let Err(error) = parse_configured_amount(text, currency, scale) {
                        problems.note(&pointer, format!("{text:?}: {error}"));
                    }
                }
                _ => problems.note(&pointer, "an amount needs a rule with exactly one currency"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::money::money;
    use rialto_sdk::settings::judge;

    fn settings(text: &str) -> Settings {
        serde_json::from_str(text).unwrap()
    }

    const BOTH: &str = r#"{
        "settlementModel": "NET",
        "models": [
            {"name": "NET", "kind": "deferred-net", "batchIntervalMs": 60000},
            {"name": "GROSS", "kind": "immediate-gross", "currencies": ["USD"]}
        ],
        "rules": [
            {"model": "GROSS", "currencies": ["USD"], "amountAtLeast": "1000.00"},
            {"model": "GROSS", "currencies": ["USD"], "payers": ["a", "b"], "payees": ["c"], "amountBelow": "5"}
        ]
    }"#;

    #[test]
    fn without_settings_one_model_settles_all() {
        let settings = settings("{}");
        let model = settings.choose("a", "b", &money("USD", 2, 1));
        assert_eq!(model, Model::unlisted("DEFERRED_NET"));
    }

    #[test]
    fn the_first_rule_that_fits_decides_and_else_the_default() {
        let settings = settings(BOTH);
        let chosen = |payer: &str, payee: &str, currency: &str, units| {
            settings
                .choose(payer, payee, &money(currency, 2, units))
                .name
        };
        assert_eq!(chosen("x", "y", "USD", 100_000), "GROSS");
        assert_eq!(chosen("x", "y", "USD", 99_999), "NET");
        assert_eq!(chosen("x", "y", "EUR", 100_000), "NET");
        assert_eq!(chosen("b", "c", "USD", 499), "GROSS");
        assert_eq!(chosen("b", "c", "USD", 500), "NET");
        assert_eq!(chosen("b", "d", "USD", 499), "NET");
        assert_eq!(settings.models()[0].batch_interval_ms, 60_000);
    }

    #[test]
    fn settings_that_cannot_be_used_are_refused_with_their_place() {
        let scheme: Scheme = serde_json::from_str(
            r#"{"name":"s","hub":"Hub","currencies":[{"code":"USD","scale":2},{"code":"EUR","scale":2}]}"#,
        )
        .unwrap();
        let problems = |text: &str| -> Vec<String> {
            let judged = judge::<Settings>(text, |settings, problems| {
                settings.judge_within(&scheme, problems);
            });
            let told = judged.err().unwrap_or_default();
            told.into_iter().map(|problem| problem.pointer).collect()
        };
        assert!(problems("{}").is_empty());
        assert!(problems(BOTH).is_empty());
        for (from, to, pointer) in [
            (
                r#""settlementModel": "NET""#,
                r#""settlementModel": "OTHER""#,
                "/settlementModel",
            ),
            (r#""name": "GROSS""#, r#""name": "NET""#, "/models/1/name"),
            (r#""name": "NET""#, r#""name": "N:T""#, "/models/0/name"),
            (
                r#""currencies": ["USD"]}"#,
                r#""currencies": ["XYZ"]}"#,
                "/models/1/currencies/0",
            ),
            (
                r#""batchIntervalMs": 60000"#,
                r#""currencies": ["USD"]"#,
                "/models/0/currencies",
            ),
            (
                r#""model": "GROSS""#,
                r#""model": "OTHER""#,
                "/rules/0/model",
            ),
            (r#""1000.00""#, r#""1000.001""#, "/rules/0/amountAtLeast"),
            (
                r#""currencies": ["USD"], "amountAtLeast""#,
                r#""currencies": ["EUR"], "amountAtLeast""#,
                "/rules/0/currencies/0",
            ),
            (
                r#""currencies": ["USD"], "amountAtLeast""#,
                r#""amountAtLeast""#,
                "/rules/0/currencies",
            ),
        ] {
            let broken = BOTH.replacen(from, to, 1);
            assert_ne!(broken, BOTH, "{from}");
            let found = problems(&broken);
            assert!(
                found.iter().any(|found| found == pointer),
                "{pointer}: {found:?}"
            );
        }
        assert_eq!(problems(r#"{"model":"x"}"#), ["/model"]);
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        rialto_json_schema::settings::describes_members::<Model>(
            &schema,
            "/properties/models/items",
        );
        rialto_json_schema::settings::describes_members::<Rule>(&schema, "/properties/rules/items");
    }
}
