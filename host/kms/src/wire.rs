//! The messages of the protocol (AWS JSON 1.1, `TrentService`).

use std::fmt;

use data_encoding::BASE64;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use zeroize::Zeroizing;

/// The longest bytes in an answer.
const BLOB_BYTES_MAX: usize = 8 * 1024;

/// What the service is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    CreateKey,
    Decrypt,
    DescribeKey,
    GenerateDataKey,
    GenerateMac,
    GetPublicKey,
    ListKeys,
    ScheduleKeyDeletion,
    Sign,
    VerifyMac,
}

impl Operation {
    /// Whether a second time does no harm when the first one may have happened.
    pub(crate) fn is_repeatable(self) -> bool {
        self != Self::CreateKey
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct CreateKey<'a> {
    pub(crate) description: &'a str,
    pub(crate) key_spec: &'static str,
    pub(crate) key_usage: &'static str,
    pub(crate) tags: [Tag<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Tag<'a> {
    pub(crate) tag_key: &'static str,
    pub(crate) tag_value: &'a str,
}

/// An answer to `CreateKey` and to `DescribeKey`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Described {
    pub(crate) key_metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Metadata {
    pub(crate) arn: String,
    pub(crate) key_state: String,
    pub(crate) key_spec: String,
}

/// A request about a key, without anything else.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct OfKey<'a> {
    pub(crate) key_id: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct PublicKeyAnswer {
    pub(crate) key_id: String,
    pub(crate) public_key: Blob,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Sign<'a> {
    pub(crate) key_id: &'a str,
    #[serde(serialize_with = "base64")]
    pub(crate) message: &'a [u8],
    pub(crate) message_type: &'static str,
    pub(crate) signing_algorithm: &'static str,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct SignAnswer {
    pub(crate) signature: Blob,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct GenerateMac<'a> {
    pub(crate) key_id: &'a str,
    #[serde(serialize_with = "base64")]
    pub(crate) message: &'a [u8],
    pub(crate) mac_algorithm: &'static str,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct GenerateMacAnswer {
    pub(crate) mac: Blob,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct VerifyMac<'a> {
    pub(crate) key_id: &'a str,
    #[serde(serialize_with = "base64")]
    pub(crate) message: &'a [u8],
    #[serde(serialize_with = "base64")]
    pub(crate) mac: &'a [u8],
    pub(crate) mac_algorithm: &'static str,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct VerifyMacAnswer {
    pub(crate) mac_valid: bool,
}

/// What a data key is bound to. The service logs it.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Context {
    pub(crate) rialto: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct GenerateDataKey<'a> {
    pub(crate) key_id: &'a str,
    pub(crate) key_spec: &'static str,
    pub(crate) encryption_context: Context,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DataKeyAnswer {
    pub(crate) key_id: String,
    pub(crate) plaintext: Blob,
    pub(crate) ciphertext_blob: Blob,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Decrypt<'a> {
    pub(crate) key_id: &'a str,
    #[serde(serialize_with = "base64")]
    pub(crate) ciphertext_blob: &'a [u8],
    pub(crate) encryption_context: Context,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DecryptAnswer {
    pub(crate) plaintext: Blob,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ScheduleKeyDeletion<'a> {
    pub(crate) key_id: &'a str,
    pub(crate) pending_window_in_days: u8,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ListKeys {
    pub(crate) limit: u8,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ListKeysAnswer {
    pub(crate) keys: Vec<ListedKey>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ListedKey {
    pub(crate) key_arn: String,
}

/// An answer that says nothing of interest.
#[derive(Deserialize)]
pub(crate) struct Done {}

/// The name of an error. Its message may have parts of the request, so nobody reads it.
#[derive(Deserialize)]
pub(crate) struct Refusal {
    #[serde(rename = "__type")]
    pub(crate) kind: String,
}

/// Bytes of an answer, overwritten with zeros when they are dropped.
pub(crate) struct Blob(pub(crate) Zeroizing<Vec<u8>>);

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(OfBase64)
    }
}

struct OfBase64;

impl Visitor<'_> for OfBase64 {
    type Value = Blob;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("base64")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Blob, E> {
        if text.len() > BASE64.encode_len(BLOB_BYTES_MAX) {
            return Err(E::custom("it is too long"));
        }
        let bytes = BASE64.decode(text.as_bytes());
        let bytes = bytes.map_err(|_| E::custom("it is no base64"))?;
        Ok(Blob(Zeroizing::new(bytes)))
    }
}

fn base64<S: Serializer>(bytes: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let text = Zeroizing::new(BASE64.encode(bytes));
    serializer.serialize_str(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_from_strict_base64_alone() {
        let read = |text: &str| serde_json::from_str::<Blob>(text).map(|blob| blob.0.to_vec());
        assert_eq!(read(r#""AAEC""#).unwrap(), [0, 1, 2]);
        assert_eq!(read(r#""\u0041AEC""#).unwrap(), [0, 1, 2]);
        assert_eq!(read(r#""""#).unwrap(), [0; 0]);
        for bad in [
            r#""AAE""#,
            r#""AAF=""#,
            r#""AA EC""#,
            r#""AA-_""#,
            "3",
            "null",
            "[0]",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let long = BASE64.encode(&[0; BLOB_BYTES_MAX + 3]);
        assert!(read(&format!("\"{long}\"")).is_err());
    }

    #[test]
    fn requests_have_the_members_of_the_protocol() {
        let text = serde_json::to_string(&Sign {
            key_id: "arn",
            message: &[0, 1, 2],
            message_type: "DIGEST",
            signing_algorithm: "ECDSA_SHA_256",
        });
        assert_eq!(
            text.unwrap(),
            r#"{"KeyId":"arn","Message":"AAEC","MessageType":"DIGEST","SigningAlgorithm":"ECDSA_SHA_256"}"#
        );
        let text = serde_json::to_string(&Decrypt {
            key_id: "arn",
            ciphertext_blob: &[0, 1, 2],
            encryption_context: Context { rialto: "a" },
        });
        assert_eq!(
            text.unwrap(),
            r#"{"KeyId":"arn","CiphertextBlob":"AAEC","EncryptionContext":{"rialto":"a"}}"#
        );
    }
}
