//! The component's settings.

use rialto_sdk::settings::Problems;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// How long the hub tries to deliver an answer to a participant, in milliseconds from when it leaves; the
    /// hub's own time does not count. A request for a transfer is tried until the transfer expires.
    pub delivery_deadline_ms: u64,
    /// How long the hub tries to deliver a party query or a request for a quote, in milliseconds. After that
    /// its sender is told that the other FSP cannot be reached.
    pub request_deadline_ms: u64,
    /// How far ahead of the hub's clock a payee FSP's `completedTimestamp` may be, in milliseconds.
    pub completed_timestamp_ahead_ms: u64,
    /// How old a payee FSP's `completedTimestamp` may be, in milliseconds.
    pub completed_timestamp_age_ms: u64,
    /// How far the `Date` of a signed message may be from the hub's clock, in milliseconds, before or after.
    pub signed_message_age_ms: u64,
    /// Who must sign.
    pub signatures: Signatures,
    /// Whether to accept an unsigned PUT /parties of an FSP that must sign. Deployed clients sign it only if
    /// configured.
    pub unsigned_put_parties: Unsigned,
    /// Whether to accept an unsigned DELETE of an FSP that must sign. Deployed clients do not sign it.
    pub unsigned_delete: Unsigned,
    /// How long the same signed PUT /parties is accepted again, in milliseconds after the first; 0 for never.
    /// `Date` has whole seconds, so two answers about one party within a second are the same signed message.
    pub repeated_put_parties_ms: u64,
    /// The forms of ids of quotes, transactions and transfers: at least one.
    pub id_formats: Vec<IdFormat>,
    /// Whether to accept a media type with `charset=utf-8`.
    pub charset_parameter: Deviation,
    /// Whether to accept a path with a slash at its end.
    pub trailing_slash: Deviation,
    /// What becomes of version 2.0 of each resource, in `Content-Type` and in `Accept`. Its bodies are those
    /// of 1.x with some optional members more, and go on as they are.
    pub resource_version2: Deviation,
    /// Whether participants may ask what the rules would say.
    pub what_if: WhatIf,
}

/// See [`Settings::what_if`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct WhatIf {
    /// Whether they may. It tells them the settings of all rules that are not confidential.
    pub participants: bool,
    /// The most drafts of one participant in a minute.
    pub per_minute: u32,
}

impl Default for WhatIf {
    fn default() -> Self {
        Self {
            participants: false,
            per_minute: 60,
        }
    }
}

/// A form of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdFormat {
    /// A UUID of version 1 to 5 in lower case: the API definition's.
    Uuid,
    /// A UUID of version 1 to 8 (RFC 9562) in lower case.
    UuidAny,
    /// A ULID in upper case.
    Ulid,
}

/// How to handle a deviation from the API definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deviation {
    /// It is refused.
    #[default]
    Refuse,
    /// It is accepted, and brought into the definition's form.
    Accept,
}

/// See [`Settings::signatures`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Signatures {
    /// For participants that are not named below.
    pub required: Required,
    /// For participants by their ids.
    pub participants: BTreeMap<String, Required>,
}

impl Signatures {
    /// The requirement for a participant.
    #[must_use]
    pub fn of(&self, participant: &str) -> Required {
        let named = self.participants.get(participant);
        named.copied().unwrap_or(self.required)
    }
}

/// Who must sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Required {
    /// All participants: one without a key is refused.
    All,
    /// Participants that have or had a key. One that had a key and has none is refused.
    #[default]
    WithKey,
    /// No participant. But a signature of a participant with a key must be valid.
    None,
}

/// See [`Settings::unsigned_put_parties`] and [`Settings::unsigned_delete`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unsigned {
    /// It is accepted: any client of the hub can send it in the FSP's name. A signature must still be valid.
    Accept,
    /// It is refused like any other.
    #[default]
    Refuse,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            delivery_deadline_ms: 30_000,
            request_deadline_ms: 5_000,
            // As deployed switches have it.
            completed_timestamp_ahead_ms: 200,
            completed_timestamp_age_ms: 300_000,
            signed_message_age_ms: 300_000,
            signatures: Signatures::default(),
            unsigned_put_parties: Unsigned::default(),
            unsigned_delete: Unsigned::default(),
            repeated_put_parties_ms: 5_000,
            id_formats: vec![IdFormat::Uuid],
            charset_parameter: Deviation::default(),
            trailing_slash: Deviation::default(),
            resource_version2: Deviation::default(),
            what_if: WhatIf::default(),
        }
    }
}

