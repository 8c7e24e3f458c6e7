//! Signatures: a message that a key signed is taken, and no other is: not one that another key signed,
//! not one of which a bit is changed that is protected, and none that a stranger made up.

use std::fmt;
use std::sync::LazyLock;

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use fsp_interop_api::bindings::exports::rialto::host::http_handler::Request;
use fsp_interop_api::bindings::rialto::host::crypto::{Algorithm, Verdict};
use fsp_interop_api::jws::memory::Documents;
use fsp_interop_api::jws::{Judge, Keys};
use fsp_interop_api::settings::Settings;
use rialto_openapi::head::texts;
use rialto_sdk::headers::of_list;
use rialto_signatures::{Algorithm as HostAlgorithm, PublicKey, jws};
use serde_json::{Map, Value, json};

use crate::messages::NOW;
use crate::request::Sent;

/// [`NOW`], as headers have it.
const DATE: &str = "Sun, 22 Nov 2026 00:00:00 GMT";
/// What a signature covers beside the body, in lower case, with the names that are protected.
const COVERED: [(&str, &str); 6] = [
    ("fspiop-uri", "FSPIOP-URI"),
    ("fspiop-http-method", "FSPIOP-HTTP-Method"),
    ("fspiop-source", "FSPIOP-Source"),
    ("fspiop-destination", "FSPIOP-Destination"),
    ("fspiop-encryption", "FSPIOP-Encryption"),
    ("date", "Date"),
];
const SIGNATURE: &str = "fspiop-signature";

/// The signer's keys, and those of somebody else. New in each run: nothing depends on them.
static OURS: LazyLock<Pairs> = LazyLock::new(Pairs::new);
static THEIRS: LazyLock<Pairs> = LazyLock::new(Pairs::new);

struct Pairs {
    curve: EcdsaKeyPair,
    rsa: RsaKeyPair,
    public: Vec<PublicKey>,
}

impl Pairs {
    fn new() -> Self {
        let curve = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("randomness");
        let rsa = RsaKeyPair::generate(KeySize::Rsa2048).expect("randomness");
        let curve_der = curve.public_key().as_der().expect("a key has a form");
        let rsa_der = rsa.public_key().as_der().expect("a key has a form");
        let pem = |der: &[u8]| {
            let text = STANDARD.encode(der);
            format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
        };
        let pem = format!("{}{}", pem(curve_der.as_ref()), pem(rsa_der.as_ref()));
        let public = PublicKey::all_of_pem(&pem).expect("keys that are taken");
        Self { curve, rsa, public }
    }

    fn sign(&self, algorithm: &str, input: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        let padding = match algorithm {
            "RS256" => &RSA_PKCS1_SHA256,
            "RS384" => &RSA_PKCS1_SHA384,
            "RS512" => &RSA_PKCS1_SHA512,
            _ => {
                let signature = self.curve.sign(&random, input).expect("randomness");
                return signature.as_ref().to_vec();
            }
        };
        let mut signature = vec![0; self.rsa.public_modulus_len()];
        let signed = self.rsa.sign(padding, &random, input, &mut signature);
        signed.expect("a sound key signs");
        signature
    }
}

/// Everybody has our keys, so that a changed sender is one with a key too.
struct Everybody;

impl fmt::Debug for Everybody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Everybody")
    }
}

impl Keys for Everybody {
    fn has_key(&self, _: &str) -> bool {
        true
    }

    fn verify(
        &self,
        _: &str,
        algorithm: Algorithm,
        protected_header: &str,
        payload: &str,
        signature: &str,
    ) -> Verdict {
        let algorithm = match algorithm {
            Algorithm::Rs256 => HostAlgorithm::Rs256,
            Algorithm::Rs384 => HostAlgorithm::Rs384,
            Algorithm::Rs512 => HostAlgorithm::Rs512,
            Algorithm::Es256 => HostAlgorithm::Es256,
        };
        let payload = payload.as_bytes();
        if jws::verifies(
            &OURS.public,
            algorithm,
            protected_header,
            payload,
            signature,
        ) {
            Verdict::Valid
        } else {
            Verdict::Invalid
        }
    }

    fn has_own_key(&self) -> bool {
        false
    }
}

/// A message as text, with its headers in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Text {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// The first line is an algorithm and two numbers: which bit is changed. The rest is a request.
pub fn judge(bytes: &[u8]) {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let first = String::from_utf8_lossy(&bytes[..end]);
    let mut words = first.split(' ');
    let algorithm = match words.next() {
        Some(known @ ("RS256" | "RS384" | "RS512")) => known,
        _ => "ES256",
    };
    let mut number = || words.next().and_then(|word| word.parse::<usize>().ok());
    let (place, bit) = (number().unwrap_or(0), number().unwrap_or(0) % 8);
    let Some(mut text) = Text::read(&bytes[end + 1..]) else {
        return;
    };
    // A signature that came from outside.
    assert!(!text.is_taken(), "a made-up signature is taken: {text:?}");
    text.complete();
    let sound = text.signed(algorithm, &OURS);
    assert!(sound.is_taken(), "a sound message is refused: {sound:?}");
    let stolen = text.signed(algorithm, &THEIRS);
    assert!(!stolen.is_taken(), "another's key is taken: {stolen:?}");
    if let Some(changed) = sound.with_a_bit_changed(place, bit) {
        let same = changed.covered() == sound.covered();
        assert_eq!(changed.is_taken(), same, "{sound:?}\nchanged: {changed:?}");
    }
}

