//! What people cost: the key of a new person, and a record about two people.
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark stops at what it did not expect"
)]

use std::collections::BTreeSet;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use rialto_personal_data::People;

/// The bytes of a usual record.
const RECORD: [u8; 600] = [7; 600];

fn people(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let kinds = BTreeSet::from(["party".to_owned()]);
    let people = People::create(&folder.path().join("people.keys"), kinds).unwrap();
    let mut number = 0_u64;
    let mut new = || {
        number += 1;
        people.leaf(&format!("party:MSISDN/{number}")).unwrap()
    };
    criterion.bench_function("pseudonym", |b| b.iter(&mut new));
    criterion.bench_function("seal_for_a_new_person", |b| {
        b.iter(|| people.seal(black_box(&[new()]), "bench", &RECORD).unwrap());
    });
    let both = [new(), new()];
    criterion.bench_function("seal_for_two_known_people", |b| {
        b.iter(|| people.seal(black_box(&both), "bench", &RECORD).unwrap());
    });
    let sealed = people.seal(&both, "bench", &RECORD).unwrap();
    criterion.bench_function("unseal", |b| {
        b.iter(|| people.unseal("bench", black_box(&sealed)));
    });
}

criterion_group!(benches, people);
criterion_main!(benches);
