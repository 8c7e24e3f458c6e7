//! `rialto check` and `rialto lock`.

use std::path::PathBuf;

use anyhow::Context as _;
use rialto_components::config::PoolSize;
use rialto_components::{Digest, Release, Runtime};
use rialto_grpc::Calls;
use rialto_manifest::{Diagnostics, Manifest};
use rialto_telemetry::logs::{self, Format};
use serde_json::json;

use super::{WIDTH, compiled, show};
use crate::calls::Offering;
use crate::events_outside;
use crate::fitting::misfits;
use crate::keys;
use crate::limits::bytes;
use crate::located::{located, of_operator, offered_in_vain};
use crate::out;
use crate::passkeys::verifying;
use crate::plans::Officers;
use crate::refusals;
use crate::sign_in;
use crate::signatures::OperatorKeys;
use crate::spec;
use crate::tls::HostTls;
use crate::words;

/// The exit code for a scheme with problems.
const UNFIT: u8 = 2;

#[derive(Debug, clap::Args)]
pub(super) struct Check {
    /// The scheme's folder.
    scheme: PathBuf,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Lock {
    /// The scheme's folder.
    scheme: PathBuf,
}

impl Check {
    pub fn run(self) -> anyhow::Result<u8> {
        // What components say of settings that can be used and may be a slip.
        logs::start("component=warn", Format::Text)?;
        let manifest = match Manifest::load(&self.scheme) {
            Ok(manifest) => manifest,
            Err(problems) => return self.refuse(&problems),
        };
        let release = match prepare(&manifest)? {
            Ok(release) => release,
            Err(problems) => return self.refuse(&problems),
        };
        let offering = Offering::of(manifest.operator(), manifest.folder())?;
        let calls = offering.map(|offering| {
            offering.calls(&release, |wanted| {
                let mut components = manifest.components().iter();
                let found = components.find(|c| spec::digest(c.digest) == *wanted);
                found.map(|c| c.bytes.to_vec())
            })
        });
        let calls = calls.transpose()?;
        if let Some(calls) = &calls {
            let document = manifest.folder().join(rialto_manifest::operator::FILE_NAME);
            let document = std::fs::read_to_string(document).context("reading rialto.toml")?;
            if let Some(problems) = offered_in_vain(&document, &release, calls) {
                return self.refuse(&problems);
            }
        }
        if self.json {
            out::line(summary(&manifest, &release, calls.as_ref()))?;
        } else {
            let colours = words::colours();
            let verdict = format!(
                "scheme {}: {} components fit together, {} links",
                manifest.scheme().name,
                release.members.len(),
                release.wiring.links.len(),
            );
            out::line(&verdict)?;
            out::text(words::wiring(&release, colours))?;
            out::text(words::scheme(&manifest, colours))?;
            out::text(words::refusals(&refusals::possible(
                &release,
                manifest.scheme(),
            )))?;
            if let Some(calls) = &calls {
                out::text(words::calls(calls, colours))?;
            }
            out::line(format_args!("release digest {}\n{verdict}", release.digest))?;
        }
        Ok(0)
    }

