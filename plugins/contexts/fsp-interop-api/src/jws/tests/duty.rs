//! The duty to sign.

use super::*;
use crate::settings::{Required, Unsigned};

#[test]
fn sender_without_key_and_queries_are_not_verified() {
    assert_eq!(sent().with("fspiop-source", "otherfsp").bare(), "");
    let nonsense = sent().with("fspiop-source", "otherfsp");
    let nonsense = nonsense.with("fspiop-signature", "nonsense");
    let nonsense = nonsense.with("fspiop-http-method", "anything");
    assert_eq!(nonsense.with("fspiop-uri", "anywhere").bare(), "");
    let query = sent().on("GET", "/transfers/1").without_body();
    assert_eq!(query.clone().bare(), "");
    let query = query.requiring(Required::All);
    assert_eq!(query.with("fspiop-source", "otherfsp").bare(), "");
}

const MUST: &str = "header FSPIOP-Signature: payeefsp has a key, so it must sign";

#[test]
fn who_has_a_key_must_sign_whatever_changes_something() {
    assert_eq!(sent().bare(), MUST);
    let association = sent().on("POST", "/participants/MSISDN/1");
    assert_eq!(association.bare(), MUST);
    for path in ["/parties/MSISDN/1", "/parties/MSISDN/1/error"] {
        let mut parties = sent().on("PUT", path);
        let see = format!("{MUST}; see unsignedPutParties");
        assert_eq!(parties.clone().bare(), see);
        parties.settings.unsigned_delete = Unsigned::Accept;
        assert_eq!(parties.clone().bare(), see);
        parties.settings.unsigned_put_parties = Unsigned::Accept;
        assert_eq!(parties.clone().bare(), "");
        assert_eq!(
            parties.with("fspiop-signature", "{}").bare(),
            "header FSPIOP-Signature: missing field `signature` at line 1 column 2"
        );
    }
    // The setting is named whole, however long the sender's id is.
    let id = "a".repeat(32);
    let request = sent().on("PUT", "/parties/MSISDN/1");
    let words = must_sign(&request.request(), &id);
    let told = error("3105", &words).description;
    assert!(told.ends_with("; see unsignedPutParties"), "{told}");
}

#[test]
fn proven_sender_need_not_sign_what_clients_do_not_sign() {
    for (method, path) in [
        ("DELETE", "/participants/MSISDN/1"),
        ("PUT", "/parties/MSISDN/1"),
        ("PUT", "/parties/MSISDN/1/error"),
    ] {
        let message = sent().on(method, path).without_body();
        assert_ne!(message.clone().bare(), "", "{method} {path}");
        assert_eq!(message.proven().bare(), "", "{method} {path}");
        // What is signed must still be valid.
        let wrong = sent().on(method, path).proven();
        assert_ne!(wrong.with("fspiop-signature", "{}").bare(), "");
    }
    for (method, path) in [
        ("POST", "/participants/MSISDN/1"),
        ("POST", "/quotes"),
        ("PUT", "/transfers/1"),
    ] {
        assert_eq!(
            sent().on(method, path).proven().bare(),
            MUST,
            "{method} {path}"
        );
    }
}

#[test]
fn a_disassociation_is_signed_over_nothing_and_with_its_query() {
    let path = "/participants/MSISDN/1";
    let delete = || sent().of("DELETE", path).without_body();
    assert_eq!(delete().judged(), "");
    let see = format!("{MUST}; see unsignedDelete");
    let bare = sent().on("DELETE", path).without_body();
    assert_eq!(bare.clone().bare(), see);
    let mut taken = bare;
    taken.settings.unsigned_put_parties = Unsigned::Accept;
    assert_eq!(taken.clone().bare(), see);
    taken.settings.unsigned_delete = Unsigned::Accept;
    assert_eq!(taken.clone().bare(), "");
    assert_ne!(taken.with("fspiop-signature", "{}").bare(), "");
    // The query is part of what is signed.
    let of_request = "header FSPIOP-URI: the header, its protected copy and the request differ";
    assert_eq!(delete().asking("currency", "USD").judged(), of_request);
    let asks = "/participants/MSISDN/1?currency=USD";
    let asking = || sent().of("DELETE", asks).on("DELETE", path).without_body();
    assert_eq!(asking().asking("currency", "USD").judged(), "");
    assert_eq!(asking().asking("currency", "RWF").judged(), of_request);
    assert_eq!(asking().judged(), of_request);
}

