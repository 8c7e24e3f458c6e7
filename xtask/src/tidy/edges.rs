//! The allowed dependencies between crates of the workspace: they point one way.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Finding;
use crate::process;

/// Crates and the crates that they may use. Only `rialto-components` and `rialto-values` use wasmtime, only `rialto-edge` HTTP,
/// and backends neither.
const ALLOWED: &[(&str, &[&str])] = &[
    ("rialto-engine", &["rialto-fatal"]),
    ("rialto-events-nats", &[]),
    ("rialto-fatal", &[]),
    ("rialto-files", &[]),
    (
        "rialto-keys",
        &["rialto-fatal", "rialto-files", "rialto-signatures"],
    ),
    ("rialto-kms", &["rialto-fatal", "rialto-keys", "rialto-tls"]),
    ("rialto-manifest", &[]),
    ("rialto-telemetry", &[]),
    ("rialto-store", &["rialto-archive", "rialto-engine"]),
    ("rialto-store-copy", &["rialto-engine", "rialto-store"]),
    ("rialto-store-suite", &["rialto-engine", "rialto-store"]),
    ("rialto-archive", &[]),
    ("rialto-audit", &[]),
    ("rialto-bundles", &[]),
    ("rialto-certificates", &[]),
    ("rialto-console", &[]),
    (
        "rialto-store-sqlite",
        &[
            "rialto-archive",
            "rialto-engine",
            "rialto-files",
            "rialto-store",
        ],
    ),
    ("rialto-store-postgres", &["rialto-engine", "rialto-store"]),
    (
        "rialto-ledger",
        &["rialto-engine", "rialto-store", "rialto-store-sqlite"],
    ),
    ("rialto-openapi", &[]),
    ("rialto-personal-data", &["rialto-files"]),
    ("rialto-pkcs11", &["rialto-fatal", "rialto-keys"]),
    ("rialto-proto", &[]),
    ("rialto-receipts", &["rialto-audit"]),
    ("rialto-relay", &["rialto-edge", "rialto-tls"]),
    ("rialto-sign-in", &["rialto-signatures", "rialto-tls"]),
    ("rialto-signatures", &[]),
    ("rialto-tls", &[]),
    ("rialto-tokens", &["rialto-signatures"]),
    ("rialto-values", &[]),
    (
        "rialto-components",
        &[
            "rialto-audit",
            "rialto-certificates",
            "rialto-engine",
            "rialto-files",
            "rialto-keys",
            "rialto-receipts",
            "rialto-signatures",
            "rialto-values",
        ],
    ),
    (
        "rialto-edge",
        &[
            "rialto-components",
            "rialto-engine",
            "rialto-openapi",
            "rialto-telemetry",
            "rialto-tls",
            "rialto-tokens",
        ],
    ),
    (
        "rialto-grpc",
        &[
            "rialto-components",
            "rialto-edge",
            "rialto-engine",
            "rialto-proto",
            "rialto-telemetry",
            "rialto-tls",
        ],
    ),
    (
        "rialto",
        &[
            "rialto-archive",
            "rialto-audit",
            "rialto-bundles",
            "rialto-certificates",
            "rialto-components",
            "rialto-console",
            "rialto-edge",
            "rialto-engine",
            "rialto-events-nats",
            "rialto-files",
            "rialto-grpc",
            "rialto-keys",
            "rialto-kms",
            "rialto-ledger",
            "rialto-manifest",
            "rialto-openapi",
            "rialto-personal-data",
            "rialto-pkcs11",
            "rialto-proto",
            "rialto-receipts",
            "rialto-relay",
            "rialto-sign-in",
            "rialto-signatures",
            "rialto-simulator",
            "rialto-store",
            "rialto-store-copy",
            "rialto-store-postgres",
            "rialto-store-sqlite",
            "rialto-telemetry",
            "rialto-tls",
            "rialto-tokens",
            // The steps of Web Authentication, which a component shares.
            "rialto-webauthn",
        ],
    ),
    ("rialto-simulator", &[]),
    ("rialto-grpc-client", &[]),
    ("rialto-postgres-server", &[]),
    ("rialto-power-cut", &[]),
    (
        "rialto-demo",
        &[
            "rialto",
            "rialto-engine",
            "rialto-manifest",
            // `--cluster` starts a server.
            "rialto-postgres-server",
            "rialto-simulator",
            "rialto-telemetry",
        ],
    ),
    (
        "rialto-tests",
        &[
            "rialto",
            // To change archives as a thief would.
            "rialto-archive",
            "rialto-engine",
            "rialto-manifest",
            "rialto-openapi",
            "rialto-postgres-server",
            "rialto-simulator",
            "rialto-store",
            "rialto-store-postgres",
            "rialto-store-sqlite",
        ],
    ),
    ("rialto-filler", &["rialto-engine", "rialto-store-sqlite"]),
    ("rialto-conformance", &["rialto-simulator", "rialto-tests"]),
    (
        "rialto-simulation",
        &[
            "rialto",
            "rialto-components",
            "rialto-edge",
            "rialto-engine",
            "rialto-files",
            "rialto-manifest",
            "rialto-openapi",
            "rialto-store-sqlite",
            "rialto-tests",
        ],
    ),
    ("xtask", &["rialto-manifest", "rialto-proto"]),
];

