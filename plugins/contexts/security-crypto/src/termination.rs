//! TLS termination (`/ssl-terminate`): which certificates and lists the host uses, when they expire, and taking new ones at
//! once. The files are the operator's; nothing of them is here.

use serde::Serialize;

use crate::bindings::rialto::host::tls::File;
use crate::world::World;

/// How long before its end a file is told to end soon: thirty days, in milliseconds.
const SOON: u64 = 30 * 24 * 3_600_000;

/// How near the end of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// More than thirty days away, or it has none.
    Valid,
    /// At most thirty days away.
    ExpiresSoon,
    /// It has passed.
    Expired,
}

/// A file that is in use.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileView {
    place: String,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
    state: State,
}

/// What became of a place's files.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadingView {
    place: String,
    is_usable: bool,
}

/// What operators see.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    #[serde(skip_serializing_if = "Option::is_none")]
    readings: Option<Vec<ReadingView>>,
    files: Vec<FileView>,
}

/// The files in use.
pub fn view(world: &mut impl World) -> View {
    let now = world.now();
    let files = world.tls_files().into_iter();
    View {
        readings: None,
        files: files.map(|file| of(file, now)).collect(),
    }
}

/// Have the host read all files again, and tell which are in use then.
pub fn read_again(world: &mut impl World) -> View {
    let readings = world.read_tls_again().into_iter();
    let readings = readings.map(|reading| ReadingView {
        place: reading.place,
        is_usable: reading.is_usable,
    });
    View {
        readings: Some(readings.collect()),
        ..view(world)
    }
}

fn of(file: File, now: u64) -> FileView {
    let state = match file.expires_at {
        Some(at) if at <= now => State::Expired,
        Some(at) if at - now <= SOON => State::ExpiresSoon,
        _ => State::Valid,
    };
    FileView {
        place: file.place,
        kind: file.kind,
        expires_at: file.expires_at,
        state,
    }
}
