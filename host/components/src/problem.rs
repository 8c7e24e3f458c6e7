//! What keeps a release from going live: what it is about, in a form from which its line in the
//! scheme's document can be found, and a code that stays the same when the words do not.

/// Which part of a release a problem is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// A context or a rule as such.
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
    /// A key that the release brings for somebody who signs: who, their index among all signers, and
    /// that of the key among theirs.
    Key(String, usize, usize),
}

/// A rule at a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bound {
    /// The step.
    pub step: String,
    /// How many rules are asked before it there.
    pub number: usize,
    /// The rule.
    pub rule: String,
}

/// Which part of a rule's binding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The step, which nobody asks: it is the same for all rules there.
    Step,
    /// Which rule it is.
    Rule,
    /// The code that its failure gives.
    FailureCode,
    /// The settings, at this JSON pointer.
    Settings(String),
}

/// Something that keeps a release from going live.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The component or step that it is about.
    pub about: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub help: String,
    /// What kind of problem it is: stable, for programs and pages.
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
