//! A benchmark of prepares: transfers of many payers, or of one payer with one account, until the payee FSP is asked.
//! The payers exist only in the benchmark's copy of the scheme.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use rialto_manifest::Manifest;
use rialto_simulator::FspId;
use rialto_simulator::bench::Prepares;
use serde_json::Value;

use super::figures::{Sampler, figures, run};
use super::stage::{runtime, serve};
use super::{Bench, place};
use crate::cli::{load, simulate};

/// The payee of all transfers.
const PAYEE: &str = "benchpayee";
/// The liquidity of each payer: more than it can spend in any benchmark.
const LIQUIDITY: &str = "1000000000";

/// Measures prepares of this many payers in turn, in a copy of the scheme. None if the copy cannot be loaded.
pub(super) fn measure(
    bench: &Bench,
    given: &Manifest,
    place: &Path,
    payers: usize,
) -> anyhow::Result<Option<Value>> {
    let account = given.scheme().participants.first();
    let account = account.and_then(|participant| participant.accounts.first());
    let currency = account.context("the first participant has no account")?;
    let currency = currency.currency.to_string();
    let payers = (0..payers).map(|n| format!("benchpayer{n}").parse());
    let payers: Vec<FspId> = payers.collect::<Result<_, _>>()?;
    let settings = bench.settings();
    let runtime = runtime()?;
    let listening = Prepares::listen(payers.clone(), PAYEE.parse()?, &currency, settings.timeout);
    let mut prepares = runtime.block_on(listening)?;

    fs::create_dir(place)?;
    let scheme = place.join("scheme");
    place::copy_on_free_ports(given, &scheme)?;
    let mut tables = participant(PAYEE, prepares.url(), &currency, "0");
    for payer in &payers {
        tables += &participant(payer.as_str(), prepares.url(), &currency, LIQUIDITY);
    }
    place::add_participants(&scheme, &tables)?;
    let document = scheme.join("scheme.toml");
    let text = fs::read_to_string(&document)?;
    let text = text.replace("requireQuote = true", "requireQuote = false");
    fs::write(&document, text)?;
    let Some(manifest) = load(&scheme)? else {
        return Ok(None);
    };

    let state = place.join("state");
    place::take_compiled(given, place, &state)?;
    let host = serve(&manifest, &state)?;
    place::keep_compiled(place, &state)?;
    let hub = simulate::hub(&manifest).context("the scheme has no `fsps` listener")?;
    prepares.send_to(&hub)?;
    let mut settings = settings;
    settings.processes = vec![
        ("host".into(), host.id()),
        ("generator".into(), std::process::id()),
    ];
    let sampler = Sampler::new(&manifest, host.id())?;
    let measured = run(&settings, Arc::new(prepares), !bench.json, &sampler);
    let mut figures = figures(&runtime.block_on(measured)?)?;
    figures["payers"] = payers.len().into();
    figures["of"] = "prepares".into();
    Ok(Some(figures))
}

/// A participant's tables.
fn participant(id: &str, url: &str, currency: &str, liquidity: &str) -> String {
    format!(
        "[[participants]]\nid = \"{id}\"\nname = \"{id}\"\ncallback-base-url = \"{url}\"\n\n\
         [[participants.accounts]]\ncurrency = \"{currency}\"\nopening-liquidity = \"{liquidity}\"\n\n"
    )
}