impl Settings {
    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        let times = [
            (
                "/deliveryDeadlineMs",
                self.delivery_deadline_ms,
                "no answer would be delivered",
            ),
            (
                "/requestDeadlineMs",
                self.request_deadline_ms,
                "no query for a party and no request for a quote would be delivered",
            ),
            (
                "/completedTimestampAgeMs",
                self.completed_timestamp_age_ms,
                "each `completedTimestamp` would be refused as too old",
            ),
            (
                "/signedMessageAgeMs",
                self.signed_message_age_ms,
                "each signed message would be refused as too old",
            ),
        ];
        for (pointer, time, why) in times {
            if time == 0 {
                problems.note(pointer, format!("it must be more than 0: otherwise {why}"));
            }
        }
        if self.what_if.per_minute == 0 {
            problems.note(
                "/whatIf/perMinute",
                "it must be more than 0: without `participants` nobody may ask".to_owned(),
            );
        }
        if self.id_formats.is_empty() {
            problems.note(
                "/idFormats",
                "it must not be empty: otherwise each id would be refused".to_owned(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::settings::{Problem, judge};

    fn judged(text: &str) -> Vec<String> {
        let problems = judge(text, Settings::judge).err().unwrap_or_default();
        let told = |problem: Problem| format!("{}: {}", problem.pointer, problem.message);
        problems.into_iter().map(told).collect()
    }

    #[test]
    fn participants_signature_setting_overrides_the_general_one() {
        let text = r#"{"required":"all","participants":{"a":"none","b":"with-key"}}"#;
        let signatures: Signatures = serde_json::from_str(text).unwrap();
        assert_eq!(signatures.of("a"), Required::None);
        assert_eq!(signatures.of("b"), Required::WithKey);
        assert_eq!(signatures.of("c"), Required::All);
        assert_eq!(Signatures::default().of("a"), Required::WithKey);
    }

    #[test]
    fn settings_are_judged_before_they_are_used() {
        assert_eq!(judged("{}"), [""; 0]);
        let good =
            r#"{"deliveryDeadlineMs":1,"requestDeadlineMs":1,"completedTimestampAheadMs":0}"#;
        assert_eq!(judged(good), [""; 0]);
        assert_eq!(
            judged(r#"{"signedMessageAgeMs":0,"unsignedPutParties":"accept"}"#),
            [
                "/signedMessageAgeMs: it must be more than 0: otherwise each signed message would be refused as too old"
            ]
        );
        assert_eq!(
            judged(r#"{"deliveryDeadlineMs":0,"requestDeadlineMs":0}"#),
            [
                "/deliveryDeadlineMs: it must be more than 0: otherwise no answer would be delivered",
                "/requestDeadlineMs: it must be more than 0: otherwise no query for a party and no request for a quote would be delivered",
            ]
        );
        let signatures = r#"{"signatures":{"required":"all","participants":{"a":"none"}}}"#;
        assert_eq!(judged(signatures), [""; 0]);
        let misspelt = judged(r#"{"signatures":{"required":"with-keys"}}"#);
        assert!(
            misspelt[0].contains("unknown variant `with-keys`, expected one of `all`, `with-key`"),
            "{misspelt:?}"
        );
        assert_eq!(
            judged(
                r#"{"idFormats":["uuid","uuid-any","ulid"],"trailingSlash":"accept","resourceVersion2":"accept"}"#
            ),
            [""; 0]
        );
        assert_eq!(
            judged(r#"{"idFormats":[]}"#),
            ["/idFormats: it must not be empty: otherwise each id would be refused"]
        );
        let misspelt = judged(r#"{"deliveryDedlineMs":1}"#);
        assert!(
            misspelt[0].contains("unknown field `deliveryDedlineMs`"),
            "{misspelt:?}"
        );
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        rialto_json_schema::settings::describes_members::<Signatures>(
            &schema,
            "/properties/signatures",
        );
        rialto_json_schema::settings::describes_members::<WhatIf>(&schema, "/properties/whatIf");
    }
}