    /// Prints the problems, and with `--json` also as JSON.
    fn refuse(&self, problems: &Diagnostics) -> anyhow::Result<u8> {
        if self.json {
            out::json(&refusal(problems))?;
        } else {
            // The verdict comes first and last: a long list scrolls out of sight.
            let verdict = format!("the scheme does not fit: {}", problems.count());
            let each = problems.render_each_for(&std::io::stderr(), WIDTH);
            out::note(format_args!("{verdict}\n\n{each}{verdict}"));
        }
        Ok(UNFIT)
    }
}

/// The problems for which a scheme is refused.
fn refusal(problems: &Diagnostics) -> serde_json::Value {
    let problems = problems.problems().iter().map(|problem| {
        let source = &problem.source_text;
        let at = problem
            .span
            .as_ref()
            .map(|s| source.line_and_column(s.start));
        json!({
            "code": problem.code.to_string(),
            "file": source.name(),
            "line": at.map(|(line, _)| line),
            "column": at.map(|(_, column)| column),
            "message": problem.message,
            "help": problem.help,
        })
    });
    json!({ "fits": false, "problems": problems.collect::<Vec<_>>() })
}

/// Does with a scheme all that `serve` does before it serves.
fn prepare(manifest: &Manifest) -> anyhow::Result<Result<Release, Diagnostics>> {
    let (cache, _folder) = compiled::open(&manifest.store_path())?;
    let ceilings = &manifest.operator().ceilings;
    let pool = PoolSize {
        instances: 32,
        memory_bytes_max: bytes(ceilings.memory),
        core_modules: ceilings.core_modules,
    };
    if let Err(error) = OperatorKeys::read(manifest.operator(), manifest.folder()) {
        return Ok(Err(of_operator("bad-key", format!("{error:#}"))));
    }
    let keys = match keys::check(manifest.operator(), manifest.folder()) {
        Ok(keys) => keys,
        Err(error) => return Ok(Err(of_operator("bad-keys", format!("{error:#}")))),
    };
    if let Err(error) = HostTls::read(manifest.operator(), manifest.folder(), &keys) {
        return Ok(Err(of_operator("bad-tls", format!("{error:#}"))));
    }
    if let Err(error) = sign_in::check(manifest.operator(), manifest.folder()) {
        return Ok(Err(of_operator("bad-sign-in", format!("{error:#}"))));
    }
    if let Err(error) = verifying::relying_party(manifest.operator()) {
        return Ok(Err(of_operator("bad-passkeys", format!("{error:#}"))));
    }
    if let Err(error) = Officers::of(manifest.operator()) {
        return Ok(Err(of_operator("bad-officer", format!("{error:#}"))));
    }
    let runtime = Runtime::new(cache, pool).map_err(|e| anyhow::anyhow!("wasmtime: {e:?}"))?;
    let spec = spec::release(0, manifest.document(), |wanted| {
        let mut components = manifest.components().iter();
        let found = components.find(|c| spec::digest(c.digest) == wanted);
        found.map(|c| c.bytes.clone())
    })?;
    let release = match runtime.prepare(&spec) {
        Ok(release) => release,
        Err(problems) => return Ok(Err(located(manifest.scheme(), &problems))),
    };
    if let Some(publish) = events_outside::wanted(manifest.operator())
        && let [problem, ..] = events_outside::in_vain(publish, &release).as_slice()
    {
        let message = format!("[events.publish]: {problem}");
        return Ok(Err(of_operator("bad-events", message)));
    }
    let listeners = manifest.operator().listeners.keys();
    let listeners = listeners.map(|name| name.as_str());
    if let Some(problems) = misfits(&release, manifest.scheme(), listeners) {
        return Ok(Err(problems));
    }
    Ok(Ok(release))
}

fn summary(manifest: &Manifest, release: &Release, calls: Option<&Calls>) -> serde_json::Value {
    let members = release.members.iter().map(|member| {
        json!({
            "name": &*member.identity.name,
            "digest": Digest::to_string(&member.digest),
            "imports": member.shape.imports.iter().map(|i| i.name.to_string()).collect::<Vec<_>>(),
            "exports": member.shape.exports.iter().map(|i| i.name.to_string()).collect::<Vec<_>>(),
        })
    });
    let mut summary = json!({
        "fits": true,
        "scheme": manifest.scheme().name.as_str(),
        "digest": release.digest.to_string(),
        "links": release.wiring.links.len(),
        "components": members.collect::<Vec<_>>(),
        "refusals": refusals::possible(release, manifest.scheme()),
    });
    let counters = counters(release);
    if !counters.is_empty() {
        summary["counters"] = counters.into();
    }
    if let Some(calls) = calls {
        let unserved = calls.unserved.iter();
        summary["calls"] = json!({
            "served": calls.paths(),
            "unserved": unserved
                .map(|unserved| json!({ "interface": unserved.interface, "why": unserved.why }))
                .collect::<Vec<_>>(),
        });
    }
    summary
}

/// The counters that each rule needs.
fn counters(release: &Release) -> Vec<serde_json::Value> {
    let rules = release.steps.iter();
    let rules = rules.flat_map(|(step, rules)| rules.iter().map(move |rule| (step, rule)));
    let counting = rules.filter_map(|(step, rule)| {
        let counters = rule.counters_as_json();
        (!counters.is_empty())
            .then(|| json!({ "step": &**step, "rule": &*rule.identity.name, "counters": counters }))
    });
    counting.collect()
}

impl Lock {
    pub fn run(self) -> anyhow::Result<u8> {
        match rialto_manifest::lock(&self.scheme) {
            Ok(lock) => {
                for (kind, name, digest) in lock.digests.iter() {
                    out::line(format_args!("{kind:<8} {name:<34} {digest}"))?;
                }
                Ok(0)
            }
            Err(problems) => {
                show(&problems);
                Ok(UNFIT)
            }
        }
    }
}