#[test]
fn former_key_owner_without_key_is_refused() {
    let memory = Remembered::default();
    let lost = "otherfsp must sign, but the hub has no key of otherfsp";
    let from = |method, path| {
        let sent = sent().on(method, path);
        sent.with("fspiop-source", "otherfsp")
    };
    let post = || from("POST", "/participants/MSISDN/1");
    assert_eq!(post().bare_by(&memory, NOW), "");
    memory.note_key("otherfsp", NOW);
    assert_eq!(post().bare_by(&memory, NOW), lost);
    for (method, path) in [
        ("DELETE", "/participants/MSISDN/1"),
        ("PUT", "/parties/MSISDN/1"),
        ("POST", "/quotes"),
        ("PUT", "/transfers/1"),
    ] {
        assert_eq!(from(method, path).bare_by(&memory, NOW), lost);
        // Nor by a signature that cannot be verified.
        let signed = sent().of(method, path).with("fspiop-source", "otherfsp");
        let signed = signed.protecting("\"payeefsp\"", "\"otherfsp\"");
        assert_eq!(signed.judged_by(&memory, NOW), lost);
    }
    assert_eq!(from("GET", "/quotes/1").bare_by(&memory, NOW), "");
    // Messages that a key owner may send unsigned are accepted from this one too, but no false signature.
    let mut answer = from("PUT", "/parties/MSISDN/1");
    answer.settings.unsigned_put_parties = Unsigned::Accept;
    assert_eq!(answer.clone().bare_by(&memory, NOW), "");
    let mut signed = sent().of("PUT", "/parties/MSISDN/1");
    signed.settings = answer.settings;
    let signed = signed.with("fspiop-source", "otherfsp");
    let signed = signed.protecting("\"payeefsp\"", "\"otherfsp\"");
    assert_eq!(signed.judged_by(&memory, NOW), "otherfsp has no key");
    // The scheme may say that one need not sign.
    let mut freed = post();
    let participants = &mut freed.settings.signatures.participants;
    participants.insert("otherfsp".to_owned(), Required::None);
    assert_eq!(freed.bare_by(&memory, NOW), "");
}

#[test]
fn signer_whose_key_is_lost_is_refused() {
    let memory = Remembered::default();
    let mut false_one = sent();
    false_one.signature = Some("AA".to_owned());
    assert_ne!(false_one.judged_by(&memory, NOW), "");
    assert!(
        !memory.has_had_key("payeefsp"),
        "a false signature says nothing"
    );
    assert_eq!(sent().judged_by(&memory, NOW), "");
    let noted = memory.0.borrow().0.clone();
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert_eq!(sent().judged_by(&memory, NOW + 1), "");
    assert_eq!(memory.0.borrow().0, noted, "it is written once");
    // The host has not reported the key, and it is removed.
    let lost = "payeefsp must sign, but the hub has no key of payeefsp";
    assert_eq!(sent().bare_with(&NoKeys, &memory, NOW), lost);
}

#[test]
fn a_scheme_says_who_must_sign() {
    let no_key = "otherfsp must sign, but the hub has no key of otherfsp";
    let other = || sent().with("fspiop-source", "otherfsp");
    assert_eq!(other().requiring(Required::All).bare(), no_key);
    assert_eq!(sent().requiring(Required::All).bare(), MUST);
    assert_eq!(sent().requiring(Required::All).judged(), "");
    // Nobody must sign, but signatures must be valid.
    assert_eq!(other().requiring(Required::None).bare(), "");
    assert_eq!(sent().requiring(Required::None).bare(), "");
    assert_eq!(sent().requiring(Required::None).judged(), "");
    let changed = sent().requiring(Required::None).on("PUT", "/transfers/2");
    assert_ne!(changed.judged(), "");
    // Each participant may be an exception.
    let mut but_one = sent().requiring(Required::None);
    let participants = &mut but_one.settings.signatures.participants;
    participants.insert("payeefsp".to_owned(), Required::WithKey);
    assert_eq!(but_one.bare(), MUST);
}
