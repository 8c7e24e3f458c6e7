//! The settings of an FSP.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::login::Application;
use crate::behaviour::Behaviour;
use crate::ids::{FspId, PartyId};
use crate::ilp::Layout;
use crate::limits;
use crate::message::Version;
use crate::tls::FspTls;

/// The settings of one simulated FSP. From JSON, every member but `id` has a default.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FspSettings {
    /// The FSP's id.
    pub id: FspId,
    /// Where it listens. The default is any free port of this machine.
    #[serde(default = "any_port")]
    pub listen: SocketAddr,
    /// The switch's address. May be given later, with [`super::Fsp::set_hub`].
    #[serde(default)]
    pub hub: Option<String>,
    /// The parties that it serves. The first one is the payer where none is named.
    #[serde(default)]
    pub parties: Vec<PartyId>,
    /// How it behaves.
    #[serde(default)]
    pub behaviour: Behaviour,
    /// The FSPIOP version that it speaks.
    #[serde(default)]
    pub version: Version,
    /// How it lays out ILP packets.
    #[serde(default)]
    pub ilp_layout: Layout,
    /// Octets that it adds to the transaction in its ILP packets, to make payments larger.
    #[serde(default)]
    pub packet_padding: usize,
    /// The secret of its fulfilments: base64url of 32 octets. The default follows from the id.
    #[serde(default)]
    pub secret: Option<String>,
    /// The private key with which it signs what has a body, and DELETE: PKCS #8 as PEM. The default is not to sign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_key: Option<String>,
    /// Whose signatures it checks, with their public keys as PEM. What is wrong is a complaint of its
    /// recorder.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub verify_keys: BTreeMap<String, String>,
    /// Its TLS, as server and as client of the switch. The default is plaintext.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<FspTls>,
    /// Its application, with which it asks the switch for access tokens. The default is to send none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// The fee that it takes as payee, as an FSPIOP amount in the payment's currency.
    #[serde(default)]
    pub payee_fee: Option<String>,
    /// Ids from a seed, for runs that must repeat. The default is ids that never do.
    #[serde(default)]
    pub id_seed: Option<u64>,
    /// How long a step waits for its callback, in milliseconds.
    #[serde(default = "callback_timeout_ms")]
    pub callback_timeout_ms: u64,
    /// How long an HTTP answer may take, in milliseconds.
    #[serde(default = "http_timeout_ms")]
    pub http_timeout_ms: u64,
    /// How long quotes and transfers stay valid, in milliseconds.
    #[serde(default = "expires_in_ms")]
    pub expires_in_ms: u64,
    /// How often a callback is tried, while the switch is unreachable or answers 5xx.
    #[serde(default = "callback_attempts")]
    pub callback_attempts: u32,
    /// Asks with GET for a transfer that got no callback in time, before giving up, as the API
    /// definition expects.
    #[serde(default = "yes")]
    pub query_on_timeout: bool,
    /// Records every message. Switch it off for load.
    #[serde(default = "yes")]
    pub record: bool,
}

fn any_port() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn callback_timeout_ms() -> u64 {
    whole_ms(limits::CALLBACK_TIMEOUT)
}

fn http_timeout_ms() -> u64 {
    whole_ms(limits::HTTP_TIMEOUT)
}

fn expires_in_ms() -> u64 {
    whole_ms(limits::EXPIRES_IN)
}

fn callback_attempts() -> u32 {
    limits::CALLBACK_ATTEMPTS
}

fn yes() -> bool {
    true
}

impl FspSettings {
    /// The settings of a model FSP that serves these parties.
    pub fn new(id: FspId, parties: Vec<PartyId>) -> Self {
        Self {
            id,
            listen: any_port(),
            hub: None,
            parties,
            behaviour: Behaviour::default(),
            version: Version::default(),
            ilp_layout: Layout::default(),
            packet_padding: 0,
            secret: None,
            signing_key: None,
            verify_keys: BTreeMap::new(),
            tls: None,
            application: None,
            payee_fee: None,
            id_seed: None,
            callback_timeout_ms: callback_timeout_ms(),
            http_timeout_ms: http_timeout_ms(),
            expires_in_ms: expires_in_ms(),
            callback_attempts: callback_attempts(),
            query_on_timeout: true,
            record: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_from_json_default_to_a_model_fsp() {
        let json = r#"{"id":"payeefsp","parties":["MSISDN/27713803912"]}"#;
        let read: FspSettings = serde_json::from_str(json).expect("settings");
        let made = FspSettings::new(read.id.clone(), read.parties.clone());
        let text = |settings| serde_json::to_string(settings).expect("JSON");
        assert_eq!(text(&read), text(&made));
        assert!(serde_json::from_str::<FspSettings>(r#"{"id":"a","partys":[]}"#).is_err());
    }
}
