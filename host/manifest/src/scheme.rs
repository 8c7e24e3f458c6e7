//! The scheme's document, `scheme.toml`: its facts, its components and how they are wired.
//!
//! What a context or a rule is given is in [`component`]; the rest is here.

use std::collections::BTreeMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::check;
use crate::diagnostics::Diagnostics;
use crate::document::Document;
use crate::schema;
use crate::source::Source;
use crate::values::{
    Amount, BaseUrl, CurrencyCode, ErrorCode, FspId, Instant, Name, PublicKeyPem, Share,
};

mod changes;
pub mod component;
mod failures;
mod stored;

pub use changes::{CHANGES_MAX, Interval, SettingChange};
pub use component::{
    Context, ContextGrants, ContextLimits, Isolation, Rule, RuleGrants, RuleLimits, RuleSurface,
};
pub use failures::{FailureTable, FailureWord, FailureWords, OnFailure, Quarantine};
pub use stored::SchemeDocument;

/// The scheme's document.
pub const FILE_NAME: &str = "scheme.toml";

/// A scheme's document that was read and checked by itself.
#[derive(Debug)]
pub struct Scheme {
    document: Document<SchemeFile>,
}

impl Scheme {
    /// Read and check the text of a `scheme.toml`. What the operator allows is
    /// [`check::admit`]'s affair.
    ///
    /// # Errors
    /// With every problem that was found.
    pub fn parse(text: &str) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::default();
        let scheme = Self::read(text, &mut problems);
        problems.or(scheme)
    }

    pub(crate) fn read(text: &str, problems: &mut Diagnostics) -> Option<Self> {
        let source = Source::new(FILE_NAME, text);
        let document = Document::read(source, &schema::SCHEME, problems)?;
        check::scheme(&document, problems);
        Some(Self { document })
    }

    pub(crate) const fn document(&self) -> &Document<SchemeFile> {
        &self.document
    }

    /// The document as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        self.document.source().text()
    }

    /// The document with its file's name, for problems that somebody else finds in it.
    #[must_use]
    pub fn source(&self) -> &Source {
        self.document.source()
    }

    /// Where a value stands, by its keys with slashes between them, or the nearest one around it that
    /// is written.
    #[must_use]
    pub fn span(&self, path: &str) -> Range<usize> {
        self.document.span(path)
    }

    /// Those who sign their messages, with the public keys that the document brings for them: every
    /// participant, in the document's order.
    pub fn signers(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.participants.iter().map(|participant| {
            let keys = participant.jws_public_keys.iter();
            (
                participant.id.as_str(),
                keys.map(PublicKeyPem::as_str).collect(),
            )
        })
    }

    /// The path of a signer's key, by the indexes of both.
    #[must_use]
    pub fn key_path(signer: usize, key: usize) -> String {
        format!("participants/{signer}/jws-public-keys/{key}")
    }

    /// The settings of a context as a JSON object; none if there is no such context.
    #[must_use]
    pub fn settings_json(&self, context: &str) -> Option<String> {
        Some(json(&self.contexts.get(context)?.settings))
    }
}

impl std::ops::Deref for Scheme {
    type Target = SchemeFile;

    fn deref(&self) -> &SchemeFile {
        &self.document.value
    }
}

/// A JSON object as text.
pub(crate) fn json(object: &Map<String, Json>) -> String {
    serde_json::Value::Object(object.clone()).to_string()
}

/// The scheme's document, `scheme.toml`: facts, contexts, rules, steps and participants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "scheme.toml")]
pub struct SchemeFile {
    /// The scheme's name, in kebab-case.
    pub name: Name,
    /// The participant id of the hub: FSPIOP-Source of the messages that the scheme itself sends.
    #[serde(default = "default_hub")]
    pub hub: FspId,
    /// How callers prove who they are. It must always be written.
    pub authentication: Authentication,
    /// The currencies that may be used.
    #[serde(default)]
    pub currencies: Vec<Currency>,
    /// The error codes that the scheme may give to participants.
    #[serde(default)]
    pub errors: Vec<DeclaredError>,
    /// Bounded contexts, by name.
    #[serde(default)]
    pub contexts: BTreeMap<Name, Context>,
    /// Rules, by name. A rule is asked only where a step names it.
    #[serde(default)]
    pub rules: BTreeMap<Name, Rule>,
    /// The rules of each step, in the order in which they are asked.
    #[serde(default)]
    pub steps: BTreeMap<Name, Vec<Binding>>,
    /// Participants that exist from the beginning.
    #[serde(default)]
    pub participants: Vec<Participant>,
}

fn default_hub() -> FspId {
    "Hub".parse().expect("`Hub` is three letters, so an id")
}

/// How callers prove who they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Authentication {
    /// How participants do it.
    pub fsps: FspAuthentication,
}

impl Authentication {
    /// Whether clients of the scheme's own listeners need a certificate.
    #[must_use]
    pub const fn needs_certificate(&self) -> bool {
        self.fsps.needs_certificate()
    }

    /// Whether clients of the scheme's own listeners need an access token.
    #[must_use]
    pub const fn needs_token(&self) -> bool {
        self.fsps.needs_token()
    }

