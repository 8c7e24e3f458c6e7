//! The rules of a scheme's folder, prepared to judge inputs without a host.

use anyhow::Context as _;
use rialto_components::config::PoolSize;
use rialto_components::{Release, Runtime};
use rialto_manifest::{Diagnostics, Manifest};
use tempfile::TempDir;

use super::compiled;
use crate::limits::bytes;
use crate::located::located;
use crate::spec;

/// Prepared rules, with what they need while they are asked.
pub(super) struct Rules {
    pub release: Release,
    _runtime: Runtime,
    _compiled: TempDir,
}

/// Prepares the rules of a scheme, for so many verdicts at a time.
///
/// # Errors
/// When the system refuses; within it the problems of the rules.
pub(super) fn prepare(
    manifest: &Manifest,
    threads: usize,
) -> anyhow::Result<Result<Rules, Diagnostics>> {
    let (cache, folder) = compiled::temporary()?;
    let ceilings = &manifest.operator().ceilings;
    let pool = PoolSize {
        // One more of each: a release is instantiated while it is prepared.
        instances: u32::try_from(threads.saturating_add(1)).context("too many threads")?,
        memory_bytes_max: bytes(ceilings.memory),
        core_modules: ceilings.core_modules,
    };
    let runtime = Runtime::new(cache, pool).map_err(|e| anyhow::anyhow!("wasmtime: {e:?}"))?;
    let spec = spec::release(0, manifest.document(), |wanted| {
        let mut components = manifest.components().iter();
        let found = components.find(|c| spec::digest(c.digest) == wanted);
        found.map(|c| c.bytes.clone())
    })?;
    Ok(match runtime.prepare(&spec.rules_alone()) {
        Ok(release) => Ok(Rules {
            release,
            _runtime: runtime,
            _compiled: folder,
        }),
        Err(problems) => Err(located(manifest.scheme(), &problems)),
    })
}
