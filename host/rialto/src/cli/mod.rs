//! The command line: the arguments of each verb, and the module that does it.

mod archive;
mod audit;
mod backtest;
mod backup;
mod bench;
mod bundle;
mod canary;
mod check;
mod cluster;
mod compiled;
mod coverage;
mod dead_letters;
mod deliveries;
mod drill;
mod events_publish;
mod init;
mod inspect;
mod instants;
mod ledger;
mod office;
mod passkey;
mod personal_data;
mod plan;
mod plugin;
mod proto;
mod receipts;
mod release;
mod rule;
mod rules_alone;
mod serve;
mod shadow;
mod simulate;
mod sql;
mod store;
mod tls_key;
mod token;
mod verdict;
mod what_if;
mod wit;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use rialto_manifest::Manifest;
use rialto_manifest::operator::FIRST_OPERATOR;
use rialto_manifest::values::{BaseUrl, Name};

pub use deliveries::Delivery;

use crate::client::Client;
use crate::out;
use crate::stored::Stored;

/// A host for payment schemes: every bounded context and every scheme rule is a sandboxed
/// WebAssembly component, wired by a manifest and replaceable while money flows.
#[derive(Debug, Parser)]
#[command(name = "rialto", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Columns of problems with documents.
const WIDTH: usize = 100;

/// The running host that a command talks to.
#[derive(Clone, Debug, clap::Args)]
struct At {
    /// The scheme's folder that the running host was started on.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "RIALTO_SCHEME",
        default_value = "."
    )]
    at: PathBuf,
    /// The folder of the store. Without it, the folder that rialto.toml names.
    #[arg(long, global = true, value_name = "DIR", env = "RIALTO_STATE")]
    state: Option<PathBuf>,
    /// The name in rialto.toml of the operator who asks. This user must be able to read that operator's token.
    #[arg(
        long = "as",
        global = true,
        value_name = "NAME",
        env = "RIALTO_OPERATOR",
        default_value = FIRST_OPERATOR
    )]
    operator: Name,
    /// The URL of a host on another machine, asked with the personal token in RIALTO_TOKEN.
    #[arg(long, global = true, value_name = "URL", env = "RIALTO_HOST")]
    host: Option<BaseUrl>,
    /// With --host: the certificates of the authority that must have certified the host, PEM. Without it, the system's.
    #[arg(long, global = true, value_name = "FILE", env = "RIALTO_CA")]
    ca: Option<PathBuf>,
}

