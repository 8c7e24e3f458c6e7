//! This repository's contracts for clients: the checked-in files match the WIT, other compilers read them the same way,
//! and no earlier client breaks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use prost::Message as _;
use rialto_proto::model::File;
use rialto_proto::wit::Chosen;
use rialto_proto::{Locked, checked_in, descriptors, proto, wit};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn locked() -> Locked {
    checked_in::read(&root().join("wit")).unwrap_or_else(|error| panic!("{error}"))
}

const ACCEPT: &str = "if that is meant: `cargo xtask tidy --accept-wit`";

#[test]
fn no_client_of_what_is_checked_in_breaks() {
    let text = std::fs::read_to_string(root().join("wit").join(checked_in::LOCK));
    let text = text.expect("the lock is checked in");
    let locked = locked();
    let breaks: Vec<_> = locked.breaks.iter().map(ToString::to_string).collect();
    assert!(breaks.is_empty(), "{}", breaks.join("\n"));
    assert!(
        text == locked.lock.to_text(),
        "wit/ has calls, fields or values that wit/proto.lock.toml has no numbers for: {ACCEPT}"
    );
}

#[test]
fn the_checked_in_files_match_the_wit() {
    let files = locked().files;
    let mut named = BTreeSet::new();
    for file in &files {
        let path = root().join("proto").join(&file.path);
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == proto(file),
            "proto/{} is not what wit/ gives: {ACCEPT}",
            file.path
        );
        named.insert(path.canonicalize().expect("it was just read"));
    }
    let found = checked_in::found(&root().join("proto")).expect("proto/ can be listed");
    let found = found
        .into_iter()
        .map(|path| path.canonicalize().expect("it was listed"));
    assert_eq!(
        found.collect::<BTreeSet<_>>(),
        named,
        "proto/ has a file too many: {ACCEPT}"
    );
}

/// Protox is a compiler of its own: what it reads in the text must be what reflection tells.
#[test]
fn another_compiler_reads_in_the_text_what_the_descriptors_say() {
    let files = locked().files;
    let compiled = crate::support::compiled(&files);
    let ours = descriptors(&files);
    for file in &ours.file {
        let theirs = compiled
            .file
            .iter()
            .find(|other| other.name() == file.name());
        let mut theirs = theirs.expect("each file is compiled").clone();
        theirs.source_code_info = None;
        theirs.options = None;
        assert_eq!(&theirs, file, "{}", file.name());
    }
    assert_eq!(compiled.file.len(), ours.file.len());
    assert!(!ours.encode_to_vec().is_empty());
}

/// The compiler that clients use.
#[test]
fn protoc_takes_the_files() {
    let protoc = protoc_bin_vendored::protoc_bin_path().expect("protoc comes with its crate");
    let files = locked().files;
    let folder = crate::support::written(&files);
    // Protobuf's own files are not with protoc everywhere.
    let empty = folder.path().join("google/protobuf/empty.proto");
    std::fs::create_dir_all(empty.parent().expect("it is in the folder"))
        .expect("a folder can be made");
    let text = "syntax = \"proto3\";\npackage google.protobuf;\nmessage Empty {}\n";
    std::fs::write(empty, text).expect("a file can be written");
    let mut protoc = Command::new(protoc);
    protoc.arg("--proto_path").arg(folder.path());
    protoc
        .arg("--descriptor_set_out")
        .arg(folder.path().join("out"));
    protoc.args(files.iter().map(|file| &file.path));
    let output = protoc.output().expect("protoc runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn each_call_of_the_wit_is_a_method() {
    let resolve = wit::folder(&root().join("wit")).expect("wit/ is WIT");
    let events = checked_in::events(&root().join("wit")).expect("the events are listed");
    let told = events.len();
    let chosen = Chosen { events, only: None };
    let calls = wit::calls(&resolve, &chosen);
    let calls: BTreeSet<String> = calls
        .iter()
        .flat_map(|(id, functions)| {
            let of = resolve.id_of(*id).expect("it has a name");
            functions
                .iter()
                .map(move |function| format!("{of} {}", function.name))
        })
        .collect();
    let files = locked().files;
    let methods: Vec<_> = methods(&files).collect();
    assert_eq!(methods.len(), calls.len());
    let services = files.iter().filter_map(|file| file.service.as_ref());
    let served = services.flat_map(|service| &service.methods);
    assert_eq!(served.filter(|method| method.event).count(), told);
    assert_eq!(methods.into_iter().collect::<BTreeSet<_>>(), calls);
    assert!(
        calls.iter().all(|call| !call.starts_with("rialto:host/")),
        "{calls:?}"
    );
    assert!(
        calls.iter().all(|call| !call.starts_with("rialto:rules/")),
        "{calls:?}"
    );
}

fn methods(files: &[File]) -> impl Iterator<Item = String> {
    let services = files.iter().filter_map(|file| file.service.as_ref());
    let methods = services.flat_map(|service| &service.methods);
    methods.map(|method| format!("{} {}", method.interface, method.function))
}
