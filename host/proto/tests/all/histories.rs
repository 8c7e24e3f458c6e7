//! Long random histories of a contract, from a seed. A second implementation judges which changes must be accepted or
//! refused. No number ever changes its meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::support::{breaks, under};
use rialto_proto::Lock;
use rialto_proto::model::File;

const TYPES: [&str; 5] = ["u8", "string", "option<u8>", "option<string>", "list<u16>"];
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The fields of a record with their types.
type Fields = BTreeMap<&'static str, &'static str>;

#[derive(Clone, Default)]
struct Contract {
    request: Fields,
    response: Fields,
}

impl Contract {
    fn wit(&self) -> String {
        let record = |fields: &Fields| {
            // A record cannot be empty.
            fields
                .iter()
                .fold("always: option<bool>".to_owned(), |mut text, (name, ty)| {
                    let _ = write!(text, ", {name}: {ty}");
                    text
                })
        };
        let (request, response) = (record(&self.request), record(&self.response));
        format!(
            "package a:b@0.1.0; interface pay {{
            record request {{ {request} }} record response {{ {response} }}
            pay: func(request: request) -> response; }}"
        )
    }
}

/// What was there and went, by record: it may not come back.
#[derive(Clone, Default)]
struct Gone {
    request: BTreeSet<&'static str>,
    response: BTreeSet<&'static str>,
}

/// Whether a client of `before` says all that `after` needs and is told all that it was promised.
fn fits(before: &Contract, after: &Contract, gone: &Gone) -> bool {
    let must = |ty: &str| !ty.starts_with("option") && !ty.starts_with("list");
    let same = |before: &Fields, after: &Fields| {
        let mut both = before
            .iter()
            .filter_map(|(name, ty)| Some((ty, after.get(name)?)));
        both.all(|(before, after)| before == after)
    };
    let says_all = after
        .request
        .iter()
        .all(|(name, ty)| before.request.contains_key(name) || !must(ty));
    let mut promised = before.response.iter().filter(|(_, ty)| must(ty));
    let is_told = promised.all(|(name, _)| after.response.contains_key(name));
    let stay_gone = after
        .request
        .keys()
        .all(|name| !gone.request.contains(name))
        && after
            .response
            .keys()
            .all(|name| !gone.response.contains(name));
    let same = same(&before.request, &after.request) && same(&before.response, &after.response);
    same && says_all && is_told && stay_gone
}

/// Numbers with their names and types, by message.
fn meanings(files: &[File]) -> BTreeMap<(String, i32), String> {
    let messages = files.iter().flat_map(|file| &file.messages);
    let fields = messages.flat_map(|message| {
        let fields = message.fields.iter();
        fields.map(|f| {
            (
                (message.name.clone(), f.number),
                format!("{} {}", f.name, f.shape()),
            )
        })
    });
    fields.collect()
}

/// A small generator: the same numbers from the same seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % n
    }

    fn edit(&mut self, contract: &mut Contract) {
        let fields = match self.below(2) {
            0 => &mut contract.request,
            _ => &mut contract.response,
        };
        let name = NAMES[self.below(NAMES.len())];
        match self.below(3) {
            0 => drop(fields.remove(name)),
            _ => drop(fields.insert(name, TYPES[self.below(TYPES.len())])),
        }
    }
}

#[test]
fn accepted_changes_keep_clients_and_numbers() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 1..=60 {
        let mut draw = Draw(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let (mut now, mut gone, mut known) =
            (Contract::default(), Gone::default(), BTreeMap::new());
        let mut lock = under(&Lock::default(), &now.wit()).lock;
        for step in 0..40 {
            let mut next = now.clone();
            for _ in 0..=draw.below(2) {
                draw.edit(&mut next);
            }
            let locked = under(&lock, &next.wit());
            let told = breaks(&locked);
            assert_eq!(
                told.is_empty(),
                fits(&now, &next, &gone),
                "seed {seed}, step {step}\n{}\n{}\n{told:?}",
                now.wit(),
                next.wit()
            );
            if !told.is_empty() {
                refused += 1;
                continue;
            }
            accepted += 1;
            for (number, meaning) in meanings(&locked.files) {
                let before = known
                    .entry(number.clone())
                    .or_insert_with(|| meaning.clone());
                assert_eq!(*before, meaning, "seed {seed}, step {step}: {number:?}");
            }
            gone.request.extend(
                now.request
                    .keys()
                    .filter(|name| !next.request.contains_key(*name)),
            );
            gone.response.extend(
                now.response
                    .keys()
                    .filter(|name| !next.response.contains_key(*name)),
            );
            lock = Lock::parse(&locked.lock.to_text()).expect("it was just written");
            now = next;
        }
    }
    assert!(
        accepted > 200 && refused > 200,
        "{accepted} accepted, {refused} refused"
    );
}
