//! Entries that nobody can be told to write better: events of contexts, and lines of the host's log. What does not fit is
//! cut or left out, because a message that cannot be handled would stop those behind it.

use rialto_sdk::bindings::rialto::host::logging::Level as LineLevel;

use crate::bindings::exports::rialto::host::log_handler::LogLine;
use crate::bindings::exports::rialto::logging::log_write::{Event, Level as EventLevel};
use crate::entries::{
    ABOUT_BYTES_MAX, Attributed, Level, MESSAGE_BYTES_MAX, NotWritten, Said, Source, is_trace,
    write,
};
use crate::world::World;

/// The longest name of a writer, or of a part of the host, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Write the entry of an event. Beyond the number of an hour it is lost, which is how logs fail.
pub fn of_event(world: &mut impl World, event: Event) {
    let said = Said {
        level: match event.level {
            EventLevel::Debug => Level::Debug,
            EventLevel::Info => Level::Info,
            EventLevel::Warn => Level::Warn,
            EventLevel::Error => Level::Error,
        },
        message: message(&event.message),
        about: plain(&event.about, ABOUT_BYTES_MAX),
        trace: trace(event.trace),
        at: Some(event.at),
    };
    let entry = Attributed {
        writer: plain(&event.context, NAME_BYTES_MAX),
        target: String::new(),
        said,
    };
    keep(world, Source::Event, vec![entry]);
}

/// Write the entries of lines of the host's log. Beyond the number of an hour they are lost.
pub fn of_lines(world: &mut impl World, lines: Vec<LogLine>) {
    let entry = |line: LogLine| Attributed {
        writer: plain(&line.component, NAME_BYTES_MAX),
        target: plain(&line.target, NAME_BYTES_MAX),
        said: Said {
            level: match line.level {
                LineLevel::Trace | LineLevel::Debug => Level::Debug,
                LineLevel::Info => Level::Info,
                LineLevel::Warn => Level::Warn,
                LineLevel::Error => Level::Error,
            },
            message: message(&line.message),
            about: String::new(),
            trace: trace(line.trace),
            at: Some(line.time),
        },
    };
    let all: Vec<Attributed> = lines.into_iter().map(entry).collect();
    if !all.is_empty() {
        keep(world, Source::Host, all);
    }
}

/// Write entries, or lose them.
fn keep(world: &mut impl World, source: Source, all: Vec<Attributed>) {
    if let Err(NotWritten::Key(error)) = write(world, source, all) {
        world.alert(&format!(
            "entries of the log are lost, because they cannot be signed or encrypted: {error:?}"
        ));
    }
}

fn message(text: &str) -> String {
    match plain(text, MESSAGE_BYTES_MAX) {
        empty if empty.is_empty() => "-".to_owned(),
        message => message,
    }
}

fn trace(text: String) -> String {
    Some(text).filter(|text| is_trace(text)).unwrap_or_default()
}

/// The text without control characters, cut to this many bytes.
fn plain(text: &str, bytes_max: usize) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut plain: String = plain.collect();
    plain.truncate(plain.floor_char_boundary(bytes_max));
    plain
}
