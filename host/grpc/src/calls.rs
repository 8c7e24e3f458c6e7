//! The methods that a release serves, by path: those that its components export and the operator offers. Each release
//! has its own table.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rialto_components::names::{InterfaceName, grant_covers};
use rialto_components::{Digest, Member, Release, Role};
use rialto_engine::Name;
use rialto_proto::component::{Component, Exported, MergedFiles, tell};
use rialto_proto::model::{File, Method};
use rialto_proto::{Codec, Lock, descriptors};
use tonic_reflection::server::Builder;
use tower::util::BoxCloneSyncService;

use crate::health::QUESTION_BYTES_MAX;

/// The interfaces and events that the operator offers to clients.
#[derive(Clone, Debug, Default)]
pub struct OfferedApis {
    /// Interfaces whose functions may be called: `quoting/get-agreement`, `quoting/*`.
    pub serve: Vec<String>,
    /// Events that may be published: `participant-lifecycle-management/participant-state-updated`.
    pub events: BTreeSet<String>,
}

/// The target of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The component that exports the function.
    Component(Name),
    /// All components that export the event's interface.
    Everyone,
}

/// A method that is served.
#[derive(Clone, Debug)]
pub struct Served {
    /// The full name of its service.
    pub service: String,
    /// Its messages.
    pub method: Method,
    /// The component that runs it.
    pub target: Target,
}

/// An offered interface that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unserved {
    /// The interface, `quoting/get-agreement`; or the operator's text.
    pub interface: String,
    /// Why.
    pub why: String,
    /// Whether a component exports it.
    pub exported: bool,
}

/// A service of tower's over plain requests.
pub type Boxed = BoxCloneSyncService<
    http::Request<tonic::body::Body>,
    http::Response<tonic::body::Body>,
    std::convert::Infallible,
>;

/// The reflection services.
#[derive(Clone)]
pub struct Reflection {
    /// `grpc.reflection.v1`
    pub v1: Boxed,
    /// `grpc.reflection.v1alpha`, for older tools.
    pub v1alpha: Boxed,
}

/// The methods of a release.
pub struct Calls {
    /// The release.
    pub release: u64,
    /// Reads and writes the messages.
    pub codec: Codec,
    /// Offered interfaces that are not served.
    pub unserved: Vec<Unserved>,
    /// The files that clients are built from.
    pub files: Vec<File>,
    by_path: HashMap<String, Arc<Served>>,
    reflection: Option<Reflection>,
}

impl Default for Calls {
    fn default() -> Self {
        Self::over(0, Vec::new(), HashMap::new(), Vec::new())
    }
}

impl Calls {
    /// The methods of a release. `bytes` gives a component's file; numbers are the lock's.
    pub fn of(
        release: &Release,
        bytes: impl Fn(&Digest) -> Option<Vec<u8>>,
        offer: &OfferedApis,
        lock: &Lock,
    ) -> Self {
        let mut found = Found::default();
        let mut exports = Vec::new();
        let exporters = exporters(release, offer);
        let mut read = HashMap::new();
        for (interface, (kind, members)) in &exporters {
            // All exporters of an event have the same types; the wiring checks this.
            let first = members[0];
            let short = short(interface);
            if *kind == Kind::Call && members.len() > 1 {
                let names: Vec<&str> = members.iter().map(|m| &*m.identity.name).collect();
                let why = format!(
                    "{} export it, and a call has one answer",
                    names.join(" and ")
                );
                found.unserved(short, why);
                continue;
            }
            let component = read
                .entry(first.digest)
                .or_insert_with(|| bytes(&first.digest).and_then(|b| Component::read(&b).ok()));
            let Some(component) = component else {
                let name = &first.identity.name;
                found.unserved(short, format!("the types of `{name}` cannot be read"));
                continue;
            };
            if let Some(exported) = component.exported(interface, &offer.events, lock) {
                let target = match kind {
                    Kind::Call => Target::Component(first.identity.name.clone()),
                    Kind::Event => Target::Everyone,
                };
                exports.push((short, exported, target));
            }
        }
        let clashing = clashing(exports.iter().map(|(_, exported, _)| exported));
        for (short, exported, target) in exports {
            match clashing.get(&exported.interface) {
                Some(why) => found.unserved(short, why.clone()),
                None => found.add(short, exported, &target),
            }
        }
        found.missing(offer, exporters.keys().map(String::as_str));
        let mut files = found.together.files();
        if let Ok(own) = rialto_proto::own() {
            tell(&mut files, &own.files);
        }
        Self::over(release.number, files, found.by_path, found.unserved)
    }

