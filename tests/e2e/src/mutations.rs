//! Random messages: valid ones, changed at random places. The valid ones are the seeds of the fuzz target
//! `messages`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

/// The id in all sound messages.
const ID: &str = "b51ec534-ee48-4575-b6a9-ead2955b8069";
/// Most changes of one message.
const CHANGES_MAX: usize = 3;
/// Texts that break something somewhere.
const ODD: [&str; 20] = [
    "",
    " ",
    "null",
    "0",
    "-1",
    "1.0",
    "00.5",
    "1e309",
    "NaN",
    "\u{0}",
    "\u{7f}",
    "é",
    "\u{202e}x",
    "a/b",
    "../..",
    "%00",
    "%ff",
    "%2F",
    "{}",
    "'; DROP TABLE documents; --",
];
const METHODS: [&str; 8] = [
    "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW",
];

/// A message as it goes onto the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its method.
    pub method: String,
    /// Its path, with its query.
    pub path: String,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// The id of the transfer or quote that it was about before it was changed.
    pub id: String,
}

/// Makes messages from a seed.
pub struct Mutations {
    chance: StdRng,
    sound: Vec<Message>,
}

impl Mutations {
    /// The messages of a seed.
    ///
    /// # Errors
    /// When the sound ones cannot be read.
    pub fn of(seed: u64) -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/messages");
        let mut files: Vec<_> = fs::read_dir(&folder)
            .with_context(|| format!("listing {folder:?}"))?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_>>()?;
        // The seeds that are refused as they are say so.
        let is_sound = |file: &Path| {
            let name = file.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| !name.starts_with("refused-"))
        };
        files.retain(|file| is_sound(file));
        // Otherwise the seed would not reproduce the messages.
        files.sort();
        let sound = files.iter().map(|file| {
            let text = fs::read_to_string(file)?;
            Message::read(&text).with_context(|| format!("{file:?} is no message"))
        });
        let sound: Vec<Message> = sound.collect::<Result<_>>()?;
        ensure!(!sound.is_empty(), "there are no sound messages");
        Ok(Self {
            chance: StdRng::seed_from_u64(seed),
            sound,
        })
    }

    /// The next message.
    pub fn draw(&mut self) -> Message {
        let which = self.chance.random_range(0..self.sound.len());
        let mut message = self.sound[which].clone();
        message.is_about(&self.id());
        for _ in 0..self.chance.random_range(0..=CHANGES_MAX) {
            self.change(&mut message);
        }
        message
    }

    fn id(&mut self) -> String {
        let bits: u128 = self.chance.random();
        let digits = format!("{bits:032x}");
        let (a, b, c, d) = (
            &digits[..8],
            &digits[8..12],
            &digits[13..16],
            &digits[17..20],
        );
        format!("{a}-{b}-4{c}-a{d}-{}", &digits[20..])
    }

    fn odd(&mut self) -> String {
        match self.chance.random_range(0..8) {
            0 => "9".repeat(self.chance.random_range(1..400)),
            1 => "x".repeat(self.chance.random_range(1..400)),
            _ => (*ODD.choose(&mut self.chance).unwrap_or(&"")).to_owned(),
        }
    }

    fn change(&mut self, message: &mut Message) {
        match self.chance.random_range(0..10) {
            0..=3 => self.change_json(message),
            4 => self.change_bytes(message),
            5 | 6 => self.change_headers(message),
            7 => {
                let method = METHODS.choose(&mut self.chance).unwrap_or(&"GET");
                (*method).clone_into(&mut message.method);
            }
            _ => self.change_path(message),
        }
    }

    fn change_json(&mut self, message: &mut Message) {
        let Ok(mut body) = serde_json::from_slice::<Value>(&message.body) else {
            return self.change_bytes(message);
        };
        let mut places = Vec::new();
        pointers(&body, String::new(), &mut places);
        let place = places.choose(&mut self.chance).cloned().unwrap_or_default();
        let value = match self.chance.random_range(0..8) {
            0 => Value::Null,
            1 => json!(self.chance.random::<f64>()),
            2 => vec![json!({}); 20].into(),
            3 => json!({ "a": { "b": [[[]]] } }),
            4 => Value::Bool(true),
            _ => self.odd().into(),
        };
        let (above, name) = place.rsplit_once('/').unwrap_or(("", ""));
        let above = body.pointer_mut(above).and_then(Value::as_object_mut);
        match (self.chance.random_range(0..3), above) {
            (0, Some(object)) => drop(object.remove(name)),
            _ => {
                if let Some(found) = body.pointer_mut(&place) {
                    *found = value;
                }
            }
        }
        message.body = body.to_string().into_bytes();
    }

    fn change_bytes(&mut self, message: &mut Message) {
        let body = &mut message.body;
        let place = self.chance.random_range(0..=body.len());
        match self.chance.random_range(0..4) {
            0 => body.truncate(place),
            1 => body.insert(place, self.chance.random()),
            2 => body.extend_from_within(place..),
            _ => {
                if let Some(byte) = body.get_mut(place) {
                    *byte ^= 1 << self.chance.random_range(0..8);
                }
            }
        }
    }

    fn change_headers(&mut self, message: &mut Message) {
        let count = message.headers.len();
        if count == 0 {
            return;
        }
        let place = self.chance.random_range(0..count);
        let odd = self.odd();
        let (name, value) = message.headers[place].clone();
        match self.chance.random_range(0..5) {
            0 => drop(message.headers.remove(place)),
            1 => message.headers.push((name, value)),
            2 => message.headers[place].1 = odd,
            3 => message.headers[place].1 = format!("{value}{odd}"),
            _ => message.headers[place].1 = value.replace("version=1", "version=7"),
        }
    }

    fn change_path(&mut self, message: &mut Message) {
        let odd = self.odd();
        let mut segments: Vec<&str> = message.path.split('/').collect();
        let place = self.chance.random_range(1..=segments.len().max(2) - 1);
        match self.chance.random_range(0..4) {
            0 => segments.push(&odd),
            1 if place < segments.len() => segments[place] = &odd,
            2 if place < segments.len() => drop(segments.remove(place)),
            _ => segments.push("error"),
        }
        message.path = segments.join("/");
        if !message.path.starts_with('/') {
            message.path.insert(0, '/');
        }
    }
}

/// The places of all values within a value.
fn pointers(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                pointers(member, format!("{at}/{name}"), places);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                pointers(item, format!("{at}/{n}"), places);
            }
        }
        _ => {}
    }
    places.push(at);
}

impl Message {
    /// A line `METHOD /path`, lines of headers, an empty line, the body.
    fn read(text: &str) -> Option<Self> {
        let (head, body) = text.split_once("\n\n")?;
        let mut lines = head.lines();
        let (method, path) = lines.next()?.split_once(' ')?;
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.trim().to_owned()))
        };
        Some(Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: lines.map(header).collect::<Option<_>>()?,
            body: body.as_bytes().to_vec(),
            id: ID.to_owned(),
        })
    }

    /// Gives a valid message its own ids.
    fn is_about(&mut self, id: &str) {
        self.path = self.path.replace(ID, id);
        self.body = String::from_utf8_lossy(&self.body)
            .replace(ID, id)
            .into_bytes();
        id.clone_into(&mut self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_reproduces_its_messages() {
        let some = |seed| -> Vec<Message> {
            let mut mutations = Mutations::of(seed).unwrap();
            (0..200).map(|_| mutations.draw()).collect()
        };
        assert_eq!(some(1), some(1));
        assert_ne!(some(1), some(2));
    }
}