/// The variable with a personal token. It is no argument, because everybody on a machine sees those.
const TOKEN: &str = "RIALTO_TOKEN";

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a scheme of your own, with its components, in a new or empty folder
    Init(init::Init),
    /// Run a host on a scheme's folder until Ctrl-C or SIGTERM
    Serve(serve::Serve),
    /// Check a scheme's folder without running it, and print its wiring
    Check(check::Check),
    /// Pin the digests of a scheme's components in scheme.lock
    Lock(check::Lock),
    /// Make a private key of TLS at a provider of keys, and print the request for its certificate
    TlsKey(tls_key::TlsKeyCommand),
    /// Write the `.proto` files for gRPC clients
    Proto(proto::Proto),
    /// Write the contracts of this version, by which plugins of any language are built
    Wit(wit::Wit),
    /// Plan, apply, list and roll back releases of a running host
    #[command(subcommand)]
    Release(release::Release),
    /// Sign a plan of a release, show plans and approve one with a passkey
    #[command(subcommand)]
    Plan(plan::Plan),
    /// Suspend a rule in an emergency, confirm it and end it
    #[command(subcommand)]
    Rule(rule::Rule),
    /// Ask the rules of a running host about a draft, without any effect
    WhatIf(what_if::WhatIf),
    /// Show what requests at a step would come to if a rule failed, on a copy of the running release
    Drill(drill::Drill),
    /// Count which rules have decided, by which branches and codes, and which never
    Coverage(coverage::Coverage),
    /// Show what canaries have decided in the place of rules
    #[command(subcommand)]
    Canary(canary::Canary),
    /// Show what candidates in the shadow of rules have judged
    #[command(subcommand)]
    Shadow(shadow::Shadow),
    /// Make, build, check, try and test a plugin without a host; change one plugin of a running host
    #[command(subcommand)]
    Plugin(plugin::Plugin),
    /// Pack a release or a rule as one artifact; verify, unpack, push and pull it
    #[command(subcommand)]
    Bundle(bundle::BundleCommand),
    /// Show participants, or ask for a change that another operator approves
    #[command(subcommand)]
    Participant(office::Participant),
    /// Show a participant's funds, or ask for a deposit, withdrawal or move that another operator approves
    #[command(subcommand)]
    Funds(office::Funds),
    /// Show batches and settlements; settle batches, complete or abort a settlement
    #[command(subcommand)]
    Settlement(office::Settlement),
    /// Make, list and end personal tokens; list and end sessions
    #[command(subcommand)]
    Token(token::Token),
    /// List, approve and end passkeys, by which people confirm what they approve
    #[command(subcommand)]
    Passkey(passkey::Passkey),
    /// Show and destroy the keys with which records that name people are encrypted
    #[command(subcommand)]
    PersonalData(personal_data::PersonalData),
    /// List the requests that wait for approval, approve one or reject it
    Approve(office::Approve),
    /// Show every turn about a transfer, a quote or a party; send events to NATS again
    Events(inspect::Events),
    /// Show the receipts of rules' verdicts about a transfer or a quote
    Receipts(receipts::Receipts),
    /// Show which rules were in force at an instant for a transfer or a quote, and what had been decided about it
    Verdict(verdict::Verdict),
    /// Show a component's documents
    Documents(inspect::Documents),
    /// Query the tables of a store with SQL
    Sql(sql::SqlQuery),
    /// Show outbound messages with their outcomes, or the state of their destinations
    Deliveries(deliveries::Deliveries),
    /// Show the audit log: what operators did, who and when; verify or export it
    Audit(audit::Audit),
    /// List, retry or drop dead letters; list paused components
    DeadLetters(dead_letters::DeadLetters),
    /// Show or check the accounts in a store: balances, entries, invariants
    Ledger(ledger::Ledger),
    /// List, show or verify the archives of a store
    Archive(archive::Archive),
    /// Take a checked copy of a store, beside a running host or without one
    Backup(backup::Backup),
    /// Make a store from a backup, in a new or empty folder
    Restore(backup::Restore),
    /// Copy a stopped host's store from SQLite to PostgreSQL, or back
    #[command(subcommand)]
    Store(store::Store),
    /// Show the hosts that share a scheme's database, and which of them serves
    #[command(subcommand)]
    Cluster(cluster::Cluster),
    /// Run simulated FSPs that speak FSPIOP
    Simulate(simulate::Simulate),
    /// Measure complete payments through a host and simulated FSPs on this machine
    Bench(bench::Bench),
    /// Print the version
    Version,
}

/// Run the command line. Returns the exit code.
///
/// # Errors
/// The failure that the user is told, with its causes.
pub fn run(cli: Cli) -> anyhow::Result<u8> {
    out::quietly(done(cli.command))
}

fn done(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Init(init) => init.run(),
        Command::Serve(serve) => serve.run(),
        Command::Check(check) => check.run(),
        Command::Lock(lock) => lock.run(),
        Command::TlsKey(tls_key) => tls_key.run(),
        Command::Proto(proto) => proto.run(),
        Command::Wit(wit) => wit.run(),
        Command::Release(release) => release.run(),
        Command::Plan(plan) => plan.run(),
        Command::Rule(rule) => rule.run(),
        Command::WhatIf(what_if) => what_if.run(),
        Command::Drill(drill) => drill.run(),
        Command::Coverage(coverage) => coverage.run(),
        Command::Canary(canary) => canary.run(),
        Command::Shadow(shadow) => shadow.run(),
        Command::Plugin(plugin) => plugin.run(),
        Command::Bundle(bundle) => bundle.run(),
        Command::Participant(participant) => participant.run(),
        Command::Funds(funds) => funds.run(),
        Command::Settlement(settlement) => settlement.run(),
        Command::Token(token) => token.run(),
        Command::Passkey(passkey) => passkey.run(),
        Command::PersonalData(personal_data) => personal_data.run(),
        Command::Approve(approve) => approve.run(),
        Command::Events(events) => events.run(),
        Command::Receipts(receipts) => receipts.run(),
        Command::Verdict(verdict) => verdict.run(),
        Command::Documents(documents) => documents.run(),
        Command::Sql(query) => query.run(),
        Command::Deliveries(deliveries) => deliveries.run(),
        Command::Audit(audit) => audit.run(),
        Command::DeadLetters(letters) => letters.run(),
        Command::Ledger(ledger) => ledger.run(),
        Command::Archive(archive) => archive.run(),
        Command::Backup(backup) => backup.run(),
        Command::Restore(restore) => restore.run(),
        Command::Store(store) => store.run(),
        Command::Cluster(cluster) => cluster.run(),
        Command::Simulate(simulate) => simulate.run(),
        Command::Bench(bench) => bench.run(),
        Command::Version => {
            out::line(format_args!("rialto {}", env!("CARGO_PKG_VERSION")))?;
            Ok(0)
        }
    }
}