impl Text {
    /// A message with a body, that HTTP can carry.
    fn read(bytes: &[u8]) -> Option<Self> {
        let sent = Sent::read(bytes)?;
        if !matches!(sent.head.method.as_str(), "POST" | "PUT" | "PATCH") {
            return None;
        }
        Some(Self {
            method: sent.head.method.as_str().to_owned(),
            path: sent.head.uri.path().to_owned(),
            headers: texts(&sent.head.headers),
            body: String::from_utf8(sent.body).ok()?,
        })
    }

    /// Make it one that can be signed: what must be there is there, once, and is of now.
    fn complete(&mut self) {
        let own = |name: &str| {
            !matches!(
                name,
                "fspiop-source" | "fspiop-destination" | "fspiop-encryption"
            )
        };
        let fixed =
            |name: &str| name == SIGNATURE || COVERED.iter().any(|(n, _)| *n == name && own(n));
        let mut seen = Vec::new();
        self.headers.retain(|(name, _)| {
            let is_new = !seen.contains(name);
            seen.push(name.clone());
            is_new && !fixed(name)
        });
        if !self.headers.iter().any(|(name, _)| name == "fspiop-source") {
            self.headers
                .push(("fspiop-source".to_owned(), "payerfsp".to_owned()));
        }
        for (name, value) in [
            ("fspiop-uri", self.path.clone()),
            ("fspiop-http-method", self.method.clone()),
            ("date", DATE.to_owned()),
        ] {
            self.headers.push((name.to_owned(), value));
        }
    }

    fn values(&self, name: &str) -> Vec<&str> {
        let headers = self.headers.iter().filter(|(other, _)| other == name);
        headers.map(|(_, value)| value.trim()).collect()
    }

    /// All that a signature says something about, the signature included. A destination or encryption
    /// that is empty counts as none.
    fn covered(&self) -> Vec<Vec<&str>> {
        let optional = |name: &str| matches!(name, "fspiop-destination" | "fspiop-encryption");
        let mut all = vec![
            vec![self.method.as_str(), &self.path, &self.body],
            self.values(SIGNATURE),
        ];
        for (name, _) in COVERED {
            let mut values = self.values(name);
            values.retain(|value| !(optional(name) && value.is_empty()));
            all.push(values);
        }
        all
    }

    /// The message with a signature of its own making: nothing of ours signs it.
    fn signed(&self, algorithm: &str, keys: &Pairs) -> Self {
        let mut protected = Map::new();
        protected.insert("alg".to_owned(), algorithm.into());
        for (header, name) in COVERED {
            if let Some(value) = self
                .values(header)
                .first()
                .filter(|value| !value.is_empty())
            {
                protected.insert(name.to_owned(), (*value).into());
            }
        }
        // Who has no name signs as one.
        protected.entry("FSPIOP-Source").or_insert("".into());
        let protected = URL_SAFE_NO_PAD.encode(Value::Object(protected).to_string());
        let input = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(&self.body));
        let signature = URL_SAFE_NO_PAD.encode(keys.sign(algorithm, input.as_bytes()));
        let value = json!({ "signature": signature, "protectedHeader": protected });
        let mut signed = self.clone();
        signed
            .headers
            .push((SIGNATURE.to_owned(), value.to_string()));
        signed
    }

    fn is_taken(&self) -> bool {
        let headers = of_list(&self.headers);
        let request = Request {
            operation_id: String::new(),
            method: self.method.clone(),
            path: self.path.clone(),
            path_parameters: Vec::new(),
            query_parameters: Vec::new(),
            headers: self.headers.clone(),
            body: Some(self.body.clone()),
            caller: None,
        };
        let judge = Judge {
            keys: &Everybody,
            memory: &Documents::<rialto_sdk::documents::Memory>::default(),
            settings: &Settings::default(),
            now: NOW,
        };
        let source = self.values("fspiop-source");
        let source = source.first().copied().unwrap_or_default();
        match judge.check(&request, &headers, source) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.code, "3105");
                false
            }
        }
    }

    /// The message with one bit changed on its way; none if no server would take it then.
    fn with_a_bit_changed(&self, place: usize, bit: usize) -> Option<Self> {
        let headers: String = self
            .headers
            .iter()
            .map(|(n, v)| format!("{n}: {v}\n"))
            .collect();
        let Self {
            method, path, body, ..
        } = self;
        let mut bytes = format!("{method} {path}\n{headers}\n{body}").into_bytes();
        let place = place % bytes.len();
        bytes[place] ^= 1 << bit;
        Self::read(&bytes)
    }
}
