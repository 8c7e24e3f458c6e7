//! The checks of `[cluster]`.

use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::operator::OperatorFile;

/// Check how hosts reach each other.
pub(super) fn cluster(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let Some(cluster) = &document.value.cluster else {
        return;
    };
    let mut problem = |at: &str, code, message: String, help: &str| {
        document.problem(problems, at, code, message, help);
    };
    if document.value.store.url.is_none() {
        problem(
            "cluster",
            Code::Contradiction,
            "the scheme's store is in a folder, which one host has".to_owned(),
            "Leave [cluster] out, or name the database that the hosts share with `url` in [store].",
        );
    }
    let listen = cluster.listen.socket();
    let same = |address: std::net::SocketAddr| address.port() != 0 && address == listen;
    let mut listeners = document.value.listeners.iter();
    if let Some((name, _)) = listeners.find(|(_, one)| same(one.address.socket())) {
        problem(
            "cluster/listen",
            Code::Duplicate,
            format!("the address `{listen}` belongs to listener `{name}` already"),
            "Give other hosts an address of their own.",
        );
    }
    if listen.ip().is_unspecified() {
        problem(
            "cluster/listen",
            Code::BadValue,
            format!("`{listen}` names no address at which other hosts reach this one"),
            "Write the IP address of this machine in the network of the hosts.",
        );
    }
    let named = [&cluster.certificate, &cluster.key, &cluster.ca];
    let named = named.iter().filter(|file| file.is_some()).count();
    if named != 0 && named != 3 {
        problem(
            "cluster",
            Code::Contradiction,
            "hosts that prove who they are need all of `certificate`, `key` and `ca`".to_owned(),
            "Name all three files.",
        );
    } else if named == 0 && has_certificates(&document.value) {
        problem(
            "cluster",
            Code::Contradiction,
            "whoever has a process on this machine could pass requests as if another had shown its certificate".to_owned(),
            "Name `certificate`, `key` and `ca`, so that only hosts of the scheme can.",
        );
    } else if named == 0 && !listen.ip().is_loopback() && !listen.ip().is_unspecified() {
        problem(
            "cluster/listen",
            Code::Contradiction,
            format!("whoever reaches `{listen}` could pass requests in any participant's name"),
            "Name `certificate`, `key` and `ca`, so that only hosts of the scheme can.",
        );
    }
}

/// Whether clients of a listener prove who they are by certificates.
fn has_certificates(file: &OperatorFile) -> bool {
    let mut all = file.listeners.values().filter_map(|one| one.tls.as_ref());
    all.any(|tls| tls.client_ca.is_some() || tls.authorities_of_one().next().is_some())
}
