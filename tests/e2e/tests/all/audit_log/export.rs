//! The audit log as lines for other systems.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use rialto_tests::binaries;
use rialto_tests::scenes::committed;
use serde_json::{Value, json};
use sqlx::Connection as _;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use super::{SOON, Scene, database};
use crate::passkeys::deposit;

/// The entries in a store, but those about receipts: index, instant and bytes.
pub(super) async fn stored(state: &Path) -> Vec<(u64, u64, String)> {
    let mut connection = database(state).await;
    let query = sqlx::query_as("SELECT place, at, entry FROM audit_entries ORDER BY place");
    let rows: Vec<(i64, i64, String)> = query.fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let rows = rows.into_iter();
    rows.map(|(place, at, entry)| {
        let place = u64::try_from(place).unwrap();
        (place, u64::try_from(at).unwrap(), entry)
    })
    .filter(|(.., entry)| !entry.contains("\"action\":\"receipts.made\""))
    .collect()
}

/// The index, the instant and the action in a line of an export.
fn told(format: &str, line: &str) -> (u64, u64, String) {
    if format == "cef" {
        let field = |name: &str| {
            let name = format!("{name}=");
            let mut fields = line.split([' ', '|']);
            fields
                .find_map(|field| field.strip_prefix(&name))
                .unwrap()
                .to_owned()
        };
        let number = |name| field(name).parse().unwrap();
        return (number("externalId"), number("rt"), field("act"));
    }
    let value: Value = serde_json::from_str(line).unwrap();
    let (index, at, action) = if format == "ocsf" {
        let metadata = &value["metadata"];
        (
            &metadata["sequence"],
            &value["time"],
            &metadata["event_code"],
        )
    } else {
        let entry = &value["entry"];
        (&value["index"], &entry["at"], &entry["action"])
    };
    let number = |value: &Value| value.as_u64().unwrap();
    (
        number(index),
        number(at),
        action.as_str().unwrap().to_owned(),
    )
}

/// An instant as an argument.
fn instant(milliseconds: u64) -> String {
    let milliseconds = i64::try_from(milliseconds).unwrap();
    let instant = jiff::Timestamp::from_millisecond(milliseconds).unwrap();
    instant.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_entry_is_exported_once_and_in_order_in_each_format() {
    let scene = Scene::start().await;
    let outcome = scene.world.pay("1", "USD").await;
    committed(&outcome).unwrap();
    let (path, body) = ("/participants/payerfsp/funds", deposit("BANK-1"));
    let asked = scene.office.post("maya", path, &body).await.unwrap();
    assert_eq!(asked.status, 201, "{asked:?}");
    scene
        .about(&format!("transfer:{}", outcome.transfer_id), 2)
        .await;
    scene.signed().await;
    let stored = stored(&scene.world.scheme.state()).await;
    let wanted: Vec<(u64, u64, String)> = stored
        .iter()
        .map(|(index, at, body)| {
            let entry: Value = serde_json::from_str(body).unwrap();
            (*index, *at, entry["action"].as_str().unwrap().to_owned())
        })
        .collect();
    assert!(wanted.len() >= 8, "{wanted:?}");
    let lines = |arguments: &[&str]| {
        let output = scene.audit(&[&["export"], arguments].concat());
        assert_eq!(output.code, 0, "{output}");
        output.stdout
    };
    for format in ["cef", "ocsf", "json"] {
        let said = lines(&["--format", format]);
        let all: Vec<_> = said.lines().map(|line| told(format, line)).collect();
        // The host may have written more since.
        assert_eq!(all[..wanted.len()], wanted, "{format}");
        for (line, (.., body)) in said.lines().zip(&stored) {
            let is_whole = match format {
                "json" => line.ends_with(&format!("\"entry\":{body}}}")),
                "ocsf" => {
                    let event: Value = serde_json::from_str(line).unwrap();
                    event["raw_data"] == **body
                }
                _ => line.starts_with("CEF:0|Rialto|rialto|"),
            };
            assert!(is_whole, "{line}");
        }

        // From an instant on, and before one.
        let (since, until) = (wanted[2].1, wanted[wanted.len() - 2].1);
        let bounds = [instant(since), instant(until)];
        let said = lines(&[
            "--format", format, "--since", &bounds[0], "--until", &bounds[1],
        ]);
        let found: Vec<_> = said.lines().map(|line| told(format, line)).collect();
        let between = wanted
            .iter()
            .filter(|(_, at, _)| (since..until).contains(at));
        let between: Vec<_> = between.cloned().collect();
        assert!(!between.is_empty(), "{wanted:?}");
        assert_eq!(found, between, "{format}");
        assert_eq!(lines(&["--format", format, "--until", "9 days ago"]), "");
    }

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.cef");
    let file = file.to_str().unwrap();
    let to_file = ["--format", "cef", "--since", "1 h", "--to", file];
    assert_eq!(lines(&to_file), "");
    let written = fs::read_to_string(file).unwrap();
    let written: Vec<_> = written.lines().map(|line| told("cef", line)).collect();
    assert_eq!(written[..wanted.len()], wanted);
    let mode = fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it tells who has paid whom");
    for (arguments, help) in [
        (&to_file[..], "exists: name a new file"),
        (
            &["--format", "cef", "--since", "soon"],
            "write an instant such as",
        ),
        (
            &["--format", "cef", "--since", "1 h", "--until", "2 h"],
            "give --until an instant that is later",
        ),
        (
            &["--format", "cef", "--until", "1 h", "--follow"],
            "cannot be used with",
        ),
        (&["--format", "xml"], "cef, ocsf, json"),
        (&["log", "--format", "cef"], "cannot be used with"),
        (&["--since", "1 h"], "--format"),
        (&[], "required"),
    ] {
        let refused = scene.audit(&[&["export"], arguments].concat());
        assert_ne!(refused.code, 0, "{refused}");
        assert!(refused.said().contains(help), "{arguments:?}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn export_that_follows_has_new_entries_until_nobody_reads() {
    let scene = Scene::start().await;
    let earlier = scene.world.pay("1", "USD").await;
    committed(&earlier).unwrap();
    let mut child = Command::new(binaries::rialto().unwrap())
        .args(["audit", "export", "--format", "json", "--follow"])
        .args(["--receipts", "--at"])
        .arg(scene.folder())
        .env_remove("RIALTO_STATE")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut indexes = Vec::new();
    let mut read_to = async |id: &str| {
        let about = json!(format!("transfer:{id}"));
        loop {
            let line = lines.next_line().await.unwrap();
            let line: Value = serde_json::from_str(&line.expect("it goes on")).unwrap();
            indexes.push(line["index"].as_u64().unwrap());
            let entry = &line["entry"];
            if entry["about"] == about && entry["action"] == "transfer.committed" {
                break;
            }
        }
    };
    let first = timeout(SOON, read_to(&earlier.transfer_id)).await;
    first.expect("what is there");
    let later = scene.world.pay("2", "USD").await;
    committed(&later).unwrap();
    let second = timeout(SOON, read_to(&later.transfer_id)).await;
    second.expect("what is new");
    drop(lines);
    let all: Vec<u64> = (0..).take(indexes.len()).collect();
    assert_eq!(indexes, all);

    // Nothing is to be written, and still it ends.
    let ended = timeout(SOON, child.wait_with_output()).await;
    let ended = ended.expect("nobody reads").unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}
