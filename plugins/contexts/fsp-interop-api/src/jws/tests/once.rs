//! What must not be taken twice, and what may.

use super::*;
use crate::settings::{Deviation, Required, Unsigned};

/// What no id makes idempotent.
const ONCE: [(&str, &str); 4] = [
    ("POST", "/participants/MSISDN/1"),
    ("DELETE", "/participants/MSISDN/1"),
    ("PUT", "/parties/MSISDN/1"),
    ("PUT", "/parties/MSISDN/1/error"),
];
const WAS_TAKEN: &str = "this signed message was accepted before";

#[test]
fn what_no_id_makes_idempotent_protects_its_date() {
    let date = ",\"Date\":\"Tue, 15 Nov 1994 08:12:31 GMT\"";
    for (method, path) in ONCE {
        let bare = || sent().of(method, path).protecting(date, "");
        assert_eq!(
            bare().judged(),
            "header Date: must be protected, because this message must not be repeated"
        );
        // If the message may be unsigned, this would protect nothing.
        let mut taken = bare();
        taken.settings.unsigned_put_parties = Unsigned::Accept;
        taken.settings.unsigned_delete = Unsigned::Accept;
        let is_exempt = method != "POST";
        assert_eq!(taken.judged().is_empty(), is_exempt, "{method} {path}");
        assert_eq!(bare().requiring(Required::None).judged(), "");
    }
    for path in ["/quotes/1", "/transfers/1/error"] {
        let idempotent = sent().of("PUT", path).protecting(date, "");
        assert_eq!(idempotent.judged(), "");
    }
}

#[test]
fn what_no_id_makes_idempotent_is_taken_once() {
    let age = Settings::default().signed_message_age_ms;
    for (method, path) in ONCE {
        let memory = Remembered::default();
        let at = |now| sent().of(method, path).judged_by(&memory, now);
        assert_eq!(at(NOW), "", "{method} {path}");
        let repeated = Settings::default().repeated_put_parties_ms;
        let again = if path.starts_with("/parties") {
            // Two honest answers within a second are one signed message.
            assert_eq!(at(NOW + repeated - 1), "");
            NOW + repeated
        } else {
            NOW
        };
        assert_eq!(at(again), WAS_TAKEN, "{method} {path}");
        assert_eq!(at(NOW + age), WAS_TAKEN);
        assert!(at(NOW + age + 1).ends_with("too old for a signed message"));
        // The same with a new `Date` breaks the signature, at any time.
        for now in [NOW + 1_000, NOW + 10 * age] {
            let fresh = rialto_sdk::time::format_http_date(now);
            let sent = sent().of(method, path).with("date", &fresh);
            assert_eq!(
                sent.judged_by(&memory, now),
                "header Date: differs from its protected copy"
            );
        }
        // Another one is another one.
        let mut other = sent().of(method, path);
        other.body = "{}";
        assert_eq!(other.judged_by(&memory, NOW), "");
    }
    let memory = Remembered::default();
    let answer = || {
        let mut answer = sent().of("PUT", "/parties/MSISDN/1");
        answer.settings.repeated_put_parties_ms = 0;
        answer
    };
    assert_eq!(answer().judged_by(&memory, NOW), "");
    assert_eq!(answer().judged_by(&memory, NOW), WAS_TAKEN);
}

#[test]
fn second_signature_of_a_taken_message_is_a_repeat() {
    /// As on P-256, where anybody can make a second valid signature from one.
    #[derive(Debug)]
    struct Curve;

    impl Keys for Curve {
        fn has_key(&self, _: &str) -> bool {
            true
        }

        fn verify(&self, _: &str, _: Algorithm, _: &str, _: &str, signature: &str) -> Verdict {
            if ["AA", "AQ"].contains(&signature) {
                Verdict::Valid
            } else {
                Verdict::Invalid
            }
        }

        fn has_own_key(&self) -> bool {
            false
        }
    }
    let memory = Remembered::default();
    let mut seen = Vec::new();
    for signature in ["AA", "AQ"] {
        let mut sent = sent().of("POST", "/participants/MSISDN/1");
        sent.signature = Some(signature.to_owned());
        seen.push(sent.judged_with(&Curve, &memory, NOW));
    }
    assert_eq!(seen, ["", WAS_TAKEN]);
}

#[test]
fn trailing_slash_does_not_hide_a_repeat() {
    let memory = Remembered::default();
    let sent_to = |path| {
        let mut sent = sent().of("POST", "/participants/MSISDN/1");
        sent.settings.trailing_slash = Deviation::Accept;
        sent.on("POST", path).judged_by(&memory, NOW)
    };
    assert_eq!(sent_to("/participants/MSISDN/1/"), "");
    assert_eq!(sent_to("/participants/MSISDN/1"), WAS_TAKEN);
    assert_eq!(sent_to("/participants/MSISDN/1/"), WAS_TAKEN);
}

#[test]
fn what_has_an_id_may_come_again() {
    let memory = Remembered::default();
    for (method, path) in [
        ("POST", "/quotes"),
        ("PUT", "/quotes/1"),
        ("POST", "/transfers"),
        ("PUT", "/transfers/2"),
        ("PUT", "/transfers/2/error"),
    ] {
        for _ in 0..2 {
            assert_eq!(sent().of(method, path).judged_by(&memory, NOW), "");
        }
    }
    let stored: Vec<_> = memory.0.borrow().0.keys().cloned().collect();
    let signer = ("signers".to_owned(), "payeefsp".to_owned());
    assert_eq!(stored, [signer], "no message is to be remembered");
}

#[test]
fn a_message_that_is_refused_is_not_remembered() {
    let memory = Remembered::default();
    let mut wrong = sent().of("POST", "/participants/MSISDN/1");
    wrong.signature = Some("AA".to_owned());
    assert_ne!(wrong.judged_by(&memory, NOW), "");
    assert!(memory.0.borrow().0.is_empty());
    let right = sent().of("POST", "/participants/MSISDN/1");
    assert_eq!(right.judged_by(&memory, NOW), "");
}
