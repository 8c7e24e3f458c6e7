//! The offered methods and their files: `rialto check`, `rialto proto`, other compilers, the metrics, the
//! history.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use rialto_grpc_client::reflected;
use rialto_tests::{CliOutput, RunningHost, binaries};

use crate::grpc::support::{ALL, Clients, add_friend, metrics, number, offering, order};

fn rialto(arguments: &[&str]) -> CliOutput {
    let rialto = binaries::rialto().unwrap();
    CliOutput::of(rialto, |command| {
        command.args(arguments);
    })
    .unwrap()
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The methods in the files, as a compiler that is not the host's reads them.
fn compiled(folder: &Path) -> BTreeSet<String> {
    let set = rialto_grpc_client::compile(folder).unwrap();
    let mut methods = BTreeSet::new();
    for file in &set.file {
        for service in &file.service {
            let names = service.method.iter().map(|method| method.name());
            let service = format!("{}.{}", file.package(), service.name());
            methods.extend(names.map(|name| format!("{service}/{name}")));
        }
    }
    methods
}

#[tokio::test(flavor = "multi_thread")]
async fn proto_files_match_reflection_and_keep_foreign_numbers() {
    // The friend exports calls and no events.
    let scheme = offering(&ALL.replace("    \"hostile-context/happened\",\n", ""));
    add_friend(&scheme, "memory = \"8 MiB\"");
    let path = scheme.path().display().to_string();
    let checked = rialto(&["check", &path]).success().unwrap();
    assert!(
        checked.contains("note: hostile-context/echo is offered by gRPC and not served"),
        "{checked}"
    );
    let written = number(&scheme);
    let lock = scheme.path().join("proto.lock.toml");
    let numbers = std::fs::read_to_string(&lock).unwrap();
    assert!(
        numbers.contains("rialto.hostile_context.v0_1.EchoRequest"),
        "{numbers}"
    );
    assert!(
        !numbers.contains("rialto.scheduling"),
        "the host's own are kept once: {numbers}"
    );
    let checked = rialto(&["check", &path]).success().unwrap();
    assert!(
        checked.contains("gRPC rialto.hostile_context.v0_1.HostileContextService/Echo"),
        "{checked}"
    );
    let again = number(&scheme);
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), numbers);
    let text = |folder: &Path| {
        let files = files(folder).into_iter();
        files
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(text(written.path()), text(again.path()));

    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    let listed = reflected::methods(clients.connection).await.unwrap();
    for method in ["Check", "Watch"] {
        let health = format!("grpc.health.v1.Health/{method}");
        assert!(listed.iter().any(|listed| *listed == health), "{listed:?}");
    }
    let ours: BTreeSet<String> = listed
        .into_iter()
        .filter(|m| m.starts_with("rialto."))
        .collect();
    assert_eq!(compiled(written.path()), ours);
}

#[test]
fn hosts_proto_files_are_checked_in_and_compile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let listed = rialto(&["proto", &path, "--json"]).success().unwrap();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert!(listed["files"].as_array().unwrap().len() > 4, "{listed}");
    let checked_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    let text = |folder: &Path| {
        let all = files(folder).into_iter().map(|path| {
            let name = path.strip_prefix(folder).unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        });
        all.collect::<Vec<_>>()
    };
    assert_eq!(text(folder.path()), text(&checked_in));
    // The compiler that most clients use.
    let mut protoc = Command::new(protoc_bin_vendored::protoc_bin_path().unwrap());
    protoc
        .arg("--proto_path")
        .arg(folder.path())
        .args(files(folder.path()));
    protoc
        .arg("--descriptor_set_out")
        .arg(folder.path().join("out"));
    let output = protoc.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_counted_and_told() {
    let scheme = offering(ALL);
    add_friend(&scheme, "memory = \"8 MiB\"");
    number(&scheme);
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    order(&clients.connection, "nothing").await.unwrap();
    order(&clients.connection, "trap").await.unwrap_err();
    let metrics = metrics(host.url("operators").unwrap());
    let method = "rialto.hostile_context.v0_1.HostileContextService/Echo";
    for status in ["OK", "INTERNAL"] {
        let line = format!("rialto_grpc_calls_total{{method=\"{method}\",status=\"{status}\"}} 1");
        assert!(
            metrics.lines().any(|found| found == line),
            "{line}: {metrics}"
        );
    }
    assert!(host.log().contains("the friend traps"), "{}", host.log());
}