    /// What clients must prove by this and not by the other one, in words; none if there is nothing.
    #[must_use]
    pub const fn proves_beyond(&self, other: &Self) -> Option<&'static str> {
        let certificate = self.needs_certificate() && !other.needs_certificate();
        let token = self.needs_token() && !other.needs_token();
        match (certificate, token) {
            (true, true) => Some("by certificates and access tokens"),
            (true, false) => Some("by certificates"),
            (false, true) => Some("by access tokens"),
            (false, false) => None,
        }
    }

    /// What makes the scheme a sandbox, in capitals and in words; none if nothing does.
    #[must_use]
    pub const fn sandbox(&self) -> Option<&'static str> {
        match self.fsps {
            FspAuthentication::None => Some(
                "THIS IS A SANDBOX: FSPs are not authenticated, anybody who reaches the listener can move money (`authentication.fsps = \"none\"`)",
            ),
            FspAuthentication::MutualTls
            | FspAuthentication::Bearer
            | FspAuthentication::MutualTlsBearer => None,
        }
    }
}

/// How participants prove who they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FspAuthentication {
    /// They do not: the host believes FSPIOP-Source. For sandboxes only; the host logs a warning.
    #[default]
    None,
    /// By a client certificate, on each connection. Its one common name is the participant's id, which must be FSPIOP-Source. Who shows none is answered 401.
    MutualTls,
    /// By an access token in each request (`Authorization: Bearer …`), which a context of the scheme issues. Its subject is the participant's id, which must be FSPIOP-Source. Who sends none is answered 401. The listener needs TLS.
    Bearer,
    /// By both. The token is bound to the certificate, and both have the same name: a stolen token is of no use.
    #[serde(rename = "mutual-tls+bearer")]
    MutualTlsBearer,
}

impl FspAuthentication {
    /// Whether participants need a client certificate.
    #[must_use]
    pub const fn needs_certificate(self) -> bool {
        matches!(self, Self::MutualTls | Self::MutualTlsBearer)
    }

    /// Whether participants need an access token.
    #[must_use]
    pub const fn needs_token(self) -> bool {
        matches!(self, Self::Bearer | Self::MutualTlsBearer)
    }

    /// The setting's text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::MutualTls => "mutual-tls",
            Self::Bearer => "bearer",
            Self::MutualTlsBearer => "mutual-tls+bearer",
        }
    }
}

/// A currency of the scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Currency {
    /// The ISO 4217 code.
    pub code: CurrencyCode,
    /// Decimal places of its amounts; FSPIOP carries at most 4.
    #[schemars(range(min = 0, max = 4))]
    pub scale: u8,
}

/// An error code of the scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DeclaredError {
    /// Four digits.
    pub code: ErrorCode,
    /// What it means, for people; 1 to 128 characters.
    #[schemars(length(min = 1, max = 128))]
    pub description: String,
}

/// A rule at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Binding {
    /// The rule, by its name in `rules`.
    pub rule: Name,
    /// The rule's settings at this step. The rule's own schema says which there are.
    #[serde(default)]
    pub settings: Map<String, Json>,
    /// Single settings that have another value from an instant on, or until one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub changes: Vec<SettingChange>,
    /// The effect of the rule's failure: a word for all kinds of failure, or a table with a word for each kind.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// When a rule that fails again and again is not asked for a while. Without it, it is always asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Quarantine>,
    /// The error code of a refusal by the rule's failure.
    #[serde(default = "default_failure_code")]
    pub failure_code: ErrorCode,
    /// The instant from which on the rule is asked. Without it, as soon as the release is current.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_from: Option<Instant>,
    /// The instant from which on the rule is not asked any more. Without it, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_until: Option<Instant>,
    /// A candidate that judges the same requests when they are committed. It changes nothing: differences are reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<Shadow>,
    /// A candidate that decides about some requests in the rule's place, until it goes too far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<Canary>,
}

/// A candidate that decides about some requests in the place of a rule at a step. The rule judges them too, when they are
/// committed, and the verdicts are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Canary {
    /// The candidate, by its name in `rules`.
    pub rule: Name,
    /// The candidate's settings. Without them, those of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Map<String, Json>>,
    /// The requests that it decides about.
    pub to: CanaryTo,
    /// When the rule in force decides about all requests again, for good.
    #[serde(default)]
    pub hold_back: HoldBack,
}

/// The requests that a canary decides about: those that all of these choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CanaryTo {
    /// Only those in which one of these pays or is paid. Without it, all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub participants: Vec<FspId>,
    /// Only those with an amount in one of these currencies. Without it, all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub currencies: Vec<CurrencyCode>,
    /// This share of the others, chosen by a keyed hash of the transaction's id: a quote and its transfer have the same, and no sender can choose.
    pub hash: Share,
}

impl CanaryTo {
    /// Whom a request must name, one of them; empty for anybody.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.participants.iter().map(ToString::to_string).collect()
    }

    /// What a request must be about, one of them; empty for anything.
    #[must_use]
    pub fn units(&self) -> Vec<String> {
        self.currencies.iter().map(ToString::to_string).collect()
    }
}

