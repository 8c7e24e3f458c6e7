//! The audit log of the payment, with `--secure`: `rialto audit verify` on it, and what that says of copies of the store
//! that somebody has changed by SQL.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rialto::out;
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, SqliteConnection};

/// How long the host may take to sign what is in the log.
const SIGNED_WITHIN: Duration = Duration::from_secs(20);
/// The time between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// The database's file in the store's folder.
const DATABASE: &str = "rialto.db";
/// The public key of the copy's log, and the folder to which its checkpoints leave.
const KEY: &str = "secrets/audit.reference.pem";
const CHECKPOINTS: &str = "checkpoints";

/// What is done to a copy, and by which statements. `{payment}` stands for the place of the payment's entry.
const ATTACKS: [(&str, &[&str]); 3] = [
    (
        "another currency in the payment's entry",
        &["UPDATE audit_entries SET entry = replace(entry, 'USD', 'RWF') WHERE place = {payment}"],
    ),
    (
        "the payment's entry removed",
        &["DELETE FROM audit_entries WHERE place = {payment}"],
    ),
    (
        "the payment's entry and the one before it in another order",
        &[
            "UPDATE audit_entries SET place = -1 WHERE place = {payment}",
            "UPDATE audit_entries SET place = {payment} WHERE place = {payment} - 1",
            "UPDATE audit_entries SET place = {payment} - 1 WHERE place = -1",
        ],
    ),
];

/// The tables of the copy's log, in rialto.toml.
pub fn settings(provider: &str) -> String {
    format!(
        "\n[audit]\norigin = \"demo.example/audit\"\nprovider = \"{provider}\"\n\
         reference = \"secrets/audit.reference\"\ncheckpoints = \"{CHECKPOINTS}\"\n"
    )
}

/// What was said of the log, and of each changed copy.
pub struct Audited {
    entries: u64,
    checkpoints: u64,
    attacks: Vec<(&'static str, Vec<String>)>,
}

/// What a check has said.
struct Said {
    entries: u64,
    signed: u64,
    checkpoints: u64,
    findings: Vec<String>,
}

impl Audited {
    /// Verify the log of a running host, when all of it is signed, and changed copies of it.
    ///
    /// # Errors
    /// When it does not hold, or a change is not found.
    pub async fn of(scheme: &Path, state: &Path, transfer: &str) -> anyhow::Result<Self> {
        let mut original = connect(state).await?;
        let (payment, said) = signed(scheme, state, transfer, &mut original).await?;
        ensure!(
            said.findings.is_empty(),
            "the audit log: {:?}",
            said.findings
        );
        let mut attacks = Vec::new();
        for (what, statements) in ATTACKS {
            let copy = tempfile::tempdir()?;
            let to = copy.path().join(DATABASE).display().to_string();
            let copied = sqlx::query("VACUUM INTO ?").bind(to);
            copied.execute(&mut original).await?;
            let mut connection = connect(copy.path()).await?;
            for statement in statements {
                let statement = statement.replace("{payment}", &payment.to_string());
                connection.execute(AssertSqlSafe(statement)).await?;
            }
            connection.close().await?;
            let said = verify(scheme, copy.path())?;
            ensure!(!said.findings.is_empty(), "nobody has found: {what}");
            attacks.push((what, said.findings));
        }
        original.close().await?;
        Ok(Self {
            entries: said.entries,
            checkpoints: said.checkpoints,
            attacks,
        })
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let attacks = self.attacks.iter();
        let attacks =
            attacks.map(|(what, findings)| json!({ "changed": what, "findings": findings }));
        json!({ "audit": {
            "entries": self.entries, "checkpoints": self.checkpoints, "findings": [],
            "attacks": attacks.collect::<Vec<_>>(),
        }})
    }

    /// For a person.
    pub fn print(&self) -> Result<(), out::Unwritten> {
        let Self {
            entries,
            checkpoints,
            attacks,
        } = self;
        out::line(format_args!(
            "\nThe audit log: {entries} entries, and each of {checkpoints} signed checkpoints fits (rialto audit verify).\n\
             Then somebody changes copies of the database by SQL. What rialto audit verify says of each:"
        ))?;
        for (what, findings) in attacks {
            out::line(format_args!("  {what}"))?;
            for finding in findings {
                out::line(format_args!("      {finding}"))?;
            }
        }
        Ok(())
    }
}

async fn connect(state: &Path) -> anyhow::Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(state.join(DATABASE));
    let opened = options.connect().await;
    opened.with_context(|| format!("opening the database in {}", state.display()))
}

/// The place of the payment's entry, and what a check says when a checkpoint covers it. Entries are in the table and signed
/// about a second after the payment.
async fn signed(
    scheme: &Path,
    state: &Path,
    transfer: &str,
    connection: &mut SqliteConnection,
) -> anyhow::Result<(i64, Said)> {
    let started = Instant::now();
    loop {
        let place = sqlx::query_scalar::<_, i64>(
            "SELECT place FROM audit_entries WHERE entry LIKE '%transfer.committed%' AND entry LIKE '%' || ? || '%'",
        );
        let place = place.bind(transfer).fetch_optional(&mut *connection);
        let place = place.await.context("finding the payment's entry")?;
        let said = verify(scheme, state)?;
        if let Some(place) = place
            && u64::try_from(place).is_ok_and(|place| place < said.signed)
        {
            return Ok((place, said));
        }
        if started.elapsed() > SIGNED_WITHIN {
            let Said {
                entries, findings, ..
            } = said;
            bail!("the payment's entry is not signed among {entries} entries: {findings:?}");
        }
        std::thread::sleep(LOOK);
    }
}

/// Run `rialto audit verify` on a store, with the key and the checkpoints that are outside it.
fn verify(scheme: &Path, state: &Path) -> anyhow::Result<Said> {
    let mut command = Command::new(host()?);
    command.args(["audit", "verify", "--json", "--key"]);
    command.arg(scheme.join(KEY)).arg("--state").arg(state);
    let outside = scheme.join(CHECKPOINTS);
    if outside.exists() {
        command.arg("--head").arg(outside);
    }
    let Output { stdout, stderr, .. } = command.output().context("running rialto audit verify")?;
    let said: Value = serde_json::from_slice(&stdout).with_context(|| {
        let stderr = String::from_utf8_lossy(&stderr);
        format!("rialto audit verify says: {stderr}")
    })?;
    let number = |name: &str| said[name].as_u64().unwrap_or_default();
    let findings = said["findings"].as_array().into_iter().flatten();
    let findings = findings.filter_map(Value::as_str).map(str::to_owned);
    Ok(Said {
        entries: number("entries"),
        signed: number("signed"),
        checkpoints: number("checkpoints"),
        findings: findings.collect(),
    })
}

/// The program `rialto`, which is built beside this one.
fn host() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("finding this program")?;
    let host = program.with_file_name("rialto");
    ensure!(
        host.exists(),
        "{} is not there; `cargo xtask demo` builds it",
        host.display()
    );
    Ok(host)
}
