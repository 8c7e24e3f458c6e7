//! A message as it is recorded, with its answer.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use crate::ids::FspId;

/// Which way a message went, seen from the FSP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the switch to the FSP.
    In,
    /// From the FSP to the switch.
    Out,
}

/// How a message ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// No answer yet.
    Pending,
    /// Answered with this HTTP status.
    Status(u16),
    /// Never answered, for this reason.
    Broken(String),
}

/// A message with its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// Whose recorder this is.
    pub fsp: FspId,
    /// When it was sent or received: microseconds since 1970, UTC.
    pub at_us: u64,
    /// Which way it went.
    pub direction: Direction,
    /// The HTTP method.
    #[serde(serialize_with = "method_text", deserialize_with = "text_method")]
    pub method: Method,
    /// The path, as FSPIOP names it (without the switch's own prefix), and the query.
    pub path: String,
    /// The headers.
    #[serde(serialize_with = "header_texts", deserialize_with = "texts_header")]
    pub headers: HeaderMap,
    /// The body.
    #[serde(serialize_with = "body_json", deserialize_with = "json_body")]
    pub body: Bytes,
    /// How it ended.
    pub ending: Ending,
    /// From the message to its answer, in microseconds; for a message in, the pause that the
    /// FSP's behaviour demands included.
    pub took_us: u64,
    /// The violations of the API definition in a received message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub complaints: Vec<String>,
}

impl Recorded {
    /// Reads a recording from one JSON object a line, as the control API gives it.
    pub fn from_json_lines(lines: &str) -> Result<Vec<Self>, serde_json::Error> {
        lines.lines().map(serde_json::from_str).collect()
    }

    /// A header's text; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The body as a JSON tree; `null` if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The HTTP status of the answer, if there is one.
    pub fn status(&self) -> Option<u16> {
        match self.ending {
            Ending::Status(status) => Some(status),
            Ending::Pending | Ending::Broken(_) => None,
        }
    }
}

fn method_text<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.as_str())
}

fn header_texts<S: Serializer>(headers: &HeaderMap, serializer: S) -> Result<S::Ok, S::Error> {
    let texts = headers
        .iter()
        .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())));
    serializer.collect_map(texts)
}

/// The body as JSON in its place, in one line. What is not JSON is written as text.
fn body_json<S: Serializer>(body: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_slice::<&RawValue>(body) {
        Ok(json) if !json.get().contains(['\n', '\r']) => json.serialize(serializer),
        Ok(json) => {
            let json: serde_json::Value =
                serde_json::from_str(json.get()).map_err(serde::ser::Error::custom)?;
            json.serialize(serializer)
        }
        Err(_) if body.is_empty() => serializer.serialize_none(),
        Err(_) => serializer.serialize_str(&String::from_utf8_lossy(body)),
    }
}

fn text_method<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Method, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(de::Error::custom)
}

fn texts_header<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HeaderMap, D::Error> {
    struct Texts;
    impl<'de> de::Visitor<'de> for Texts {
        type Value = HeaderMap;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object of header names and values")
        }

        fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<HeaderMap, A::Error> {
            let mut headers = HeaderMap::new();
            while let Some((name, value)) = map.next_entry::<String, String>()? {
                let name: HeaderName = name.parse().map_err(de::Error::custom)?;
                let value = HeaderValue::from_str(&value).map_err(de::Error::custom)?;
                headers.append(name, value); // a name may come again: each is kept
            }
            Ok(headers)
        }
    }
    deserializer.deserialize_map(Texts)
}

fn json_body<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
    let json = Box::<RawValue>::deserialize(deserializer)?;
    Ok(match serde_json::from_str::<Option<String>>(json.get()) {
        Ok(None) => Bytes::new(),
        Ok(Some(text)) => Bytes::from(text),
        Err(_) => Bytes::from(String::from(Box::<str>::from(json))),
    })
}
