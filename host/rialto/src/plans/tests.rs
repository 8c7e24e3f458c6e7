//! Plans: which signatures count, what a backtest says, and what is no plan.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_components::Digest;
use rialto_manifest::Operator;
use rialto_signatures::PersonSigner;
use rialto_store_sqlite::PlanSignature;

use data_encoding::BASE64URL_NOPAD;

use super::*;
use crate::backtest::report::Percentiles;

/// Of `openssl genpkey -algorithm ed25519`, with the public keys of `openssl pkey -pubout`.
const ADA: (&str, &str) = (
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n",
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n",
);

fn officers(table: &str) -> Officers {
    let text = format!(
        "[listeners.operators]\naddress = \"127.0.0.1:0\"\n[releases]\nsignatures = 1\n{table}"
    );
    let operator = Operator::parse(&text).unwrap_or_else(|problems| panic!("{}", problems.plain()));
    Officers::of(&operator).unwrap()
}

fn ada() -> Officers {
    officers(&format!(
        "[releases.officers.ada]\npublic-key = \"\"\"\n{}\"\"\"\n",
        ADA.1
    ))
}

fn signed(plan: Digest, officer: &str) -> SignatureFile {
    let signer = PersonSigner::of_pem(ADA.0).unwrap();
    let statement = PlanStatement { plan, officer }.bytes();
    SignatureFile {
        form: SIGNATURE_FORM.to_owned(),
        plan,
        officer: officer.to_owned(),
        algorithm: signer.scheme().name().to_owned(),
        signature: BASE64URL_NOPAD.encode(&signer.sign(&statement).unwrap()),
    }
}

#[test]
fn only_an_officers_own_signature_under_this_plan_counts() {
    let (officers, plan, other) = (ada(), Digest::of("a plan"), Digest::of("another"));
    let good = signed(plan, "ada");
    assert_eq!(officers.verify(&good, plan, "grace"), Ok(()));
    let refused =
        |file: &SignatureFile, plan, maker| officers.verify(file, plan, maker).unwrap_err();
    assert_eq!(refused(&good, plan, "ada"), NotSigned::Maker("ada".into()));
    assert!(matches!(
        refused(&good, other, "grace"),
        NotSigned::OtherPlan { .. }
    ));
    // Under another plan, said to be under this one.
    let moved = SignatureFile {
        plan,
        ..signed(other, "ada")
    };
    assert_eq!(
        refused(&moved, plan, "grace"),
        NotSigned::Wrong("ada".into())
    );
    assert_eq!(
        refused(&signed(plan, "ben"), plan, "grace"),
        NotSigned::NoOfficer("ben".into())
    );
    // Made in the name of another officer.
    let renamed = SignatureFile {
        officer: "ada".into(),
        ..signed(plan, "ben")
    };
    assert_eq!(
        refused(&renamed, plan, "grace"),
        NotSigned::Wrong("ada".into())
    );
    for (algorithm, signature) in [
        ("ES256", good.signature.as_str()),
        ("Ed25519", ""),
        ("Ed25519", "?"),
    ] {
        let wrong = SignatureFile {
            algorithm: algorithm.into(),
            signature: signature.into(),
            ..good.clone()
        };
        assert_eq!(
            refused(&wrong, plan, "grace"),
            NotSigned::Wrong("ada".into())
        );
    }
    let form = SignatureFile {
        form: "other".into(),
        ..good
    };
    assert_eq!(
        refused(&form, plan, "grace"),
        NotSigned::Form("other".into())
    );
}

#[test]
fn kept_approvals_of_who_is_no_officer_any_more_do_not_count() {
    let plan = Digest::of("a plan");
    let file = signed(plan, "ada");
    let kept = |officer: &str, kind: &str, signature: &str| PlanSignature {
        plan: plan.to_string(),
        officer: officer.into(),
        kind: kind.into(),
        signature: signature.into(),
        at: rialto_engine::Timestamp(0),
    };
    let all = [
        kept("ada", &file.algorithm, &file.signature),
        kept("ada", PASSKEY, ""),
        kept("ben", PASSKEY, ""),
    ];
    assert_eq!(ada().counting(&all, plan, "grace"), ["ada"]);
    assert_eq!(ada().counting(&all, plan, "ada"), Vec::<String>::new());
    // Somebody with access to the store alone cannot make one of an officer with a key, but of one with a passkey.
    let other_key = officers(
        "[releases.officers.ada]\npublic-key = \"\"\"\n-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n-----END PUBLIC KEY-----\n\"\"\"\n",
    );
    assert_eq!(
        other_key.counting(&all, plan, "grace"),
        Vec::<String>::new()
    );
}

#[test]
fn fuel_grows_by_the_99th_percentile_of_what_was_there_before() {
    let percentiles = |verdicts, p99| Percentiles {
        verdicts,
        p50: 1,
        p99,
        max: p99,
    };
    let of = |rule: &str, before, after| FuelOf {
        step: "check".into(),
        rule: rule.into(),
        before,
        after,
    };
    let backtest = Backtested {
        digest: Digest::of("x"),
        since: 0,
        until: 1,
        as_of: 1,
        unread: 0,
        requests: 1,
        different: 0,
        failures: 0,
        uncounted: None,
        is_partial: false,
        fuel: vec![
            of("same", percentiles(1, 1_000), percentiles(1, 1_100)),
            of("dearer", percentiles(1, 1_000), percentiles(1, 1_101)),
            of("new", percentiles(0, 0), percentiles(1, 9_000)),
        ],
    };
    assert_eq!(
        backtest.dearer(100_000),
        ["rule dearer at check: 99 of 100 verdicts need 1101 fuel, before 1000"]
    );
}

#[test]
fn a_plan_is_its_text() {
    for wrong in ["", "{}", "[]", r#"{"form":"rialto-plan/1"}"#] {
        assert!(Plan::read(wrong).is_err(), "{wrong}");
    }
    assert!(Backtested::of("{}", Digest::of("x")).is_err());
}
