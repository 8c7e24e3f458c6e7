//! What a client of the host has: clients that a standard tool made from the files in `proto/`, and what
//! every client of gRPC uses beside them. No crate of the host is used here, and none of its code: a test
//! that calls by this sees the host as others do.

#![forbid(unsafe_code)]

pub mod connection;
pub mod details;
pub mod reflected;

/// The generated clients, by protobuf package: `api::rialto::quoting::v0_1`.
#[allow(
    missing_docs,
    unreachable_pub,
    rustdoc::all,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "a tool wrote it"
)]
pub mod api {
    include!(concat!(env!("OUT_DIR"), "/api.rs"));
}

pub use connection::{Caller, Connection};
pub use details::Details;
pub use tonic;
pub use tonic_health;

/// Compile all `.proto` files of a folder, by a compiler that is not the host's.
///
/// # Errors
/// When they are none.
pub fn compile(
    folder: &std::path::Path,
) -> Result<prost_types::FileDescriptorSet, Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(protox::compile(files, [folder])?)
}
