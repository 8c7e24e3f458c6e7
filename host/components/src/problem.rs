//! Problems that keep a release from becoming current. A problem has a location, from which its line in the
//! scheme's document can be found, and a code that stays the same when the words change.

/// The part of a release that a problem is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// A context or a rule as a whole.
    Component(String),
    /// The file of its component.
    File(String),
    /// One of its lists of grants: `host`, `calls`, `publishes` or `rules`.
    Grants(String, &'static str),
    /// The listener on which it serves.
    Listener(String),
    /// Its own settings, at this JSON pointer.
    Settings(String, String),
    /// A rule at a step.
    Bound(Bound, Part),
    /// A signer's public key: the signer's name, its index among all signers, and the key's index among the
    /// signer's keys.
    Key(String, usize, usize),
}

/// A rule at a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bound {
    /// The step.
    pub step: String,
    /// How many rules of the step are asked before it.
    pub number: usize,
    /// The rule.
    pub rule: String,
}

/// The part of a rule's binding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The step: no component asks it. The same for all rules of the step.
    Step,
    /// The rule's name.
    Rule,
    /// The error code of its failure.
    FailureCode,
    /// The settings, at this JSON pointer.
    Settings(String),
    /// The candidate in its shadow.
    Shadow,
    /// The candidate's settings, at this JSON pointer.
    ShadowSettings(String),
    /// The candidate that decides in its place.
    Canary,
    /// That candidate's settings, at this JSON pointer.
    CanarySettings(String),
}

/// A problem that keeps a release from becoming current.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The component or step that it is about.
    pub about: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub help: String,
    /// The kind of problem, a stable code for programs and pages.
    pub code: &'static str,
    /// The same as `about`, for programs.
    pub location: Location,
}

impl Problem {
    /// A problem of that kind at that location.
    pub fn new(
        code: &'static str,
        location: Location,
        what: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let about = match &location {
            Location::Component(name)
            | Location::File(name)
            | Location::Grants(name, _)
            | Location::Listener(name)
            | Location::Settings(name, _)
            | Location::Key(name, ..) => name.clone(),
            Location::Bound(bound, Part::Step) => format!("step {}", bound.step),
            Location::Bound(bound, Part::Shadow | Part::ShadowSettings(_)) => {
                format!("step {}, shadow of the rule {}", bound.step, bound.rule)
            }
            Location::Bound(bound, Part::Canary | Part::CanarySettings(_)) => {
                format!("step {}, canary of the rule {}", bound.step, bound.rule)
            }
            Location::Bound(bound, _) => format!("step {}, rule {}", bound.step, bound.rule),
        };
        Self {
            about,
            what: what.into(),
            help: help.into(),
            code,
            location,
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.about, self.what)?;
        if self.help.is_empty() {
            Ok(())
        } else {
            write!(f, "\n  help: {}", self.help)
        }
    }
}
