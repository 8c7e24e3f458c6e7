//! What something costs, by many pairs of measurements on one host, without and with it. What one pair says is mostly noise;
//! the median of many says what is common to them.

use std::fs;
use std::path::{Path, PathBuf};

use rialto_manifest::Manifest;
use rialto_manifest::lock::FILE_NAME;
use serde_json::{Value, json};

use super::candidates::{self, Candidate};
use super::stage::{Passing, Stage, apply};
use super::{Bench, Secrets, database, load, place};

/// The figures that are compared, and what a comparison is called.
const COMPARED: [(&str, &str); 4] = [
    ("p50_ms", "p50_with_of_without"),
    ("p99_ms", "p99_with_of_without"),
    ("host_cpu_ms_per_payment", "host_cpu_with_of_without"),
    ("payments_per_second", "payments_with_of_without"),
];
/// Pairs, if nobody says how many.
const PAIRS: u16 = 5;

/// A scheme's document and its lock: what differs between two releases.
struct Documents(Vec<(PathBuf, String)>);

impl Documents {
    fn of(folder: &Path) -> anyhow::Result<Self> {
        let files = ["scheme.toml", FILE_NAME].map(|name| folder.join(name));
        let read = files.into_iter().map(|file| {
            let text = fs::read_to_string(&file)?;
            Ok((file, text))
        });
        Ok(Self(read.collect::<anyhow::Result<_>>()?))
    }

    /// Puts them in their folder again.
    fn put(&self) -> anyhow::Result<()> {
        for (file, text) in &self.0 {
            fs::write(file, text)?;
        }
        Ok(())
    }
}

/// What is measured without and with.
enum Treatment {
    /// A candidate of a rule: releases with and without it take each other's place.
    Candidate(Candidate, [Documents; 2]),
    /// A host that passes the requests of FSPs to the one that serves. They call that one, or the other.
    Passing(PathBuf, Passing),
}

impl Treatment {
    const fn name(&self) -> &'static str {
        match self {
            Self::Candidate(candidate, _) => candidate.name(),
            Self::Passing(..) => "passed",
        }
    }

    /// Makes it so, or not.
    fn put(&self, is_with: bool, stage: &mut Stage, at: &Path) -> anyhow::Result<()> {
        let state = at.join("state");
        match self {
            Self::Candidate(_, documents) => {
                documents[usize::from(is_with)].put()?;
                apply(&at.join("scheme"), &state)
            }
            Self::Passing(serving, passing) => {
                let called = if is_with { &passing.scheme } else { serving };
                stage.lead_fsps_to(called, &state)
            }
        }
    }
}

/// Measures pairs and prints each, and then what they have in common.
pub(super) fn measure(
    bench: &Bench,
    given: &Manifest,
    conditions: &Value,
    temporary: &Path,
) -> anyhow::Result<u8> {
    let at = temporary.join("pairs");
    fs::create_dir(&at)?;
    let (scheme, state) = (at.join("scheme"), at.join("state"));
    place::copy_on_free_ports(given, &scheme)?;
    if let Some(url) = bench.database.as_deref() {
        database::put(&scheme, url)?;
    }
    let mut documents = None;
    if let Some(candidate) = bench.candidate {
        let without = Documents::of(&scheme)?;
        candidates::bind(&scheme, candidate)?;
        documents = Some((candidate, [without, Documents::of(&scheme)?]));
    } else {
        place::in_cluster(&scheme)?;
    }
    let Some(manifest) = load(&scheme)? else {
        return Ok(2);
    };
    place::take_compiled(given, &at, &state)?;
    let mut stage = Stage::set(bench, &manifest, &state, &Secrets::default())?;
    let compared = match documents {
        Some((candidate, documents)) => Treatment::Candidate(candidate, documents),
        None => {
            let passing = Passing::start(&manifest, &state)?;
            let process = ("passing".to_owned(), passing.host.id());
            stage.settings.processes.push(process);
            Treatment::Passing(scheme, passing)
        }
    };
    let pairs = bench.pairs.unwrap_or(PAIRS);
    let mut ratios: [Vec<f64>; COMPARED.len()] = Default::default();
    for pair in 0..pairs {
        let mut measured = [Value::Null, Value::Null];
        // The second of two measurements is not always the same one: a store that grows is slower.
        for is_with in [pair % 2 == 1, pair % 2 == 0] {
            compared.put(is_with, &mut stage, &at)?;
            measured[usize::from(is_with)] = stage.run()?;
        }
        bench.show(&told(pair + 1, &measured, &mut ratios)?)?;
    }
    let mut common = json!({
        "of": compared.name(),
        "pairs": pairs,
        "conditions": conditions,
    });
    for ((_, compared), ratios) in COMPARED.iter().zip(ratios) {
        common[*compared] = in_common(ratios);
    }
    bench.show(&common)?;
    Ok(0)
}

/// What is shown of a pair. Its ratios are added to the others.
fn told(
    pair: u16,
    measured: &[Value; 2],
    ratios: &mut [Vec<f64>; COMPARED.len()],
) -> anyhow::Result<Value> {
    let mut shown = json!({ "pair": pair });
    for ((name, compared), ratios) in COMPARED.iter().zip(ratios) {
        let both = measured.each_ref().map(|figures| figures[name].as_f64());
        let [Some(without), Some(with)] = both else {
            anyhow::bail!("a run has no {name}: no payment has ended");
        };
        ratios.push(with / without);
        shown[format!("without_{name}")] = without.into();
        shown[format!("with_{name}")] = with.into();
        shown[*compared] = (with / without).into();
    }
    let passing = &measured[1]["passing_cpu_ms_per_payment"];
    shown["with_passing_cpu_ms_per_payment"] = passing.clone();
    let failed = measured.each_ref().map(|figures| figures["failed"].clone());
    shown["failed"] = failed.to_vec().into();
    Ok(shown)
}

/// The median of ratios, and the two of them between which the median of all pairs that could be measured is in 95 of 100 cases,
/// whatever their distribution is (by the sign test). Of fewer than six pairs, these are the least and the greatest.
fn in_common(mut ratios: Vec<f64>) -> Value {
    ratios.sort_by(f64::total_cmp);
    let count = ratios.len();
    let Some(last) = count.checked_sub(1) else {
        return Value::Null;
    };
    let median = f64::midpoint(ratios[last / 2], ratios[count / 2]);
    // The normal approximation of the binomial distribution's 2.5 % quantile.
    let outside = (count as f64 / 2.0 - 0.98 * (count as f64).sqrt()).floor();
    let outside = (outside.max(1.0) as usize - 1).min(last / 2);
    json!({
        "median": median,
        "from": ratios[outside],
        "to": ratios[last - outside],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_has_a_range() {
        let ratios = (1..=30).rev().map(f64::from).collect();
        let expected = json!({ "median": 15.5, "from": 9.0, "to": 22.0 });
        assert_eq!(in_common(ratios), expected);
        let expected = json!({ "median": 2.0, "from": 1.0, "to": 3.0 });
        assert_eq!(in_common(vec![3.0, 1.0, 2.0]), expected);
        assert_eq!(in_common(Vec::new()), Value::Null);
    }
}
