//! `rialto bench`: complete payments through a host, simulated FSPs and a load generator, each a
//! process of its own on this machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use rialto_manifest::Manifest;
use rialto_simulator::PartyId;
use rialto_simulator::bench::{BenchSettings, Extent, Load, Signer, in_signatures};
use rialto_simulator::pki::SchemePki;
use serde_json::{Value, json};

use super::{load, simulate};
use crate::out;

mod account;
mod audit;
mod candidates;
mod consoles;
mod database;
mod figures;
mod keys;
mod neighbour;
mod pairs;
mod place;
mod prepares;
mod providers;
mod rules;
mod stage;
mod tls;

use consoles::Consoles;
use figures::{conditions, print_table};
use neighbour::Health;
use stage::Stage;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Bench {
    #[command(subcommand)]
    other: Option<Other>,
    /// The scheme's folder.
    #[arg(required = true)]
    scheme: Option<PathBuf>,
    /// Payments in flight, closed loop.
    #[arg(long, default_value_t = 64)]
    concurrency: usize,
    /// Payments begun per second, however fast the host is (open loop). Replaces --concurrency.
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<u32>,
    /// Seconds to measure.
    #[arg(long, default_value_t = 15)]
    seconds: u64,
    /// Seconds to run before measuring.
    #[arg(long, default_value_t = 5)]
    warm_up: u64,
    /// The number of parties that are paid, in turn.
    #[arg(long, default_value_t = 64)]
    payees: usize,
    /// Sign all messages, and have the host verify them. Measures without signatures first.
    #[arg(long)]
    jws: bool,
    /// Have everybody use TLS, and FSPs prove who they are by certificates and access tokens. Measures without first.
    #[arg(long, conflicts_with_all = ["jws", "neighbour", "payers", "state"])]
    secure: bool,
    /// Have the host sign its audit log (`[audit]`), and with it all receipts. Measures without first. Entries about anything but receipts are written either way.
    #[arg(long, conflicts_with_all = ["jws", "secure", "neighbour", "payers", "state"])]
    audit: bool,
    /// Give the rule `amount-limits` a candidate. Measures without first.
    #[arg(long, value_name = "KIND", conflicts_with_all = ["jws", "secure", "audit", "neighbour", "payers", "rules", "state"])]
    candidate: Option<candidates::Candidate>,
    /// Measure so often without and with the candidate in turn, on one host, by releases that take the place of each other, and
    /// print how the figures of a pair differ. Hosts and hours of a machine differ by more than a candidate costs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pairs: Option<u16>,
    /// Measure four times: without and with this many readers that ask what an open console does, in turn.
    #[arg(long, value_name = "N", conflicts_with_all = ["jws", "secure", "audit", "candidate", "neighbour", "payers", "state"])]
    consoles: Option<usize>,
    /// Keep the store in this empty PostgreSQL database. Measures without first.
    #[arg(long, value_name = "URL", conflicts_with_all = ["jws", "secure", "audit", "candidate", "consoles", "neighbour", "payers", "state"])]
    database: Option<String>,
    /// Measure on the database alone, in pairs: FSPs call the host that serves, and one that passes their requests to it.
    #[arg(long, requires = "database")]
    passed: bool,
    /// Measure four times, with payments to a third FSP at the same time: one that answers, one that never
    /// answers, one that answers after 30 seconds, one that resets connections.
    #[arg(long, conflicts_with_all = ["jws", "state"])]
    neighbour: bool,
    /// Measure prepares of transfers instead of whole payments: first all by one payer, then by this
    /// many in turn. The payers are in the benchmark's copy of the scheme, where no rule requires a
    /// quote.
    #[arg(long, value_name = "N", conflicts_with_all = ["jws", "neighbour", "state", "payees"])]
    payers: Option<usize>,
    /// Have this many rules checked in each payment: `amount-limits` at a transfer's preparation, so often. Without
    /// it, those of the scheme.
    #[arg(long, value_name = "N", conflicts_with_all = ["payers", "neighbour"])]
    rules: Option<usize>,
    /// Make each ILP packet this many octets longer. A packet of FSPIOP has room for some 24,000.
    #[arg(long, value_name = "OCTETS", default_value_t = 0, conflicts_with = "payers",
          value_parser = clap::value_parser!(u16).range(..=i64::from(PADDING_MAX)))]
    padding: u16,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// The folder of the store. Without it, a temporary one.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(flatten)]
    accounting: account::Options,
}

