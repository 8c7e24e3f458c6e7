//! Which files `wit/` has, so that the host brings its contracts with it without naming any.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let wit = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../wit")
        .canonicalize()?;
    println!("cargo::rerun-if-changed={}", wit.display());
    let mut list = String::from("[\n");
    for package in within(&wit)?.iter().filter(|path| path.is_dir()) {
        println!("cargo::rerun-if-changed={}", package.display());
        let _ = writeln!(list, "({:?}, &[", package.display().to_string());
        for file in within(package)? {
            let path = file.display().to_string();
            let _ = writeln!(list, "({path:?}, include_str!({path:?})),");
        }
        list.push_str("]),\n");
    }
    list.push(']');
    let out = env::var_os("OUT_DIR").map(PathBuf::from);
    let out = out.ok_or_else(|| io::Error::other("cargo gives a folder to write to"))?;
    fs::write(out.join("packages.rs"), list)
}

fn within(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
