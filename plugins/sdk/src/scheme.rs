//! The scheme's facts and the component's own settings, parsed once per instance.

use crate::bindings::rialto::host::configuration;
use serde::{Deserialize, de::DeserializeOwned};
use std::any::{Any, type_name};
use std::sync::OnceLock;

/// The facts of the scheme's manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scheme {
    /// The scheme's name.
    pub name: String,
    /// The participant id of the hub: FSPIOP-Source of the messages that the scheme originates.
    pub hub: String,
    /// The currencies that may be used.
    #[serde(default)]
    pub currencies: Vec<Currency>,
    /// The error codes that the scheme declares.
    #[serde(default)]
    pub errors: Vec<DeclaredError>,
    /// What participants must prove: `none`, `mutual-tls`, `bearer` or `mutual-tls+bearer`.
    #[serde(default = "nothing")]
    pub authentication: String,
}

/// What participants must prove by a host that does not say.
const NOTHING: &str = "none";

fn nothing() -> String {
    NOTHING.to_owned()
}

/// A currency of the scheme.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Currency {
    /// ISO 4217.
    pub code: String,
    /// Decimal places.
    pub scale: u8,
}

/// A participant of the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Participant {
    /// 1 to 32 characters.
    pub id: String,
    /// For people.
    pub name: String,
    /// Where the participant takes callbacks.
    pub callback_base_url: String,
    /// One for each currency that the participant uses.
    #[serde(default)]
    pub accounts: Vec<Account>,
}

/// An account of a participant of the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// ISO 4217.
    pub currency: String,
    /// Decimal text; see [`crate::money::parse_configured_amount`].
    pub opening_liquidity: String,
    /// Decimal text; none if only the liquidity bounds it.
    #[serde(default)]
    pub net_debit_cap: Option<String>,
    /// Decimal text; none for no warnings.
    #[serde(default)]
    pub liquidity_threshold: Option<String>,
}

/// An error code that the scheme declares.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredError {
    /// Four digits.
    pub code: String,
    /// For people.
    pub description: String,
}

impl Scheme {
    /// Whether participants prove who they are, so that something can depend on it.
    #[must_use]
    pub fn proves_senders(&self) -> bool {
        self.authentication != NOTHING
    }

    /// The currency's decimal places, or none when the scheme does not use it.
    #[must_use]
    pub fn scale_of(&self, currency: &str) -> Option<u8> {
        self.currencies
            .iter()
            .find(|known| known.code == currency)
            .map(|known| known.scale)
    }
}

/// Participants of the manifest, in its order, from the one at `first` (counted from 0): at most `limit`
/// (1,000). They are not among the scheme's facts, since there may be ten thousand.
///
/// # Panics
/// If the host's answer has another form.
#[must_use]
pub fn participants(first: u32, limit: u32) -> Vec<Participant> {
    let list = configuration::scheme_list("participants", first, limit);
    serde_json::from_str(&list)
        .unwrap_or_else(|error| panic!("the scheme's participants cannot be read: {error}"))
}

static SCHEME: OnceLock<Scheme> = OnceLock::new();
static SETTINGS: OnceLock<Box<dyn Any + Send + Sync>> = OnceLock::new();

/// The scheme's facts.
///
/// # Panics
/// If the host's answer is not a scheme.
pub fn scheme() -> &'static Scheme {
    SCHEME.get_or_init(|| {
        serde_json::from_str(&configuration::scheme())
            .unwrap_or_else(|error| panic!("the scheme's facts cannot be read: {error}"))
    })
}

/// The component's own settings. A component has one settings type: give it
/// `#[serde(default, deny_unknown_fields)]`.
///
/// # Panics
/// If the manifest's settings do not fit the type, or another type was requested before.
pub fn settings<T: DeserializeOwned + Send + Sync + 'static>() -> &'static T {
    let settings = SETTINGS.get_or_init(|| {
        let settings: T = serde_json::from_str(&configuration::settings())
            .unwrap_or_else(|error| panic!("the settings in the manifest cannot be used: {error}"));
        Box::new(settings)
    });
    settings
        .downcast_ref()
        .unwrap_or_else(|| panic!("the settings are of another type than {}", type_name::<T>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_facts_are_understood() {
        let scheme: Scheme = serde_json::from_str(
            r#"{"name":"demo","hub":"Hub","currencies":[{"code":"USD","scale":2}],
                "errors":[{"code":"3100","description":"Generic validation error"}]}"#,
        )
        .unwrap();
        assert_eq!(scheme.scale_of("USD"), Some(2));
        assert_eq!(scheme.scale_of("EUR"), None);
        let participants: Vec<Participant> = serde_json::from_str(
            r#"[{"id":"payerfsp","name":"Payer","callbackBaseUrl":"http://127.0.0.1:4101",
                 "accounts":[{"currency":"USD","openingLiquidity":"1000.00","netDebitCap":null}]}]"#,
        )
        .unwrap();
        assert_eq!(participants[0].accounts[0].net_debit_cap, None);
    }
}
