//! The component's settings: for which relying party authenticators are registered.

use rialto_sdk::settings::Problems;
use rialto_webauthn::RelyingParty;
use rialto_webauthn::relying_party::is_domain;
use serde::Deserialize;

/// The shortest and the longest life of a challenge, in seconds.
const CHALLENGE_SECONDS: std::ops::RangeInclusive<u64> = 30..=900;
/// Origins of a relying party, at most.
const ORIGINS_MAX: usize = 16;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// FIDO2; without it nothing can be registered.
    pub fido: Option<Fido>,
}

/// The relying party of FIDO2 authenticators.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Fido {
    /// The relying party's id: a domain, such as `bank.example`. Authenticators sign for it alone.
    pub relying_party: String,
    /// Its name, which browsers show.
    pub name: String,
    /// The origins of the pages that may use it, such as `https://pay.bank.example`.
    pub origins: Vec<String>,
    /// For how many seconds a challenge is valid.
    #[serde(default = "five_minutes")]
    pub challenge_seconds: u64,
}

const fn five_minutes() -> u64 {
    300
}

impl Settings {
    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        if let Some(fido) = &self.fido {
            fido.judge(problems);
        }
    }
}

impl Fido {
    fn judge(&self, problems: &mut Problems) {
        if !is_domain(&self.relying_party) {
            let message = "it must be a domain in lower case, such as bank.example, or localhost";
            problems.note("/fido/relyingParty", message);
        }
        if !(1..=64).contains(&self.name.chars().count()) || self.name.chars().any(char::is_control)
        {
            problems.note("/fido/name", "it must have 1 to 64 characters");
        }
        if !(1..=ORIGINS_MAX).contains(&self.origins.len()) {
            let message = format!("it must have 1 to {ORIGINS_MAX} origins");
            problems.note("/fido/origins", message);
        }
        let party = self.party();
        for (index, origin) in self.origins.iter().enumerate() {
            if let Err(message) = party.takes(origin) {
                problems.note(&format!("/fido/origins/{index}"), message);
            }
        }
        if !CHALLENGE_SECONDS.contains(&self.challenge_seconds) {
            let (least, most) = (CHALLENGE_SECONDS.start(), CHALLENGE_SECONDS.end());
            let message = format!(
                "it is {}; it must be {least} to {most}",
                self.challenge_seconds
            );
            problems.note("/fido/challengeSeconds", message);
        }
    }

    /// The relying party, for the steps of Web Authentication.
    #[must_use]
    pub fn party(&self) -> RelyingParty {
        RelyingParty {
            id: self.relying_party.clone(),
            name: self.name.clone(),
            origins: self.origins.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::settings::judge;
    use serde_json::json;

    fn places(party: &str, origins: &[&str]) -> Vec<String> {
        let settings =
            json!({ "fido": { "relyingParty": party, "name": "Bank", "origins": origins } });
        let judged = judge(&settings.to_string(), Settings::judge);
        let problems = judged.err().unwrap_or_default();
        problems
            .into_iter()
            .map(|problem| problem.pointer)
            .collect()
    }

    #[test]
    fn origins_must_be_within_the_relying_party() {
        assert_eq!(judge("{}", Settings::judge), Ok(()));
        let none: [String; 0] = [];
        let good = ["https://bank.example", "https://pay.bank.example:8443"];
        assert_eq!(places("bank.example", &good), none);
        assert_eq!(places("localhost", &["http://localhost:8080"]), none);
        for bad in [
            "http://bank.example",
            "https://bank.example:443",
            "https://bank.example:0",
            "https://bank.example/",
            "https://Bank.example",
            "https://evilbank.example",
            "https://bank.example.evil",
            "https://example",
            "bank.example",
            "",
        ] {
            assert_eq!(places("bank.example", &[bad]), ["/fido/origins/0"], "{bad}");
        }
    }

    #[test]
    fn every_problem_of_the_settings_is_named() {
        for party in ["example", "127.0.0.1", "bank..example", "Bank.example", ""] {
            let found = places(party, &[]);
            assert_eq!(found, ["/fido/relyingParty", "/fido/origins"], "{party}");
        }
        let settings = r#"{"fido":{"relyingParty":"localhost","name":"","origins":["http://localhost"],"challengeSeconds":29}}"#;
        let problems = judge(settings, Settings::judge).unwrap_err();
        let places: Vec<&str> = problems.iter().map(|p| p.pointer.as_str()).collect();
        assert_eq!(places, ["/fido/name", "/fido/challengeSeconds"]);
        let missing = judge(r#"{"fido":{"name":"a"}}"#, Settings::judge).unwrap_err();
        assert_eq!(missing[0].pointer, "/fido");
        assert!(missing[0].message.contains("relyingParty"), "{missing:?}");
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        rialto_json_schema::settings::describes_members::<Fido>(&schema, "/properties/fido");
    }
}
