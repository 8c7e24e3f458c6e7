//! Measures the cost of a token for each request: of one that was verified before, and of a new one.
//!
//! `cargo bench --package rialto-tokens --bench verify`

#![allow(missing_docs, reason = "criterion's macros make public functions")]
#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a benchmark is a failed benchmark"
)]

#[path = "../tests/all/issuer.rs"]
mod issuer;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use issuer::{Issuer, NOW};
use rialto_tokens::{Client, Rules, Thumbprint, Verifier};
use serde_json::json;

fn verify(criterion: &mut Criterion) {
    let issuer = Issuer::new();
    let bound = json!({ "x5t#S256": issuer::encoded(&[7; 32]) });
    let token = issuer.token(&issuer.claims_with(&[("cnf", bound)]));
    let certificate = Thumbprint([7; 32]);
    let client = Client {
        name: "alpha".into(),
        generation: 3,
    };
    let judge = |verifier: &Verifier| {
        let claims = verifier.verify(black_box(&token), NOW).unwrap();
        claims.check_client(Some(&client)).unwrap();
        claims.check_certificate(Some(&certificate), true).unwrap();
        claims
    };
    let ready = || {
        let verifier = Verifier::default();
        verifier.set_rules(issuer.rules());
        verifier
    };
    let known = ready();
    judge(&known);
    criterion.bench_function("token: known", |b| b.iter(|| judge(&known)));
    criterion.bench_function("token: new", |b| {
        b.iter_batched_ref(ready, |verifier| judge(verifier), BatchSize::SmallInput);
    });
    let forged = format!("{}AA", &token[..token.len() - 2]);
    criterion.bench_function("token: wrong signature", |b| {
        b.iter(|| known.verify(black_box(&forged), NOW).unwrap_err());
    });
}

criterion_group!(benches, verify);
criterion_main!(benches);