/// External crates that only some crates may use, with these crates.
const OWNED: &[(&str, &[&str])] = &[
    // The simulated FSPs have their own signatures: an independent implementation.
    (
        "aws-lc-rs",
        &[
            // It verifies checkpoints.
            "rialto-audit",
            "rialto-certificates",
            "rialto-keys",
            // It signs requests.
            "rialto-kms",
            // It encrypts records that name people.
            "rialto-personal-data",
            // Its tests wrap keys.
            "rialto-pkcs11",
            // It derives salts by HMAC.
            "rialto-receipts",
            "rialto-signatures",
            "rialto-simulator",
            "rialto-tokens",
        ],
    ),
    ("async-nats", &["rialto-events-nats"]),
    ("cryptoki", &["rialto-pkcs11"]),
    // The host's own tokens have a stricter verifier.
    ("jsonwebtoken", &["rialto-sign-in"]),
    ("wasmtime", &["rialto-components", "rialto-values"]),
    ("wasmtime-wasi", &["rialto-components"]),
    // Tests and the demonstration damage a store by SQL, as a stranger would.
    (
        "sqlx",
        &[
            "rialto-demo",
            "rialto-store-postgres",
            "rialto-store-sqlite",
            "rialto-tests",
        ],
    ),
    // Compression of documents, which a test undoes, and SQL that shows them.
    ("zstd", &["rialto-store-sqlite", "rialto-tests"]),
    ("rusqlite", &["rialto-store-sqlite"]),
    // Its benchmark compares the two.
    ("tokio-postgres", &["rialto-store-postgres"]),
    ("hyper", HTTP),
    ("hyper-util", HTTP),
    ("http-body-util", HTTP),
    // Registries of bundles have their own protocol.
    ("oci-client", &["rialto-bundles"]),
    // The operators' API, and the control API of simulated FSPs, which have no OpenAPI document. Tests of bundles have
    // a registry that lies.
    ("axum", &["rialto", "rialto-bundles", "rialto-simulator"]),
    ("tower", &["rialto", "rialto-grpc"]),
    // The server, and the client that a tool makes for tests.
    ("tonic", &["rialto-grpc", "rialto-grpc-client"]),
    ("tokio-rustls", &["rialto-simulator", "rialto-tls"]),
    ("tracing-subscriber", &["rialto-telemetry"]),
    // The host exports the engine's counters; the engine has no metrics crate.
    ("prometheus-client", &["rialto-telemetry", "rialto"]),
];