/// What is measured instead of payments.
#[derive(Debug, clap::Subcommand)]
enum Other {
    Keys(providers::KeySpeed),
}

/// The figures without signatures or TLS that are shown beside those with them.
const BESIDE: [&str; 4] = [
    "payments_per_second",
    "p50_ms",
    "p99_ms",
    "host_cpu_ms_per_payment",
];

/// The longest padding of an ILP packet: with the transaction itself, in base64url, it fits the 32,768 characters that
/// FSPIOP gives `ilpPacket`.
const PADDING_MAX: u16 = 23_000;

/// Participants that pay and are paid: the first ones of the scheme.
const PAYING: usize = 2;

/// What a measurement adds to the plain one.
#[derive(Clone, Copy, Debug, Default)]
struct Beside {
    /// All messages are signed.
    signed: bool,
    /// All use TLS.
    secure: bool,
    /// The audit log is signed.
    audited: bool,
    /// A rule has a candidate.
    candidate: Option<candidates::Candidate>,
    /// The store is in a database.
    on_database: bool,
    /// There is a neighbour.
    neighbour: Option<Health>,
    /// So many consoles are open.
    consoles: usize,
}

/// What the FSPs of a benchmark prove themselves with.
#[derive(Default)]
struct Secrets {
    keys: keys::PrivateKeys,
    tls: Option<SchemePki>,
}

impl Bench {
    pub fn run(self) -> anyhow::Result<u8> {
        if let Some(Other::Keys(speed)) = &self.other {
            return speed.run();
        }
        let scheme = self.scheme.as_deref().unwrap_or(Path::new("."));
        let Some(given) = load(scheme)? else {
            return Ok(2);
        };
        let mut conditions = conditions();
        let signer = Signer::new()?;
        let sign_us = signer.sign_us()?;
        conditions["rsa2048_sign_us"] = sign_us.into();
        let temporary = place::Temporary::new()?;
        if let Some(payments) = self.accounting.payments() {
            return account::account(&self, &given, temporary.path(), payments);
        }
        if self.neighbour {
            return self.beside_neighbours(&given, &conditions, temporary.path());
        }
        anyhow::ensure!(
            self.pairs.is_none() || self.passed || self.candidate.is_some(),
            "--pairs says how often to measure --candidate or --passed, and neither is there"
        );
        if self.passed || (self.candidate.is_some() && self.pairs.is_some()) {
            return pairs::measure(&self, &given, &conditions, temporary.path());
        }
        if let Some(consoles) = self.consoles {
            return self.beside_consoles(&given, &conditions, temporary.path(), consoles);
        }
        if let Some(payers) = self.payers {
            return self.one_and_many(&given, &conditions, temporary.path(), payers);
        }
        let has_beside = self.jws || self.secure || self.audit || self.candidate.is_some();
        let plain = if has_beside || self.database.is_some() {
            let place = temporary.path().join("plain");
            let Some(figures) = self.at(&given, &place, &place.join("state"), Beside::default())?
            else {
                return Ok(2);
            };
            Some(figures)
        } else {
            None
        };
        let place = temporary.path().join("measured");
        let state = place.join("state");
        let state = self.state.as_ref().unwrap_or(&state);
        let beside = Beside {
            signed: self.jws,
            secure: self.secure,
            audited: self.audit,
            candidate: self.candidate,
            on_database: self.database.is_some(),
            ..Beside::default()
        };
        let Some(mut figures) = self.at(&given, &place, state, beside)? else {
            return Ok(2);
        };
        let sign_us_after = signer.sign_us()?;
        let unit_us = f64::midpoint(sign_us, sign_us_after);
        for part in ["host", "fsp", "generator"] {
            let cpu_ms = figures[format!("{part}_cpu_ms_per_payment")].as_f64();
            let signatures = in_signatures(cpu_ms.unwrap_or_default(), unit_us);
            figures[format!("{part}_cpu_signatures")] = signatures.into();
        }
        conditions["rsa2048_sign_us_after"] = sign_us_after.into();
        figures["conditions"] = conditions;
        figures["signed"] = self.jws.into();
        figures["secure"] = self.secure.into();
        figures["audit"] = self.audit.into();
        if let Some(candidate) = self.candidate {
            figures["candidate"] = candidate.name().into();
        }
        if let Some(plain) = plain {
            let kind = match (self.jws, self.secure, self.candidate) {
                _ if self.database.is_some() => "on_sqlite",
                (true, _, _) => "unsigned",
                (false, true, _) => "plaintext",
                (false, false, Some(_)) => "without_candidate",
                (false, false, None) => "without_audit",
            };
            for name in BESIDE {
                figures[format!("{kind}_{name}")] = plain[name].clone();
            }
        }
        if self.json {
            out::line(&figures)?;
        } else {
            print_table(&figures)?;
        }
        Ok(u8::from(figures["payments"] == 0))
    }

