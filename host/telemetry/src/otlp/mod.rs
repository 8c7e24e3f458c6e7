//! Encodes what the host exports as OTLP in JSON.
//!
//! Field names and forms are those of the protocol's JSON encoding: ids in hexadecimal, 64-bit numbers
//! as text, enumerations as numbers.

mod logs;
mod traces;

use serde::Serialize;

use crate::spans::Value;

/// The media type of what [`Signal::encode`] makes.
pub const MEDIA_TYPE: &str = "application/json";

/// The target of log lines about the export. They are not exported, because a collector that refuses records would
/// refuse these too.
pub const EXPORT_TARGET: &str = "telemetry-export";

/// A kind of records that a collector takes.
pub trait Signal: Sized + Send + Sync + 'static {
    /// Their name in log lines, such as `spans`.
    const NAME: &'static str;
    /// The path of the operation that takes them, after the collector's base URL.
    const PATH: &'static str;

    /// Encodes an export request with these records.
    fn encode(resource: &Resource, records: &[Self]) -> Vec<u8>;
}

/// The service that sends records.
#[derive(Clone, Debug)]
pub struct Resource {
    /// `service.name`.
    pub service: String,
    /// `service.version`.
    pub version: &'static str,
}

impl Resource {
    fn attributes(&self) -> Attributes {
        let attribute = |key, text: &str| Attribute {
            key,
            value: Value::from(text),
        };
        Attributes {
            attributes: vec![
                attribute("service.name", &self.service),
                attribute("service.version", self.version),
            ],
        }
    }

    const fn scope(&self) -> Scope {
        Scope {
            name: "rialto",
            version: self.version,
        }
    }
}

#[derive(Serialize)]
struct Attributes {
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
struct Attribute {
    key: &'static str,
    value: Value,
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct AttributeOf<'a> {
    key: &'a str,
    value: &'a Value,
}

fn attributes_of<'a>(attributes: &'a [(&'static str, Value)]) -> Vec<AttributeOf<'a>> {
    let all = attributes.iter();
    all.map(|(key, value)| AttributeOf { key, value }).collect()
}

/// Writes an export request.
fn to_json(export: &impl Serialize) -> Vec<u8> {
    // Texts and numbers only, with texts as keys: there is nothing that JSON could refuse.
    serde_json::to_vec(export).unwrap_or_default()
}
