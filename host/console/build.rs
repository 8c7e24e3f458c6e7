//! Writes the table of the console's files that are built into the binary. Without a built console it is empty.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// Where `cargo xtask build` puts the console. The folder is always there, so that cargo looks only for changes.
const BUILT: &str = "../../console/dist";
/// The compressed form of a file beside it.
const COMPRESSED: &str = "gz";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={BUILT}");
    println!("cargo::rerun-if-changed=build.rs");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join(BUILT);
    let folder = folder.canonicalize()?;
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_compressed = Path::new(&name)
            .extension()
            .is_some_and(|e| e == COMPRESSED);
        if !name.starts_with('.') && !is_compressed {
            names.push(name);
        }
    }
    names.sort();
    let mut table = String::from("&[\n");
    for name in names {
        let plain = folder.join(&name);
        let compressed = folder.join(format!("{name}.{COMPRESSED}"));
        writeln!(
            table,
            "File {{ name: {name:?}, plain: include_bytes!({plain:?}), compressed: include_bytes!({compressed:?}) }},"
        )?;
    }
    table.push(']');
    let out = Path::new(&env::var("OUT_DIR")?).join("files.rs");
    fs::write(out, table)?;
    Ok(())
}
