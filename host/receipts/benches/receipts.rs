//! What the hash of a receipt costs the turn that makes it.
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark stops at what it did not expect"
)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use rialto_receipts::{Salt, hash};
use serde_json::json;

/// A receipt with an input of this many fields and some 2 KiB.
fn receipt(fields: usize) -> String {
    let input: serde_json::Map<_, _> = (0..fields)
        .map(|n| (format!("part-{n}"), json!("x".repeat(2_048 / fields))))
        .collect();
    let receipt = json!({
        "step": "order-check", "rule": "ceiling", "ruleVersion": "1.0.0",
        "digest": format!("sha256:{}", "0".repeat(64)), "settingsDigest": format!("sha256:{}", "1".repeat(64)),
        "release": 7, "subject": "b51ec534-ee48-4575-b6a9-ead2955b8069", "input": input,
        "inputDigest": format!("sha256:{}", "2".repeat(64)), "verdict": {"outcome": "allow"},
        "fuel": 81_234, "fuelLimit": 5_000_000, "memoryLimit": 16_777_216, "tookUs": 71, "flagged": false,
        "salt": Salt([7; 16]).text(),
    });
    receipt.to_string()
}

fn receipts(criterion: &mut Criterion) {
    for fields in [4, 12, 40] {
        let body = receipt(fields);
        criterion.bench_function(&format!("hash_with_{fields}_parts_of_input"), |b| {
            b.iter(|| hash(black_box(&body), 1_700_000_000_000).unwrap());
        });
    }
}

criterion_group!(benches, receipts);
criterion_main!(benches);
