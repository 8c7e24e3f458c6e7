//! Rules that change while tokens are known.

use rialto_tokens::{Invalid, Rules, Verifier};
use serde_json::json;

use crate::issuer::{AUDIENCE, ISSUER, Issuer, KEY, NOW};

#[test]
fn known_tokens_are_judged_again_when_rules_change() {
    let (first, second) = (Issuer::new(), Issuer::new());
    let rules = |keys: &[(&str, &Issuer)]| {
        let keys = keys.iter().map(|(id, issuer)| (*id, issuer.pem()));
        Rules::new(ISSUER, AUDIENCE, keys).unwrap()
    };
    let verifier = Verifier::default();
    let token = first.token(&first.claims());
    let outcome = || verifier.verify(&token, NOW).map(|claims| claims.generation);
    verifier.set_rules(rules(&[(KEY, &first)]));
    assert_eq!(outcome(), Ok(3));
    // Another key beside it changes nothing.
    verifier.set_rules(rules(&[(KEY, &first), ("key-2", &second)]));
    assert_eq!(outcome(), Ok(3));
    verifier.set_rules(rules(&[("key-2", &second)]));
    assert_eq!(outcome(), Err(Invalid::UnknownKey));
    verifier.set_rules(rules(&[(KEY, &second)]));
    assert_eq!(outcome(), Err(Invalid::Signature));
    let keys = || [(KEY, first.pem())];
    verifier.set_rules(Rules::new("https://other.example", AUDIENCE, keys()).unwrap());
    assert_eq!(outcome(), Err(Invalid::Issuer));
    verifier.set_rules(Rules::new(ISSUER, "other", keys()).unwrap());
    assert_eq!(outcome(), Err(Invalid::Audience));
    verifier.set_rules(Rules::new(ISSUER, AUDIENCE, keys()).unwrap());
    assert_eq!(outcome(), Ok(3));
}

#[test]
fn known_tokens_expire() {
    let issuer = Issuer::new();
    let verifier = crate::verifier(&issuer);
    let token = issuer.token(&issuer.claims_with(&[("exp", json!(NOW + 10))]));
    let outcome = |now| verifier.verify(&token, now).map(|_| ());
    assert_eq!(outcome(NOW), Ok(()));
    assert_eq!(outcome(NOW + 9), Ok(()));
    assert_eq!(outcome(NOW + 10), Err(Invalid::Expired));
    // A clock that was set back: the token is not valid before its time.
    assert_eq!(outcome(NOW - 6), Err(Invalid::NotYetValid));
    assert_eq!(outcome(NOW), Ok(()));
}