/// When a canary is held back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HoldBack {
    /// At this number of failures. The rule in force decides about a request with which the candidate fails.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub failures: u32,
    /// When more than this share of its verdicts differ from those of the rule in force. Without it, they may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict_drift: Option<Share>,
    /// When its fuel (99th percentile) is more than that of the rule in force by more than this share. Without it, it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel_p99: Option<Share>,
    /// The verdicts before drift and fuel are looked at.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub after: u32,
}

impl Default for HoldBack {
    fn default() -> Self {
        Self {
            failures: 1,
            verdict_drift: None,
            fuel_p99: None,
            after: 100,
        }
    }
}

/// A candidate in the shadow of a rule at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shadow {
    /// The candidate, by its name in `rules`.
    pub rule: Name,
    /// The candidate's settings. Without them, those of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Map<String, Json>>,
    /// The share of requests that it judges, chosen by what they are about.
    #[serde(default = "all_requests")]
    pub share: Share,
    /// The most processor time, as a share of one processor. Beyond it, requests are left out and counted.
    #[serde(default = "a_tenth")]
    pub cpu: Share,
}

fn all_requests() -> Share {
    Share::from_percent(100)
}

fn a_tenth() -> Share {
    Share::from_percent(10)
}

impl Binding {
    /// Whether the rule is asked at an instant, in milliseconds since 1970.
    #[must_use]
    pub fn is_effective(&self, at: u64) -> bool {
        self.effective_from.is_none_or(|from| from.millis() <= at)
            && self.effective_until.is_none_or(|until| at < until.millis())
    }

    /// Whether there is an instant at which both rules are asked.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let ends_before = |one: &Self, other: &Self| {
            one.effective_until
                .zip(other.effective_from)
                .is_some_and(|(until, from)| until <= from)
        };
        !ends_before(self, other) && !ends_before(other, self)
    }

    /// The settings as a JSON object.
    #[must_use]
    pub fn settings_json(&self) -> String {
        json(&self.settings)
    }

    /// The settings of its candidate as a JSON object, if it has one.
    #[must_use]
    pub fn shadow_settings_json(&self) -> Option<String> {
        let shadow = self.shadow.as_ref()?;
        Some(json(shadow.settings.as_ref().unwrap_or(&self.settings)))
    }
}

impl Binding {
    /// The settings of its canary as a JSON object, if it has one.
    #[must_use]
    pub fn canary_settings_json(&self) -> Option<String> {
        let canary = self.canary.as_ref()?;
        Some(json(canary.settings.as_ref().unwrap_or(&self.settings)))
    }
}

fn default_failure_code() -> ErrorCode {
    "2001"
        .parse()
        .expect("`2001` has four digits, the first not zero")
}

/// A participant that exists from the beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Participant {
    /// The participant's id, 1 to 32 characters.
    pub id: FspId,
    /// Its name, for people; 1 to 128 characters.
    #[schemars(length(min = 1, max = 128))]
    pub name: String,
    /// The URL of its callbacks. FSPIOP's paths are appended.
    pub callback_base_url: BaseUrl,
    /// The public keys for its signatures (RSA of at least 2048 bits, or P-256), each as PEM. A participant with a key must sign. For sandboxes; otherwise put keys into the folder that `rialto.toml` names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jws_public_keys: Vec<PublicKeyPem>,
    /// Its accounts, one for each currency that it uses.
    #[serde(default)]
    pub accounts: Vec<Account>,
}

/// A participant's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Account {
    /// The account's currency.
    pub currency: CurrencyCode,
    /// The liquidity at the beginning, as decimal text.
    pub opening_liquidity: Amount,
    /// The highest net debit position, as decimal text. Without it, only liquidity limits payments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net_debit_cap: Option<Amount>,
    /// The threshold for liquidity warnings, as decimal text. One warning is published when the available amount falls below it, and the next only after it was above again. Without it there are no warnings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liquidity_threshold: Option<Amount>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_change_takes_away_is_named() {
        use FspAuthentication::{Bearer, MutualTls, MutualTlsBearer, None as Nothing};
        let beyond = |before: FspAuthentication, after: FspAuthentication| {
            let of = |fsps| Authentication { fsps };
            of(before).proves_beyond(&of(after))
        };
        let both = Some("by certificates and access tokens");
        assert_eq!(beyond(MutualTlsBearer, Nothing), both);
        for (before, after) in [
            (MutualTls, Nothing),
            (MutualTls, Bearer),
            (MutualTlsBearer, Bearer),
        ] {
            assert_eq!(beyond(before, after), Some("by certificates"));
        }
        for (before, after) in [
            (Bearer, Nothing),
            (Bearer, MutualTls),
            (MutualTlsBearer, MutualTls),
        ] {
            assert_eq!(beyond(before, after), Some("by access tokens"));
        }
        for (before, after) in [
            (Nothing, Bearer),
            (MutualTls, MutualTlsBearer),
            (Bearer, MutualTlsBearer),
            (Bearer, Bearer),
        ] {
            assert_eq!(beyond(before, after), None);
        }
    }
}