/// Crates with HTTP: the edge for FSPs and collectors, the host for operators and as their client, the clients of a
/// cloud's keys and of an OpenID provider, and the clients in tests.
const HTTP: &[&str] = &[
    "rialto-edge",
    "rialto-grpc",
    "rialto-kms",
    "rialto-relay",
    "rialto-sign-in",
    "rialto",
    "rialto-simulator",
    "rialto-tests",
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Its source; none for a crate of this workspace.
    source: Option<String>,
    /// `dev` for tests, `build` for build scripts.
    kind: Option<String>,
}

/// Forbidden dependencies.
pub fn findings(root: &Path) -> Result<Vec<Finding>> {
    let metadata = process::output(process::cargo().current_dir(root).args([
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
    ]))
    .context("`cargo metadata` failed in the repository's root")?;
    let metadata: Metadata = serde_json::from_str(&metadata)?;
    Ok(metadata
        .packages
        .iter()
        .flat_map(|package| of_package(root, package))
        .collect())
}

fn of_package(root: &Path, package: &Package) -> Vec<Finding> {
    let file = package.manifest_path.strip_prefix(root);
    let file = file.unwrap_or(&package.manifest_path);
    let finding = |message| Finding {
        file: file.to_owned(),
        line: 0,
        message,
    };
    let name = &package.name;
    let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| known == name) else {
        let message = format!("`{name}` is not in the table of xtask/src/tidy/edges.rs: add it");
        return vec![finding(message)];
    };
    let mut findings = Vec::new();
    for dependency in &package.dependencies {
        let used = dependency.name.as_str();
        let ours = dependency.source.is_none();
        // Tests may use any crate of the workspace: nothing depends on them.
        if ours && dependency.kind.as_deref() != Some("dev") && !allowed.contains(&used) {
            findings.push(finding(format!(
                "`{name}` must not use `{used}`: dependencies point one way"
            )));
        }
        let owners = OWNED.iter().find(|(owned, _)| *owned == used);
        if let Some((_, owners)) = owners.filter(|(_, owners)| !owners.contains(&name.as_str())) {
            let owners = owners.join("` and `");
            findings.push(finding(format!("only `{owners}` may use `{used}`")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, uses: &[(&str, bool, Option<&str>)]) -> Package {
        Package {
            name: name.to_owned(),
            manifest_path: "r/Cargo.toml".into(),
            dependencies: uses
                .iter()
                .map(|(name, ours, kind)| Dependency {
                    name: (*name).to_owned(),
                    source: (!ours).then(|| "registry".to_owned()),
                    kind: kind.map(str::to_owned),
                })
                .collect(),
        }
    }

    fn count(package: &Package) -> usize {
        of_package(Path::new("r"), package).len()
    }

    #[test]
    fn dependencies_point_one_way() {
        assert_eq!(
            count(&package(
                "rialto-store-sqlite",
                &[("rialto-engine", true, None)]
            )),
            0
        );
        assert_eq!(
            count(&package("rialto-engine", &[("rialto-edge", true, None)])),
            1
        );
        let in_tests = [("rialto-store-sqlite", true, Some("dev"))];
        assert_eq!(count(&package("rialto-engine", &in_tests)), 0);
        assert_eq!(
            count(&package("rialto-edge", &[("wasmtime", false, None)])),
            1
        );
        let http = [("hyper", false, None), ("axum", false, None)];
        assert_eq!(count(&package("rialto", &http)), 0);
        assert_eq!(count(&package("rialto-edge", &http)), 1);
        assert_eq!(count(&package("rialto-engine", &http)), 2);
        assert_eq!(count(&package("rialto-new", &[])), 1);
    }

    #[test]
    fn the_table_has_no_cycle() {
        // Repeatedly remove crates that use no remaining crate.
        let mut left: Vec<_> = ALLOWED.to_vec();
        while !left.is_empty() {
            let names: Vec<_> = left.iter().map(|(name, _)| *name).collect();
            let before = left.len();
            left.retain(|(_, uses)| uses.iter().any(|used| names.contains(used)));
            assert!(left.len() < before, "a cycle among {names:?}");
        }
    }
}
