//! Where in scheme.toml stands what keeps a release from going live.

use rialto_components::problem::{Part, Place, Problem};
use rialto_manifest::diagnostics::{Code, Diagnostics, Problem as Shown};
use rialto_manifest::{Scheme, source::Source};

/// A release's problems, each with its place in the scheme's document.
pub fn located(scheme: &Scheme, problems: &[Problem]) -> Diagnostics {
    let shown = problems.iter().map(|problem| {
        let Problem {
            about, what, code, ..
        } = problem;
        Shown {
            source_text: scheme.source().clone(),
            span: Some(scheme.place(&path(scheme, &problem.place))),
            code: Code::Found(code),
            message: format!("{about}: {what}"),
            help: problem.help.clone(),
        }
    });
    Diagnostics::of(shown.collect())
}

/// A problem of the scheme as a whole.
pub fn of_all(code: &'static str, message: String) -> Diagnostics {
    Diagnostics::of(vec![Shown {
        source_text: Source::new(rialto_manifest::scheme::FILE_NAME, ""),
        span: None,
        code: Code::Found(code),
        message,
        help: String::new(),
    }])
}

/// A place's path in the document: its keys, with slashes between them.
fn path(scheme: &Scheme, place: &Place) -> String {
    let component = |name: &str| {
        if scheme.contexts.contains_key(name) {
            format!("contexts/{name}")
        } else {
            format!("rules/{name}")
        }
    };
    match place {
        Place::Component(name) => component(name),
        Place::File(name) => component(name) + "/component",
        Place::Grants(name, list) => format!("{}/grants/{list}", component(name)),
        Place::Listener(name) => component(name) + "/listener",
        Place::Settings(name, pointer) => component(name) + "/settings" + &keys(pointer),
        Place::Key(_, signer, key) => Scheme::key_path(*signer, *key),
        Place::Bound(bound, part) => {
            let binding = format!("steps/{}/{}", bound.step, bound.number);
            match part {
                Part::Step => binding,
                Part::Rule => binding + "/rule",
                Part::FailureCode => binding + "/failure-code",
                Part::Settings(pointer) => binding + "/settings" + &keys(pointer),
            }
        }
    }
}

/// The keys of a JSON pointer, each behind a slash.
fn keys(pointer: &str) -> String {
    let keys = pointer.split('/').skip(1);
    let keys = keys.map(|key| key.replace("~1", "/").replace("~0", "~"));
    keys.map(|key| format!("/{key}")).collect()
}