impl At {
    fn client(&self) -> anyhow::Result<Client> {
        let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
        if let Some(host) = &self.host {
            let token = token.with_context(|| {
                format!("{host} is asked with a personal token: put one into the variable {TOKEN}")
            })?;
            return Client::at(host, self.ca.as_deref(), token);
        }
        let store = match &self.state {
            Some(state) => state.clone(),
            None => store_of(&self.at)?,
        };
        match token {
            Some(token) => Client::with_token(&store, token),
            None => Client::of(&store, self.operator.as_str()),
        }
    }
}

/// The folder of a scheme's store. Reads rialto.toml alone.
fn store_of(scheme: &Path) -> anyhow::Result<PathBuf> {
    Ok(operator_of(scheme)?.store_path(scheme))
}

/// The folders of a store and of its archives. With `--state` no scheme is needed: the archives are then in the
/// named folder, not where the scheme's own store keeps them.
fn folders_of(scheme: &Path, state: Option<&Path>) -> anyhow::Result<(PathBuf, PathBuf)> {
    if let Some(state) = state {
        return Ok((state.to_owned(), state.join("archives")));
    }
    let operator = operator_of(scheme)?;
    let store = operator.store_path(scheme);
    let archives = operator.archives_path(scheme, &store);
    Ok((store, archives))
}

/// A scheme's store, or with `--state` one in a folder, for which no scheme is needed: its archives are then in that folder,
/// not where the scheme's own store keeps them.
fn stored_in(scheme: &Path, state: Option<&Path>) -> anyhow::Result<Stored> {
    match state {
        Some(state) => Ok(Stored::in_folder(state)),
        None => {
            let operator = operator_of(scheme)?;
            let folder = operator.store_path(scheme);
            Ok(Stored::of(&operator, scheme, &folder))
        }
    }
}

/// Refuses a scheme on PostgreSQL where a command reads the folder of a store. A store that is named with `--state` is
/// one in a folder.
fn needs_a_folder(scheme: &Path, state: Option<&Path>, instead: &str) -> anyhow::Result<()> {
    let file = scheme.join("rialto.toml");
    if state.is_some() || !file.is_file() {
        return Ok(());
    }
    let operator = operator_of(scheme)?;
    anyhow::ensure!(
        operator.store.url.is_none(),
        "the scheme is on PostgreSQL (`[store] url` of {}), and this command reads an SQLite store: {instead}",
        file.display()
    );
    Ok(())
}

/// Reads a scheme's rialto.toml alone.
fn operator_of(scheme: &Path) -> anyhow::Result<rialto_manifest::Operator> {
    let path = scheme.join("rialto.toml");
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!(
            "reading {}: give the scheme's folder with --at",
            path.display()
        )
    })?;
    rialto_manifest::Operator::parse(&text)
        .map_err(|problems| anyhow::anyhow!("{}", problems.plain()))
}

/// Reads a scheme's folder. Problems go to standard error, each with its place.
fn load(scheme: &Path) -> anyhow::Result<Option<Manifest>> {
    match Manifest::load(scheme) {
        Ok(manifest) => Ok(Some(manifest)),
        Err(problems) => {
            show(&problems);
            Ok(None)
        }
    }
}

/// Prints the problems of a scheme's documents to standard error.
fn show(problems: &rialto_manifest::Diagnostics) {
    let text = problems.render_for(&std::io::stderr(), WIDTH);
    out::note(text.trim_end());
}
