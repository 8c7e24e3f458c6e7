//! Shared code of the tests: WIT from a text, files in a folder, and a third-party compiler.

#![allow(dead_code, reason = "each test takes what it needs")]

use prost_types::FileDescriptorSet;
use rialto_proto::model::File;
use rialto_proto::wit::Chosen;
use rialto_proto::{Lock, Locked, checked_in, derive};
use tempfile::TempDir;
use wit_parser::Resolve;

/// WIT packages from texts, those that are used first.
pub fn resolve(texts: &[&str]) -> Resolve {
    let mut resolve = Resolve::default();
    for (n, text) in texts.iter().enumerate() {
        let path = format!("{n}.wit");
        resolve.push_source(&path, text).expect("the text is WIT");
    }
    resolve
}

/// What `text` gives under a lock.
pub fn under(lock: &Lock, text: &str) -> Locked {
    let files =
        derive(&resolve(&[text]), &Chosen::default(), lock).expect("all has a form in protobuf");
    lock.apply(files)
}

/// What breaks.
pub fn breaks(locked: &Locked) -> Vec<String> {
    let breaks = locked.breaks.iter();
    breaks
        .map(|found| format!("{} {}", found.at, found.change))
        .collect()
}

/// A folder with the files as text.
pub fn written(files: &[File]) -> TempDir {
    let folder = TempDir::new().expect("a folder can be made");
    checked_in::write(files, folder.path()).expect("files can be written");
    folder
}

/// What another compiler reads in the texts.
pub fn compiled(files: &[File]) -> FileDescriptorSet {
    let folder = written(files);
    let paths = files.iter().map(|file| folder.path().join(&file.path));
    let compiled = protox::compile(paths, [folder.path()]);
    compiled.unwrap_or_else(|error| panic!("{error:?}"))
}
