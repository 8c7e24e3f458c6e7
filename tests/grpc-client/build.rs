//! Clients from the written files: compiled by protox, made into Rust by tonic's generator over prost's. No
//! code of the host takes part.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let protos = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo::rerun-if-changed={}", protos.display());
    let mut files = Vec::new();
    found(&protos, &mut files)?;
    files.sort();
    let set = protox::compile(&files, [&protos])?;
    let out = env::var_os("OUT_DIR").map(PathBuf::from);
    let out = out.ok_or("cargo gives a folder to write to")?;
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .out_dir(out)
        .include_file("api.rs")
        .compile_fds(set)?;
    Ok(())
}

fn found(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "proto")
        {
            files.push(path);
        }
    }
    Ok(())
}
