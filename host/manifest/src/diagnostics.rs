//! The problems of a scheme's documents, and their output.
//!
//! A problem has a stable code, a position, a message that holds the offending text, and a sentence
//! that says what to do. [`Diagnostics::plain`] is for logs and snapshots, [`Diagnostics::render`]
//! for a person at a terminal.

use std::fmt::{self, Write as _};
use std::io::IsTerminal;
use std::ops::Range;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan};

use crate::passwords::without_passwords;
use crate::source::Source;

/// The kind of a problem. The codes are stable, for programs and documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// A file cannot be read or written.
    Unreadable,
    /// A document is not TOML.
    Syntax,
    /// A key that is not allowed.
    UnknownKey,
    /// A required key is missing.
    MissingKey,
    /// A value of the wrong type.
    WrongType,
    /// A value that is not allowed for its key.
    BadValue,
    /// A name that nothing has.
    UnknownName,
    /// The same thing twice.
    Duplicate,
    /// An amount with more decimals than its currency.
    OverPrecise,
    /// A limit beyond the operator's ceiling.
    CeilingExceeded,
    /// A grant beyond the operator's, or one without effect.
    NotGranted,
    /// Two keys that contradict each other.
    Contradiction,
    /// A missing component.
    MissingComponent,
    /// A component without a pinned digest.
    Unpinned,
    /// A component with another digest than the pinned one.
    DigestMismatch,
    /// `scheme.lock` pins something that needs no pin.
    StaleLock,
    /// A problem found by another crate, with that crate's code.
    Found(&'static str),
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable => "unreadable",
            Self::Syntax => "syntax",
            Self::UnknownKey => "unknown-key",
            Self::MissingKey => "missing-key",
            Self::WrongType => "wrong-type",
            Self::BadValue => "bad-value",
            Self::UnknownName => "unknown-name",
            Self::Duplicate => "duplicate",
            Self::OverPrecise => "over-precise",
            Self::CeilingExceeded => "ceiling-exceeded",
            Self::NotGranted => "not-granted",
            Self::Contradiction => "contradiction",
            Self::MissingComponent => "missing-component",
            Self::Unpinned => "unpinned",
            Self::DigestMismatch => "digest-mismatch",
            Self::StaleLock => "stale-lock",
            Self::Found(code) => code,
        })
    }
}

/// A problem.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// The document.
    pub source_text: Source,
    /// The position in bytes; none if the problem concerns the whole file.
    pub span: Option<Range<usize>>,
    /// Its kind.
    pub code: Code,
    /// The problem in words, with the offending text.
    pub message: String,
    /// The remedy: a sentence.
    pub help: String,
}

impl Problem {
    /// `scheme.toml:12:5`, or the file alone.
    #[must_use]
    pub fn position(&self) -> String {
        let name = self.source_text.name();
        match &self.span {
            Some(span) => {
                let (line, column) = self.source_text.line_and_column(span.start);
                format!("{name}:{line}:{column}")
            }
            None => name.to_owned(),
        }
    }
}

impl Problem {
    /// Whether there is text to show at its position. A part that the whole document lacks has no
    /// position, and an unreadable document has no lines.
    fn has_lines(&self) -> bool {
        let Some(span) = &self.span else {
            return false;
        };
        let lacking = self.code == Code::MissingKey && span.is_empty();
        !lacking && !self.source_text.line(span.start).trim().is_empty()
    }
}

/// A problem for output to people.
#[derive(Debug)]
struct Shown<'a> {
    problem: &'a Problem,
    /// Whether to show the lines around it. Otherwise the message names the file.
    framed: bool,
    /// Whether to show the remedy.
    helps: bool,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.framed {
            write!(f, "{}: ", self.problem.source_text.name())?;
        }
        f.write_str(&self.problem.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.problem.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = Some(&self.problem.help).filter(|_| self.helps);
        help.map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.framed
            .then_some(&self.problem.source_text as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.problem.span.clone().filter(|_| self.framed)?;
        let label = LabeledSpan::new_primary_with_span(Some("here".to_owned()), span);
        Some(Box::new(std::iter::once(label)))
    }
}