    /// Measures with a neighbour that works, and then one that fails in several ways.
    fn beside_neighbours(
        &self,
        given: &Manifest,
        conditions: &Value,
        temporary: &Path,
    ) -> anyhow::Result<u8> {
        let mut well = None;
        for health in neighbour::ALL {
            let place = temporary.join(health.name());
            let beside = Beside {
                neighbour: Some(health),
                ..Beside::default()
            };
            let Some(figures) = self.at(given, &place, &place.join("state"), beside)? else {
                return Ok(2);
            };
            let rate = figures["payments_per_second"].as_f64().unwrap_or_default();
            let compared = *well.get_or_insert(rate);
            let shown = json!({
                "neighbour": health.name(),
                "payments_per_second": rate,
                "of_that_beside_a_well_one": rate / compared,
                "p50_ms": figures["p50_ms"],
                "p99_ms": figures["p99_ms"],
                "failed": figures["failed"],
                "conditions": conditions,
            });
            if self.json {
                out::line(&shown)?;
            } else {
                print_table(&shown)?;
                out::line("")?;
            }
            if rate == 0.0 {
                return Ok(1);
            }
        }
        Ok(0)
    }

    /// Measures without and with open consoles, twice in turn: a machine is not as fast all the time.
    fn beside_consoles(
        &self,
        given: &Manifest,
        conditions: &Value,
        temporary: &Path,
        consoles: usize,
    ) -> anyhow::Result<u8> {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for (turn, open) in [0, consoles, 0, consoles].into_iter().enumerate() {
            let place = temporary.join(format!("consoles-{turn}"));
            let beside = Beside {
                consoles: open,
                ..Beside::default()
            };
            let Some(figures) = self.at(given, &place, &place.join("state"), beside)? else {
                return Ok(2);
            };
            let rate = figures["payments_per_second"].as_f64().unwrap_or_default();
            if open == 0 {
                without.push(rate);
            } else {
                with.push(rate);
            }
            let shown = json!({
                "consoles": open,
                "payments_per_second": rate,
                "p50_ms": figures["p50_ms"],
                "p99_ms": figures["p99_ms"],
                "host_cpu_ms_per_payment": figures["host_cpu_ms_per_payment"],
                "generator_cpu_ms_per_payment": figures["generator_cpu_ms_per_payment"],
                "read_by_consoles": figures["read_by_consoles"],
                "failed": figures["failed"],
            });
            self.show(&shown)?;
            if rate == 0.0 {
                return Ok(1);
            }
        }
        let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
        self.show(&json!({
            "payments_per_second_without": mean(&without),
            "payments_per_second_with": mean(&with),
            "with_of_without": mean(&with) / mean(&without),
            "conditions": conditions,
        }))?;
        Ok(0)
    }

    /// Print figures of one of several measurements.
    fn show(&self, figures: &Value) -> anyhow::Result<()> {
        if self.json {
            out::line(figures)?;
        } else {
            print_table(figures)?;
            out::line("")?;
        }
        Ok(())
    }

    /// Measures prepares by one payer, and then by many.
    fn one_and_many(
        &self,
        given: &Manifest,
        conditions: &Value,
        temporary: &Path,
        payers: usize,
    ) -> anyhow::Result<u8> {
        let mut each = vec![1, payers.max(1)];
        each.dedup();
        for payers in each {
            let place = temporary.join(payers.to_string());
            let Some(mut figures) = prepares::measure(self, given, &place, payers)? else {
                return Ok(2);
            };
            figures["conditions"] = conditions.clone();
            if self.json {
                out::line(&figures)?;
            } else {
                print_table(&figures)?;
                out::line("")?;
            }
            if figures["payments"] == 0 {
                return Ok(1);
            }
        }
        Ok(0)
    }

