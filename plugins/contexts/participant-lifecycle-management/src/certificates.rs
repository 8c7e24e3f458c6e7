//! Certificates that were issued to participants, and their revocation. The host asks which are revoked, and judges each
//! request.

use crate::bindings::rialto::participant_lifecycle_management::approval_notification::{
    Audience, Event as Notice,
};
use crate::history::{self, By, Note};
use crate::participants::PARTICIPANTS;
use crate::submit::unknown;
use crate::world::{Event, World};
use rialto_sdk::documents::{Collection, Range, Store};
use rialto_sdk::operators::{Answer, Caller, Kind, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The kind of a revocation in a participant's history and in notices.
const KIND: &str = "certificate-revocation";
/// The state of a revocation there.
const REVOKED_STATE: &str = "REVOKED";
/// Certificates that are read at a time.
const READ_AT_ONCE: u32 = 100;

/// Certificates by participant and time.
pub const CERTIFICATES: Collection<Certificate> = Collection::new("certificates");

/// A document of the collection `certificates`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Certificate {
    /// Its serial number in hexadecimal digits.
    pub serial: String,
    /// PEM.
    pub certificate: String,
    /// When it expires; UTC, milliseconds since 1970.
    pub not_after: u64,
    /// The kind of its key.
    pub key: String,
    /// The SHA-256 of its SubjectPublicKeyInfo.
    pub fingerprint: String,
    /// When it was issued; UTC, milliseconds since 1970.
    pub issued_at: u64,
    /// The request for it.
    pub request: String,
    /// Its revocation; none if it is not revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocation: Option<Revocation>,
}

/// How a certificate was revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Revocation {
    /// The operator who has revoked it.
    pub by: String,
    /// When; UTC, milliseconds since 1970.
    pub at: u64,
    /// Why, in the operator's words.
    pub reason: String,
}

/// The revoked certificates of a participant, by participant. Those that had expired at the last revocation are left out.
pub const REVOKED: Collection<Revoked> =
    Collection::new("revoked-certificates").with_elements_named_by(&["serial"]);

/// A document of the collection `revoked-certificates`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Revoked {
    /// The certificates.
    pub certificates: Vec<RevokedCertificate>,
}

/// A revoked certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokedCertificate {
    /// Its serial number in hexadecimal digits.
    pub serial: String,
    /// When it expires; UTC, milliseconds since 1970.
    pub not_after: u64,
}

/// The body of a revocation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevocationOrder {
    /// Why.
    pub reason: String,
}

/// Revoke a participant's certificate. One operator is enough, and there is no way back. The caller has checked the role.
///
/// # Errors
/// When the participant has no such certificate, or it is revoked already; then nothing was written.
pub fn revoke(
    world: &mut dyn World,
    caller: &Caller,
    (name, serial): (&str, &str),
    order: RevocationOrder,
) -> Result<Answer, Problem> {
    let participant = PARTICIPANTS.within(world).get_for_update(name);
    let mut participant = participant.ok_or_else(|| unknown(name))?;
    let found = find(world, name, serial).ok_or_else(|| {
        let detail = format!("{name} has no certificate with the serial number {serial}");
        Problem::new(Kind::CertificateUnknown, detail)
    })?;
    let mut certificate = CERTIFICATES
        .within(world)
        .get_for_update(&found)
        .filter(|certificate| certificate.revocation.is_none())
        .ok_or_else(|| {
            let detail = format!("the certificate {serial} is revoked already");
            Problem::new(Kind::NothingChanges, detail)
        })?;
    let at = world.now();
    let RevocationOrder { reason } = order;
    let revocation = Revocation {
        by: caller.name.clone(),
        at,
        reason: reason.clone(),
    };
    certificate.revocation = Some(revocation.clone());
    CERTIFICATES.within(world).put(&found, &certificate);
    remember(world, name, &certificate, at);
    let note = Note {
        kind: KIND.to_owned(),
        state: REVOKED_STATE.to_owned(),
        by: By {
            maker: Some(caller.name.clone()),
            checker: None,
            release: None,
        },
        request: Some(certificate.request.clone()),
        asked: Some(json!({ "payload": { "serial": serial }, "reason": reason })),
        before: Value::Null,
        after: json!(revocation),
    };
    history::append(world, &mut participant, note, at);
    participant.version += 1;
    participant.updated_at = at;
    PARTICIPANTS.within(world).put(name, &participant);
    world.subject("participant", name);
    let by = &caller.name;
    world.publish(Event::Notice(Notice {
        audience: Audience::Checkers,
        request_id: certificate.request.clone(),
        kind: KIND.to_owned(),
        participant: name.to_owned(),
        state: REVOKED_STATE.to_owned(),
        message: format!("{by} has revoked the certificate {serial}: {reason}"),
        at,
    }));
    Ok(Answer::json(200, &certificate))
}

/// The id of the participant's certificate with this serial number.
fn find(store: &mut (impl Store + ?Sized), name: &str, serial: &str) -> Option<String> {
    let range = Range::Prefix(format!("{name}/"));
    let mut cursor: Option<String> = None;
    loop {
        let page = CERTIFICATES
            .within(store)
            .scan(&range, cursor.as_deref(), READ_AT_ONCE);
        let mut read = page.documents.into_iter();
        if let Some((id, _)) = read.find(|(_, certificate)| certificate.serial == serial) {
            return Some(id);
        }
        cursor = Some(page.cursor?);
    }
}

/// Put a certificate among the revoked ones of its participant, and leave out those that have expired.
fn remember(store: &mut (impl Store + ?Sized), name: &str, certificate: &Certificate, now: u64) {
    let mut revoked = REVOKED
        .within(store)
        .get_for_update(name)
        .unwrap_or_default();
    revoked.certificates.retain(|one| one.not_after >= now);
    revoked.certificates.push(RevokedCertificate {
        serial: certificate.serial.clone(),
        not_after: certificate.not_after,
    });
    REVOKED.within(store).put(name, &revoked);
}

/// The id of a certificate.
#[must_use]
pub fn id(participant: &str, certificate: &Certificate) -> String {
    let Certificate {
        issued_at, serial, ..
    } = certificate;
    format!("{participant}/{issued_at:013}/{serial}")
}