/// All problems, in the order of the documents; at least one.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    problems: Vec<Problem>,
}

impl Diagnostics {
    /// The problems.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// One problem a line, followed by what to do, once for several in a row; no colours, no width,
    /// no paths.
    #[must_use]
    pub fn plain(&self) -> String {
        let mut text = String::new();
        for (n, problem) in self.problems.iter().enumerate() {
            let _ = writeln!(text, "{}: {}", problem.position(), problem.message);
            if self.helps(n) {
                let _ = writeln!(text, "    help: {}", problem.help);
            }
        }
        without_passwords(&text)
    }

    /// Problems that somebody else found, in the order of the documents.
    #[must_use]
    pub fn of(problems: Vec<Problem>) -> Self {
        let mut diagnostics = Self { problems };
        diagnostics.sort();
        diagnostics
    }

    /// For a person: each problem with the lines of the document around it, a blank line between two.
    /// What helps against several problems in a row is said once, behind the last of them.
    #[must_use]
    pub fn render(&self, colours: bool, width: usize) -> String {
        let mut text = self.render_each(colours, width);
        let _ = writeln!(text, "{}", self.count());
        text
    }

    /// The same, without how many there are.
    #[must_use]
    pub fn render_each(&self, colours: bool, width: usize) -> String {
        let theme = if colours {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(width)
            .with_links(false);
        let mut text = String::new();
        for (n, problem) in self.problems.iter().enumerate() {
            let shown = Shown {
                problem,
                framed: problem.has_lines(),
                helps: self.helps(n),
            };
            if handler.render_report(&mut text, &shown).is_err() {
                let _ = writeln!(text, "{}: {}", problem.position(), problem.message);
            }
            text.push('\n');
        }
        without_passwords(&text)
    }

    /// As [`Self::render`], with colours only where a terminal shows them and nobody asked for none.
    #[must_use]
    pub fn render_for(&self, stream: &impl IsTerminal, width: usize) -> String {
        self.render(colours(stream), width)
    }

    /// As [`Self::render_each`], with colours as for [`Self::render_for`].
    #[must_use]
    pub fn render_each_for(&self, stream: &impl IsTerminal, width: usize) -> String {
        self.render_each(colours(stream), width)
    }

    /// Whether what to do is said behind this problem: behind the last of several for which it is the
    /// same.
    fn helps(&self, n: usize) -> bool {
        let help = self.problems.get(n).map_or("", |problem| &problem.help);
        let next = self.problems.get(n + 1).map(|next| next.help.as_str());
        !help.is_empty() && next != Some(help)
    }

    /// How many problems there are, in words.
    #[must_use]
    pub fn count(&self) -> String {
        match self.problems.len() {
            1 => "1 problem".to_owned(),
            n => format!("{n} problems"),
        }
    }

    pub(crate) fn push(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// The value, unless there are problems. Sorts them: by document, then by position.
    pub(crate) fn or<T>(mut self, value: Option<T>) -> Result<T, Self> {
        match value {
            Some(value) if self.problems.is_empty() => Ok(value),
            _ => {
                self.sort();
                Err(self)
            }
        }
    }

    fn sort(&mut self) {
        self.problems.sort_by_key(|problem| {
            let name = problem.source_text.name();
            let document = DOCUMENTS.iter().position(|document| *document == name);
            (document, problem.span.as_ref().map(|span| span.start))
        });
    }
}

/// Whether colours are shown there and nobody asked for none.
fn colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// The order in which documents are reported.
const DOCUMENTS: [&str; 3] = [
    crate::operator::FILE_NAME,
    crate::scheme::FILE_NAME,
    crate::lock::FILE_NAME,
];

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plain().trim_end())
    }
}

impl std::error::Error for Diagnostics {}