    /// How it is measured, by the options.
    fn settings(&self) -> BenchSettings {
        BenchSettings {
            load: match self.rate {
                Some(per_second) => Load::Open { per_second },
                None => Load::Closed {
                    concurrency: self.concurrency,
                },
            },
            warm_up: Duration::from_secs(self.warm_up),
            extent: Extent::For(Duration::from_secs(self.seconds)),
            ..BenchSettings::default()
        }
    }

    /// Measures a copy of the scheme in a folder of its own. None if the copy cannot be loaded.
    fn at(
        &self,
        given: &Manifest,
        place: &Path,
        state: &Path,
        beside: Beside,
    ) -> anyhow::Result<Option<Value>> {
        std::fs::create_dir(place)?;
        let scheme = place.join("scheme");
        place::copy_on_free_ports(given, &scheme)?;
        if beside.neighbour.is_some() {
            neighbour::move_in(given, &scheme)?;
        }
        if let Some(number) = self.rules {
            rules::bind(&scheme, number)?;
        }
        if let Some(candidate) = beside.candidate {
            candidates::bind(&scheme, candidate)?;
        }
        if let Some(url) = self.database.as_deref().filter(|_| beside.on_database) {
            database::put(&scheme, url)?;
        }

        if beside.audited {
            audit::sign(given, &scheme)?;
        }
        let keys = if beside.signed {
            keys::draw(given, &scheme)?
        } else {
            keys::PrivateKeys::new()
        };
        let tls = beside.secure.then(|| tls::secure(given, &scheme));
        let secrets = Secrets {
            keys,
            tls: tls.transpose()?,
        };
        let Some(manifest) = load(&scheme)? else {
            return Ok(None);
        };
        place::take_compiled(given, place, state)?;
        let figures = self.measure(&manifest, state, &secrets, &beside)?;
        place::keep_compiled(place, state)?;
        Ok(Some(figures))
    }

    fn measure(
        &self,
        manifest: &Manifest,
        state: &Path,
        secrets: &Secrets,
        beside: &Beside,
    ) -> anyhow::Result<Value> {
        let stage = Stage::set(self, manifest, state, secrets)?;
        let open = (beside.consoles > 0).then(|| {
            // They are tasks of this runtime.
            let _entered = stage.runtime.enter();
            Consoles::open(manifest, state, beside.consoles)
        });
        let open = open.transpose()?;
        let paying = beside.neighbour.map(|health| {
            let scene = &stage.scene;
            let paying = neighbour::keep_paying(manifest, health, &scene.payer, &scene.currency);
            stage.runtime.block_on(paying)
        });
        let paying = paying.transpose()?;
        let mut figures = stage.run()?;
        if let Some(paying) = paying {
            paying.abort();
        }
        if let Some(open) = open {
            figures["read_by_consoles"] = open.figures()?;
        }
        Ok(figures)
    }

    /// Settings of the FSPs: the second participant owns the parties that are paid.
    fn fsps(
        &self,
        manifest: &Manifest,
        file: &Path,
        secrets: &Secrets,
        applications: &tls::Applications,
    ) -> anyhow::Result<Vec<PartyId>> {
        let mut all = simulate::model(manifest)?;
        // A scheme may have ten thousand others, to whom nobody pays.
        let mut paying = 0;
        all.retain(|settings| {
            let is_neighbour = neighbour::is(settings.id.as_str());
            paying += usize::from(!is_neighbour);
            is_neighbour || paying <= PAYING
        });
        for settings in &mut all {
            let id = settings.id.as_str();
            settings.signing_key = secrets.keys.get(id).cloned();
            settings.tls = secrets.tls.as_ref().and_then(|pki| pki.fsp(id));
            settings.application = applications.get(id).cloned();
        }
        let parties: Vec<PartyId> = (0..self.payees.max(1))
            .map(|n| format!("MSISDN/2781{n:07}").parse().context("a party"))
            .collect::<anyhow::Result<_>>()?;
        let (neighbours, mut all_others): (Vec<_>, Vec<_>) = all
            .iter_mut()
            .partition(|settings| neighbour::is(settings.id.as_str()));
        for neighbour in neighbours {
            neighbour.parties = neighbour::parties()?;
        }
        let payee = all_others.get_mut(1);
        let payee = payee.context("the scheme has one participant")?;
        payee.parties.clone_from(&parties);
        payee.packet_padding = usize::from(self.padding);
        std::fs::write(file, serde_json::to_string(&all)?)?;
        Ok(parties)
    }
}