    fn over(
        release: u64,
        files: Vec<File>,
        by_path: HashMap<String, Arc<Served>>,
        unserved: Vec<Unserved>,
    ) -> Self {
        let codec = Codec::new(&files);
        Self {
            release,
            codec,
            unserved,
            reflection: reflection(&files),
            files,
            by_path,
        }
    }

    /// The method at a path, `/rialto.quoting.v0_1.QuotingService/GetAgreement`.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&Arc<Served>> {
        self.by_path.get(path)
    }

    /// The paths of all methods, in their order.
    #[must_use]
    pub fn paths(&self) -> BTreeSet<&str> {
        self.by_path.keys().map(String::as_str).collect()
    }

    /// The full names of all services. The value says whether all its offered methods are served.
    #[must_use]
    pub fn services(&self) -> BTreeMap<String, bool> {
        let services = self.by_path.values().map(|served| served.service.clone());
        let mut services: BTreeMap<String, bool> = services.map(|name| (name, true)).collect();
        let broken = self.unserved.iter().filter(|unserved| unserved.exported);
        for unserved in broken {
            let of = |served: &&Arc<Served>| {
                package(&short(&served.method.interface)) == package(&unserved.interface)
            };
            for served in self.by_path.values().filter(of) {
                services.insert(served.service.clone(), false);
            }
        }
        services
    }

    pub(crate) fn reflection(&self) -> Option<&Reflection> {
        self.reflection.as_ref()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Call,
    Event,
}

/// The components that export the offered interfaces, by the interface's full name.
fn exporters<'r>(
    release: &'r Release,
    offer: &OfferedApis,
) -> BTreeMap<String, (Kind, Vec<&'r Member>)> {
    let mut exporters: BTreeMap<String, (Kind, Vec<&Member>)> = BTreeMap::new();
    let contexts = release.members.iter();
    for member in contexts.filter(|member| member.role == Role::Context) {
        for interface in &member.shape.exports {
            let short = interface.name.short();
            if interface.name.is_host() || interface.name.is_rules() {
                continue;
            }
            let kind = if interface.is_event() {
                offer.events.contains(&short).then_some(Kind::Event)
            } else {
                let covered = offer.serve.iter().any(|grant| grant_covers(grant, &short));
                covered.then_some(Kind::Call)
            };
            let Some(kind) = kind else { continue };
            let entry = exporters.entry(interface.name.to_string());
            entry.or_insert((kind, Vec::new())).1.push(member);
        }
    }
    exporters
}

#[derive(Default)]
struct Found {
    together: MergedFiles,
    by_path: HashMap<String, Arc<Served>>,
    unserved: Vec<Unserved>,
}

impl Found {
    fn unserved(&mut self, interface: String, why: String) {
        self.unserved.push(Unserved {
            interface,
            why,
            exported: true,
        });
    }

    fn add(&mut self, short: String, exported: Exported, target: &Target) {
        let files = exported.files.and_then(|files| {
            self.together.add(&files)?;
            Ok(files)
        });
        let files = match files {
            Ok(files) => files,
            Err(unfit) => return self.unserved(short, unfit.to_string()),
        };
        for file in files {
            let Some(service) = file.service else {
                continue;
            };
            let name = format!("{}.{}", file.package, service.name);
            for method in service.methods {
                let path = path(&name, &method.name);
                let served = Served {
                    service: name.clone(),
                    method,
                    target: target.clone(),
                };
                self.by_path.insert(path, Arc::new(served));
            }
        }
    }

