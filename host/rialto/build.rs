//! Has cargo build the binary again when files appear or go in the folders that are built into it (`kit/embedded.rs`).

fn main() {
    for folder in ["wit", "plugins/sdk", "plugins/template"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
}
