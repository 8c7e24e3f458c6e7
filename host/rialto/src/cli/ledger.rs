//! `rialto ledger`: shows and checks the ledger in a store. It reads the store's file, with or without a running
//! host.

use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rialto_ledger::check::Report;
use rialto_ledger::entries::{EntryFilter, Opening, ShownEntry};
use rialto_ledger::export::{ExportKind, Format};
use rialto_ledger::{Account, AccountType, Ledger as Books, LedgerError, decimal};
use serde_json::json;

use super::stored_in;
use crate::out::{self, Unwritten};
use crate::words;

/// Show or check the ledger in a store.
///
/// Reads one commit of the store's file, with or without a running host, and writes nothing. Meanwhile the
/// write-ahead log of a running host's store grows.
#[derive(Debug, clap::Args)]
pub(super) struct Ledger {
    #[command(subcommand)]
    verb: Verb,
    /// The scheme's folder.
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
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Print the trial balance: debits and credits of each account type, by currency and book
    Balance {
        /// Group also by this.
        #[arg(long, value_name = "WHAT")]
        by: Option<By>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Show an account with its limits
    Account {
        /// The account's id, such as `payerfsp:USD:LIQUIDITY`.
        id: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// List an account's entries with the running balance, the oldest first
    Entries(Entries),
    /// Check the ledger's invariants. The exit code is 1 if one is broken
    Check {
        /// Check only this currency.
        #[arg(long, value_name = "CODE")]
        currency: Option<String>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Write all accounts, entries or reservations to standard output
    Export {
        /// What to write.
        #[arg(long)]
        what: Exported,
        /// The format: comma-separated values, or one JSON object per line.
        #[arg(long, default_value = "csv")]
        format: As,
    },
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum By {
    Participant,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Exported {
    Accounts,
    Entries,
    Reservations,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum As {
    Csv,
    Json,
}

#[derive(Debug, clap::Args)]
struct Entries {
    /// The account's id.
    #[arg(required_unless_present = "cause")]
    account: Option<String>,
    /// List all entries of one transfer, request or settlement instead.
    #[arg(long, value_name = "ID", conflicts_with_all = ["account", "from", "to", "limit"])]
    cause: Option<String>,
    /// List only entries from this instant on, such as 2026-11-22T03:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<jiff::Timestamp>,
    /// List only entries before this instant.
    #[arg(long, value_name = "TIME")]
    to: Option<jiff::Timestamp>,
    /// The highest number to show.
    #[arg(long, default_value_t = 1000)]
    limit: usize,
    /// Print one JSON object per entry.
    #[arg(long)]
    json: bool,
}

impl Ledger {
    pub fn run(self) -> anyhow::Result<u8> {
        let stored = stored_in(&self.at, self.state.as_deref())?;
        let archives = stored.archives();
        let mut books = stored.ledger()?;
        match self.verb {
            Verb::Balance { by, json } => balance(&mut books, by.is_some(), json),
            Verb::Account { id, json } => account(&mut books, &id, json),
            Verb::Entries(entries) => entries.run(&mut books, archives),
            Verb::Check { currency, json } => {
                let report = books.check_with_archives(currency.as_deref(), archives)?;
                tell(&report, json)
            }
            Verb::Export { what, format } => export(&mut books, what, format),
        }
    }
}

fn balance(books: &mut Books, by_participant: bool, json: bool) -> anyhow::Result<u8> {
    let balance = books.balance(by_participant)?;
    if json {
        out::json(&balance)?;
    } else {
        out::text(balance.table())?;
    }
    Ok(u8::from(!balance.is_balanced()))
}

fn account(books: &mut Books, id: &str, json: bool) -> anyhow::Result<u8> {
    let of = books.account(id)?;
    let amount = |units| decimal(units, of.scale);
    let net_debit = net_debit(books, &of)?;
    if json {
        out::json(&json!({
            "id": of.id,
            "participant": of.participant,
            "accountType": of.account_type,
            "currency": of.currency,
            "state": of.state,
            "debits": amount(of.debit_balance.0),
            "credits": amount(of.credit_balance.0),
            "balance": amount(of.net()),
            "debitLimit": amount(of.debit_limit.0),
            "netDebitCap": of.net_debit_cap.map(|cap| amount(cap.0)),
            "netDebit": net_debit.map(amount),
            "liquidityThreshold": of.liquidity_threshold.map(|threshold| amount(threshold.0)),
            "unsettled": amount(of.unsettled.0),
            "settlementModel": of.settlement_model,
            "batch": of.batch,
            "opening": Opening::of(&of),
            "createdAt": of.created_at,
        }))?;
        return Ok(0);
    }
    let mut rows = vec![
        ("account", format!("{} ({})", of.id, of.state)),
        ("created", words::instant(of.created_at)),
        ("debits", amount(of.debit_balance.0)),
        ("credits", amount(of.credit_balance.0)),
        ("balance", amount(of.net())),
        ("debit limit", amount(of.debit_limit.0)),
        ("unsettled", amount(of.unsettled.0)),
    ];
    rows.extend(net_debit.map(|net| ("net debit", amount(net))));
    rows.extend(of.net_debit_cap.map(|cap| ("net debit cap", amount(cap.0))));
    let threshold = of.liquidity_threshold;
    rows.extend(threshold.map(|threshold| ("threshold", amount(threshold.0))));
    rows.extend(of.settlement_model.clone().map(|model| ("model", model)));
    rows.extend(of.batch.clone().map(|batch| ("batch", batch)));
    rows.extend(Opening::of(&of).map(|opening| ("archived", in_archives(&opening))));
    for (name, value) in rows {
        out::line(format_args!("{name:<14} {value}"))?;
    }
    Ok(0)
}

/// The archived entries of an account, with the opening balance that replaces them.
fn in_archives(opening: &Opening) -> String {
    let Opening {
        entries,
        debits,
        credits,
        balance,
        currency,
        file,
        sha256,
        ..
    } = opening;
    let until = words::instant(opening.until);
    format!(
        "{entries} entries until {until} are in archives (opening balance {balance} {currency}: debits {debits}, \
         credits {credits}); the newest is {file}, SHA-256 {sha256}"
    )
}

/// The net debit position of a liquidity account: reserved and paid funds, less received funds, of transfers that are
/// not settled.
fn net_debit(books: &mut Books, of: &Account) -> Result<Option<i128>, LedgerError> {
    if of.account_type != AccountType::Liquidity {
        return Ok(None);
    }
    let position = format!("{}:{}:POSITION", of.participant, of.currency);
    let position = books.account(&position)?;
    Ok(Some(position.net() + position.unsettled.0 - of.unsettled.0))
}

impl Entries {
    fn run(self, books: &mut Books, archives: &Path) -> anyhow::Result<u8> {
        if let Some(cause) = &self.cause {
            let mut entries = books.entries_of_cause(cause)?;
            if entries.is_empty() {
                let (archived, missing) = books.archived_entries_of(cause, archives)?;
                for file in missing {
                    out::note(format_args!("{file} is missing: it may have entries"));
                }
                entries = archived;
            }
            if entries.is_empty() {
                out::note(format_args!("{cause} has no entries"));
                return Ok(1);
            }
            return self.print(&entries);
        }
        let instant = |at: Option<jiff::Timestamp>, otherwise| {
            let at = at.map(jiff::Timestamp::as_millisecond);
            at.map_or(otherwise, |at| u64::try_from(at).unwrap_or(0))
        };
        let wanted = EntryFilter {
            from: instant(self.from, 0),
            to: instant(self.to, u64::MAX),
            limit: self.limit,
        };
        let account = self.account.as_deref().context("an account's id")?;
        let followed = books.entries_of(account, wanted)?;
        if followed.earlier {
            out::note(
                "the account has entries that are older than its history; `rialto ledger export --what entries` lists them too",
            );
        }
        if let Some(opening) = &followed.opening {
            let text = in_archives(opening);
            // With --json each line is an entry.
            if self.json {
                out::note(text);
            } else {
                out::line(text)?;
            }
        }
        self.print(&followed.entries)?;
        if followed.more {
            out::note(format_args!(
                "there are more: use --from {} or a higher --limit",
                followed
                    .entries
                    .last()
                    .map(|last| words::instant(last.posted_at))
                    .unwrap_or_default()
            ));
        }
        Ok(0)
    }

    fn print(&self, entries: &[ShownEntry]) -> anyhow::Result<u8> {
        for entry in entries {
            if self.json {
                out::json(entry)?;
                continue;
            }
            let ShownEntry {
                id,
                entry_type,
                amount,
                currency,
                debit_account,
                credit_account,
                ..
            } = entry;
            let after = entry.balance_after.as_ref();
            let after = after.map_or(String::new(), |after| format!(" -> {after}"));
            let at = words::instant(entry.posted_at);
            out::line(format_args!(
                "{at} {entry_type} {amount} {currency} from {debit_account} to {credit_account}{after}  {id}"
            ))?;
        }
        Ok(0)
    }
}

fn tell(report: &Report, json: bool) -> anyhow::Result<u8> {
    if json {
        out::json(report)?;
    } else {
        for (n, checked) in report.checks.iter().enumerate() {
            let (says, seen) = (checked.says, checked.looked_at);
            let verdict = match checked.breaches {
                0 => "ok".to_owned(),
                breaches => format!("{breaches} WRONG"),
            };
            let n = n + 1;
            out::line(format_args!("{n:>2}  {says:<68} {seen:>10}  {verdict}"))?;
        }
        for breach in &report.breaches {
            let at = report.checks.iter().position(|c| c.check == breach.check);
            let n = at.map_or(0, |at| at + 1);
            out::line(format_args!("wrong ({n}): {}", breach.text))?;
        }
        let (total, told) = (report.total(), report.breaches.len() as u64);
        if total > told {
            out::line(format_args!("and {} more", total - told))?;
        }
        if let Some(archives) = report.archives.as_ref().filter(|of| of.read > 0) {
            out::line(format_args!("{} archives of documents read", archives.read))?;
        }
        out::line(format_args!("as of turn {}", report.lsn))?;
    }
    for file in report.archives.iter().flat_map(|of| &of.missing) {
        out::note(format_args!(
            "{file} is missing: opening balances are not compared with it"
        ));
    }
    Ok(u8::from(report.total() > 0))
}

fn export(books: &mut Books, what: Exported, format: As) -> anyhow::Result<u8> {
    let what = match what {
        Exported::Accounts => ExportKind::Accounts,
        Exported::Entries => ExportKind::Entries,
        Exported::Reservations => ExportKind::Reservations,
    };
    let format = match format {
        As::Csv => Format::Csv,
        As::Json => Format::Json,
    };
    let mut stream = BufWriter::new(std::io::stdout().lock());
    let written = books.export(what, format, &mut stream);
    match written.and_then(|()| Ok(stream.flush()?)) {
        Err(LedgerError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => {
            Err(Unwritten::Closed.into())
        }
        Err(other) => Err(other.into()),
        Ok(()) => Ok(0),
    }
}
