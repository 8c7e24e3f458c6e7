//! An authenticator in software, with the browser before it, for tests. Its fields may be changed, so that it behaves badly.

use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::options::base64url;

/// The user has touched it.
pub const PRESENT: u8 = 1;
/// It has verified the user.
pub const VERIFIED: u8 = 4;

/// An authenticator with one credential.
pub struct Authenticator {
    key: SigningKey,
    /// The credential's id.
    pub id: Vec<u8>,
    /// The relying party that it signs for.
    pub party: String,
    /// The origin of the page.
    pub origin: String,
    /// Flags of its answers.
    pub flags: u8,
    /// The counter of its next answer; it grows by one.
    pub count: u32,
    /// The public key as COSE.
    pub cose: Vec<u8>,
    /// The handle of the user, which it was given.
    pub handle: Value,
}

impl Authenticator {
    /// An authenticator whose key and credential are made of a number.
    ///
    /// # Panics
    /// When the number is 0.
    #[must_use]
    pub fn new(number: u8, party: &str, origin: &str) -> Self {
        let key = SigningKey::from_slice(&[number; 32]).expect("a number other than 0 is a key");
        let point = key.verifying_key().to_sec1_point(false);
        // kty: EC2, alg: ES256, crv: P-256, x, y.
        let cose = [
            &[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20][..],
            &point.as_bytes()[1..33],
            &[0x22, 0x58, 0x20],
            &point.as_bytes()[33..],
        ]
        .concat();
        Self {
            key,
            id: vec![number; 16],
            party: party.to_owned(),
            origin: origin.to_owned(),
            flags: PRESENT | VERIFIED,
            count: 1,
            cose,
            handle: Value::Null,
        }
    }

    /// The answer to options of a registration: RegistrationResponseJSON.
    ///
    /// # Panics
    /// When the credential is longer than its lengths can say.
    pub fn create(&mut self, options: &Value) -> Value {
        self.handle = options["user"]["id"].clone();
        let credential = [
            &[0; 16][..],
            &u16::try_from(self.id.len())
                .expect("an id is short")
                .to_be_bytes(),
            &self.id,
            &self.cose,
        ]
        .concat();
        let data = self.data(0x40, &credential);
        // {"fmt": "none", "attStmt": {}, "authData": data}
        let object = [
            &[0xa3, 0x63][..],
            b"fmt",
            &[0x64],
            b"none",
            &[0x67],
            b"attStmt",
            &[0xa0, 0x68],
            b"authData",
            &[0x59],
            &u16::try_from(data.len())
                .expect("the data are short")
                .to_be_bytes(),
            &data,
        ]
        .concat();
        let client = self.client_data("webauthn.create", options);
        self.told(json!({
            "clientDataJSON": base64url(client.as_bytes()),
            "attestationObject": base64url(&object),
            "transports": ["usb"],
        }))
    }

    /// The answer to options of an authentication: AuthenticationResponseJSON.
    pub fn get(&mut self, options: &Value) -> Value {
        let data = self.data(0, &[]);
        let client = self.client_data("webauthn.get", options);
        let message = [&data[..], &Sha256::digest(client.as_bytes())].concat();
        let signature: Signature = self.key.sign(&message);
        self.told(json!({
            "clientDataJSON": base64url(client.as_bytes()),
            "authenticatorData": base64url(&data),
            "signature": base64url(signature.to_der().as_bytes()),
            "userHandle": self.handle,
        }))
    }

    fn data(&mut self, flags: u8, credential: &[u8]) -> Vec<u8> {
        let data = [
            &Sha256::digest(self.party.as_bytes())[..],
            &[self.flags | flags],
            &self.count.to_be_bytes(),
            credential,
        ]
        .concat();
        self.count += 1;
        data
    }

    fn client_data(&self, kind: &str, options: &Value) -> String {
        json!({
            "type": kind,
            "challenge": options["challenge"],
            "origin": self.origin,
            "crossOrigin": false,
        })
        .to_string()
    }

    fn told(&self, response: Value) -> Value {
        json!({
            "id": base64url(&self.id),
            "rawId": base64url(&self.id),
            "type": "public-key",
            "authenticatorAttachment": "cross-platform",
            "clientExtensionResults": {},
            "response": response,
        })
    }
}
