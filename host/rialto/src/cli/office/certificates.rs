//! The certificates of participants: `rialto participant certificates`, `order-certificate` and `revoke-certificate`, and
//! what an operator must know of a request before approving it.

use std::path::Path;

use anyhow::Context as _;
use rialto_certificates::Request;
use serde_json::{Value, json};

use super::{Asking, Looking, Segment, items, print, text};
use crate::out;
use crate::words;

/// The certificates of a participant, the oldest first.
pub(super) fn list(id: &Segment, looking: &Looking) -> anyhow::Result<u8> {
    let path = format!("/participants/{id}/certificates");
    let found = items(&looking.at.client()?, &path, &[])?;
    Ok(print(
        &found,
        looking.json,
        "there are no certificates",
        line,
    )?)
}

fn line(certificate: &Value) -> String {
    let until = words::instant(certificate["notAfter"].as_u64().unwrap_or_default());
    let revocation = &certificate["revocation"];
    let state = if revocation.is_null() {
        format!("until {until}")
    } else {
        let at = words::instant(revocation["at"].as_u64().unwrap_or_default());
        let (by, why) = (text(revocation, "by"), text(revocation, "reason"));
        format!("REVOKED {at} by {by}: {why}")
    };
    let (serial, key) = (text(certificate, "serial"), text(certificate, "key"));
    format!("{serial}  {key:<8}  {state}")
}

/// Ask for a certificate for the key of the request in this file. Another operator compares the key with the participant.
pub(super) fn order(id: &Segment, file: &Path, asking: &Asking) -> anyhow::Result<u8> {
    let reading = || format!("reading the certificate request {}", file.display());
    let request = std::fs::read_to_string(file).with_context(reading)?;
    let judged = Request::read(&request).with_context(reading)?;
    if !asking.json {
        out::note(format_args!("the request has {}", described(&judged)));
    }
    let path = format!("/participants/{id}/certificates");
    asking.ask(&path, json!({ "certificateRequest": request }))
}

/// Revoke a certificate.
pub(super) fn revoke(id: &Segment, serial: &Segment, asking: &Asking) -> anyhow::Result<u8> {
    let path = format!("/participants/{id}/certificates/{serial}/revocation");
    let body = json!({ "reason": asking.reason });
    let revoked: Value = asking.at.client()?.post(&path, &body)?;
    if asking.json {
        out::json(&revoked)?;
    } else {
        out::line(format_args!(
            "the certificate {serial} of {id} is revoked: within a second no request with it is accepted"
        ))?;
    }
    Ok(0)
}

/// Describes the request for a certificate that waits for approval, by what its key can be compared.
pub(super) fn asked(participant: &str, payload: &Value) -> String {
    let request = payload["certificateRequest"].as_str().unwrap_or_default();
    match Request::read(request) {
        Ok(request) => format!("certificate for {participant}, {}", described(&request)),
        Err(error) => format!("certificate for {participant}, which cannot be issued: {error}"),
    }
}

fn described(request: &Request) -> String {
    let (kind, fingerprint) = (request.kind(), request.fingerprint());
    format!("a {kind} key with the SHA-256 {fingerprint}")
}
