//! A participant's endpoints. A new endpoint is tried before it is used: `health.rs`.

use super::{Change, is_in, nothing_changes};
use crate::bindings::rialto::participant_lifecycle_management::participant_endpoints_updated;
use crate::participants::{self, Participant};
use crate::world::{Event, World};
use rialto_sdk::operators::{Kind, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The only type.
const FSPIOP: &str = "FSPIOP";
/// The longest base URL, in characters.
const URL_CHARACTERS_MAX: usize = 512;

/// An endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Which API.
    pub r#type: String,
    /// Its base URL.
    pub value: String,
}

/// The requested endpoints: the complete list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointsUpdate {
    /// The endpoints.
    pub endpoints: Vec<Endpoint>,
}

/// The base URL of the FSPIOP endpoint, without a slash at its end.
#[must_use]
pub fn fspiop(endpoints: &[Endpoint]) -> String {
    let found = endpoints.iter().find(|endpoint| endpoint.r#type == FSPIOP);
    let value = found.map_or("", |endpoint| endpoint.value.as_str());
    value.trim_end_matches('/').to_owned()
}

/// A participant's endpoints.
#[must_use]
pub fn of(participant: &Participant) -> Vec<Endpoint> {
    if participant.callback_base_url.is_empty() {
        return Vec::new();
    }
    vec![Endpoint {
        r#type: FSPIOP.to_owned(),
        value: participant.callback_base_url.clone(),
    }]
}

/// Checks endpoints: one of each type, each with a base URL.
///
/// # Errors
/// The first bad one.
pub fn judge(endpoints: &[Endpoint]) -> Result<(), Problem> {
    for (place, endpoint) in endpoints.iter().enumerate() {
        let Endpoint { r#type, value } = endpoint;
        let invalid = |what: &str| {
            let detail = format!("the endpoint `{value}` {what}");
            Err(Problem::new(Kind::EndpointInvalid, detail))
        };
        if let Some(what) = wrong(value) {
            return invalid(what);
        }
        let before = &endpoints[..place];
        if before.iter().any(|other| other.r#type == *r#type) {
            return invalid("has the same type as another endpoint");
        }
    }
    Ok(())
}

/// The problem of a base URL, if any.
fn wrong(url: &str) -> Option<&'static str> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    let Some(rest) = rest else {
        return Some("does not begin with `https://` or `http://`");
    };
    if url.len() > URL_CHARACTERS_MAX {
        return Some("is longer than 512 characters");
    }
    if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some("has a character that is not allowed in a URL");
    }
    if rest.contains(['?', '#', '@', '\\']) {
        return Some("must not have a user, a query or a fragment");
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_address = host.starts_with('[')
        && host.ends_with(']')
        && host[1..host.len() - 1]
            .parse::<std::net::Ipv6Addr>()
            .is_ok();
    if host.is_empty() || !(host.bytes().all(is_name) || is_address) {
        return Some("has no valid host");
    }
    // Only digits: a parser would also take a sign.
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && port.parse::<u16>().is_ok_and(|port| port != 0)
    };
    if port.is_some_and(|port| !is_port(port)) {
        return Some("has no valid port");
    }
    let parts = path.trim_end_matches('/');
    if !parts.is_empty() && parts.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Some("has empty, `.` or `..` parts in its path");
    }
    None
}

impl Change for EndpointsUpdate {
    fn based_on(&self, participant: &Participant) -> Value {
        json!(of(participant))
    }

    fn judge(&self, _: &mut dyn World, participant: &Participant) -> Result<(), Problem> {
        is_in(participant)?;
        judge(&self.endpoints)?;
        if fspiop(&self.endpoints) == participant.callback_base_url {
            return Err(nothing_changes());
        }
        Ok(())
    }

    fn make(
        &self,
        world: &mut dyn World,
        participant: &mut Participant,
        _: &str,
    ) -> Result<Vec<Event>, Problem> {
        participant.callback_base_url = fspiop(&self.endpoints);
        Ok(vec![Event::EndpointsUpdated(
            participant_endpoints_updated::Event {
                participant: participant.participant.clone(),
                endpoints: participants::endpoints(participant.callback_base_url.clone()),
                updated_at: world.now(),
            },
        )])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_told_from_what_is_none() {
        for good in [
            "http://127.0.0.1:4101",
            "https://fsp.example/fspiop/",
            "http://[::1]:80/a",
            "https://a-b_c.example",
        ] {
            assert_eq!(wrong(good), None, "{good}");
        }
        for bad in [
            "",
            "ftp://a",
            "http://",
            "http://:80",
            "http://a:0",
            "http://a:x",
            "http://a:65536",
            "http://a:+80",
            "http://a:",
            "http://[::1]:+80",
            "http://a/?q",
            "http://a#f",
            "http://u@a",
            "http://a b",
            "http://a/../b",
            "http://a//b",
            "http://[::g]",
            "http://ä",
        ] {
            assert!(wrong(bad).is_some(), "{bad}");
        }
        assert!(wrong(&format!("http://{}", "a".repeat(600))).is_some());
    }
}