    /// Note the offered interfaces that no component exports.
    fn missing<'e>(&mut self, offer: &OfferedApis, exported: impl Iterator<Item = &'e str>) {
        let exported: Vec<String> = exported.map(short).collect();
        let offered = offer.serve.iter().chain(&offer.events);
        for grant in
            offered.filter(|grant| !exported.iter().any(|short| grant_covers(grant, short)))
        {
            self.unserved.push(Unserved {
                interface: grant.clone(),
                why: "no component of the release exports it for calls".to_owned(),
                exported: false,
            });
        }
    }
}

fn path(service: &str, method: &str) -> String {
    format!("/{service}/{method}")
}

/// Interfaces with several compatible versions, which clients cannot tell apart. Each is not served, with the
/// reason.
fn clashing<'e>(exports: impl Iterator<Item = &'e Exported>) -> HashMap<String, String> {
    let mut by_path: HashMap<String, BTreeSet<&str>> = HashMap::new();
    for exported in exports {
        for file in exported.files.iter().flatten() {
            if let Some(service) = &file.service {
                let name = format!("{}.{}", file.package, service.name);
                for method in &service.methods {
                    let there = by_path.entry(path(&name, &method.name));
                    there.or_default().insert(&exported.interface);
                }
            }
        }
    }
    let mut clashing = HashMap::new();
    for interfaces in by_path.into_values().filter(|all| all.len() > 1) {
        let names: Vec<&str> = interfaces.iter().copied().collect();
        let why = format!(
            "{} are one to clients, and a call has one answer",
            names.join(" and ")
        );
        clashing.extend(names.iter().map(|name| ((*name).to_owned(), why.clone())));
    }
    clashing
}

fn short(interface: &str) -> String {
    let name = InterfaceName::parse(interface);
    name.map_or_else(|| interface.to_owned(), |name| name.short())
}

fn package(short: &str) -> &str {
    short.split('/').next().unwrap_or(short)
}

/// Reflection over the files; none if reflection refuses them.
fn reflection(files: &[File]) -> Option<Reflection> {
    let set = descriptors(files);
    let builder = || {
        Builder::configure()
            .register_file_descriptor_set(set.clone())
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let v1 = builder().build_v1().ok()?;
    let v1alpha = builder().build_v1alpha().ok()?;
    Some(Reflection {
        v1: BoxCloneSyncService::new(v1.max_decoding_message_size(QUESTION_BYTES_MAX)),
        v1alpha: BoxCloneSyncService::new(v1alpha.max_decoding_message_size(QUESTION_BYTES_MAX)),
    })
}

#[cfg(test)]
mod tests {
    use rialto_proto::model::Service;

    use super::*;

    fn exported(interface: &str, package: &str, calls: &[&str]) -> Exported {
        let methods = calls.iter().map(|name| Method {
            name: (*name).to_owned(),
            interface: interface.to_owned(),
            function: String::new(),
            parameters: Vec::new(),
            docs: String::new(),
            input: String::new(),
            output: String::new(),
            error: None,
            event: false,
        });
        let service = Service {
            name: "QuotingService".to_owned(),
            docs: String::new(),
            methods: methods.collect(),
        };
        let file = File {
            package: package.to_owned(),
            path: String::new(),
            docs: String::new(),
            imports: BTreeSet::new(),
            service: Some(service),
            messages: Vec::new(),
            enums: Vec::new(),
        };
        Exported {
            interface: interface.to_owned(),
            files: Ok(vec![file]),
        }
    }

    #[test]
    fn compatible_versions_that_collide_are_not_served() {
        let (old, new) = ("rialto:quoting/get@0.1.0", "rialto:quoting/get@0.1.1");
        let other = "rialto:quoting/put@0.1.1";
        let next = "rialto:quoting/get@0.2.0";
        let all = [
            exported(old, "rialto.quoting.v0_1", &["Get"]),
            exported(new, "rialto.quoting.v0_1", &["Get"]),
            exported(other, "rialto.quoting.v0_1", &["Put"]),
            exported(next, "rialto.quoting.v0_2", &["Get"]),
        ];
        let clashing = clashing(all.iter());
        let names: BTreeSet<&str> = clashing.keys().map(String::as_str).collect();
        assert_eq!(names, BTreeSet::from([old, new]));
        let why = format!("{old} and {new} are one to clients, and a call has one answer");
        assert!(clashing.values().all(|told| *told == why));
    }
}
