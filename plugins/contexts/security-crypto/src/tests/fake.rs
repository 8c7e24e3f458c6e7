//! Surroundings for tests.

use std::collections::BTreeMap;

use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use p256::pkcs8::DecodePublicKey as _;
use rialto_sdk::documents::Memory;
use rialto_sdk::scheme::{Currency, Scheme};
use sha2::{Digest as _, Sha256};

use crate::bindings::rialto::host::keys::{
    Algorithm, Attributes, HandedOut, Hash, Key, KeyError, Provider,
};
use crate::bindings::rialto::host::tls;
use crate::bindings::rialto::security_authn::verify_token::Verified;
use crate::bindings::rialto::security_crypto::adapter_chosen::Event;
use crate::settings::Fido;
use crate::world::{PinSide, Providers, World};

/// Surroundings whose keys are named by numbers, and which note what was done.
#[derive(Default)]
pub struct Fake {
    pub store: Memory,
    made: u32,
    ids: u32,
    pub now: u64,
    pub fido: Option<Fido>,
    scheme: Option<Scheme>,
    /// What operators were told.
    pub alerts: Vec<String>,
    randoms: u8,
    pub providers: Vec<&'static str>,
    /// Providers of which other contexts were told.
    pub chosen: Vec<String>,
    /// What was done, in words.
    pub done: Vec<String>,
    /// Reminders that wait: when they are due, by id.
    pub reminders: BTreeMap<String, u64>,
    /// The next thing fails so.
    pub fails: Option<KeyError>,
}

rialto_sdk::stores_in!(Fake, this => this.store);

impl Fake {
    /// Let time pass, and handle the reminders that are due then.
    pub fn pass(&mut self, milliseconds: u64) {
        self.now += milliseconds;
        let now = self.now;
        let due: Vec<String> = self
            .reminders
            .extract_if(.., |_, due| *due <= now)
            .map(|(id, _)| id)
            .collect();
        for id in due {
            crate::destroying::reminded(self, &id);
        }
    }

    fn does<T>(&mut self, what: String, result: T) -> Result<T, KeyError> {
        match self.fails.take() {
            Some(error) => Err(error),
            None => {
                self.done.push(what);
                Ok(result)
            }
        }
    }

    fn makes(&mut self, what: &str, provider: &str, of: &Attributes) -> Result<Key, KeyError> {
        self.made += 1;
        let reference = format!("sealed-{}", self.made);
        let public_key = matches!(of.algorithm, Algorithm::Es256 | Algorithm::Rs256);
        let key = Key {
            reference,
            public_key: public_key.then(|| "PEM".to_owned()),
        };
        self.does(format!("{what} {:?} at {provider}", of.algorithm), key)
    }
}

impl Providers for Fake {
    fn chosen(&mut self, event: &Event) {
        self.chosen.push(event.provider.clone());
    }
    fn providers(&mut self) -> Vec<Provider> {
        let names = self.providers.iter().map(|name| Provider {
            name: (*name).to_owned(),
            kind: "software".to_owned(),
            algorithms: vec![Algorithm::Es256],
        });
        names.collect()
    }
    fn generate(&mut self, provider: &str, attributes: &Attributes) -> Result<Key, KeyError> {
        self.makes("generate", provider, attributes)
    }
    fn load(
        &mut self,
        provider: &str,
        attributes: &Attributes,
        unwraps: &str,
        wrapped: &[u8],
    ) -> Result<Key, KeyError> {
        let what = format!("unwrap {} bytes with {unwraps}:", wrapped.len());
        self.makes(&what, provider, attributes)
    }
    fn destroy(&mut self, reference: &str) -> Result<(), KeyError> {
        self.does(format!("destroy {reference}"), ())
    }
    fn hand_out(&mut self, algorithm: Algorithm, receiver: &str) -> Result<HandedOut, KeyError> {
        let pair = HandedOut {
            public_key: "PEM".to_owned(),
            private_key: "JWE".to_owned(),
        };
        self.does(format!("hand out {algorithm:?} to {receiver}"), pair)
    }
    fn sign(&mut self, reference: &str, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.does(format!("sign with {reference}"), message.to_vec())
    }
    fn verify(
        &mut self,
        reference: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError> {
        self.does(format!("verify with {reference}"), message == signature)
    }
    fn verify_with(
        &mut self,
        public_key: &str,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError> {
        if public_key.starts_with("-----BEGIN") && self.fails.is_none() {
            let key = VerifyingKey::from_public_key_pem(public_key);
            let key = key.map_err(|_| KeyError::BadInput("no point of the curve".to_owned()))?;
            let signature = Signature::from_slice(signature);
            return Ok(signature.is_ok_and(|signature| key.verify(message, &signature).is_ok()));
        }
        self.does(
            format!("verify {algorithm:?} with {public_key}"),
            message == signature,
        )
    }
    fn encrypt(
        &mut self,
        reference: &str,
        plaintext: &[u8],
        _associated: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        self.does(format!("encrypt with {reference}"), plaintext.to_vec())
    }
    fn decrypt(
        &mut self,
        reference: &str,
        ciphertext: &[u8],
        _associated: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        self.does(format!("decrypt with {reference}"), ciphertext.to_vec())
    }
    fn translate_pin(
        &mut self,
        from: PinSide<'_>,
        to: PinSide<'_>,
        _account: &str,
        block: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        self.does(
            format!("translate from {} to {}", from.zone, to.zone),
            block.to_vec(),
        )
    }
    fn digest(&mut self, _hash: Hash, message: &[u8]) -> Vec<u8> {
        match self.fido {
            Some(_) => Sha256::digest(message).to_vec(),
            None => message.to_vec(),
        }
    }
}

impl World for Fake {
    fn now(&mut self) -> u64 {
        self.now
    }
    fn remind(&mut self, id: &str, due: u64) {
        self.reminders.insert(id.to_owned(), due);
    }
    fn verify_token(&mut self, token: &str) -> Option<Verified> {
        (token == "good").then(|| Verified {
            application: "app".to_owned(),
            name: "payerfsp".to_owned(),
            expires_at: 7,
            token_id: "jti".to_owned(),
            bound_to: None,
        })
    }
    fn random(&mut self, bytes: u32) -> String {
        self.randoms += 1;
        match self.fido {
            Some(_) => format!("{:02x}", self.randoms).repeat(bytes as usize),
            None => "ab".repeat(bytes as usize),
        }
    }
    fn tls_files(&mut self) -> Vec<tls::File> {
        let file = |place: &str, expires_at| tls::File {
            place: place.to_owned(),
            kind: "certificate".to_owned(),
            expires_at,
        };
        // Expired, in a month, later, never.
        vec![
            file("listener fsps", Some(self.now)),
            file("listener grpc", Some(self.now + 30 * 24 * 3_600_000)),
            file(
                "listener operators",
                Some(self.now + 30 * 24 * 3_600_000 + 1),
            ),
            file("outbound", None),
        ]
    }
    fn read_tls_again(&mut self) -> Vec<tls::Reading> {
        self.done.push("read TLS again".to_owned());
        vec![tls::Reading {
            place: "listener fsps".to_owned(),
            is_usable: false,
        }]
    }
    fn uuid(&mut self) -> String {
        self.ids += 1;
        format!("00000000-0000-4000-8000-{:012}", self.ids)
    }
    fn fido(&mut self) -> Option<Fido> {
        self.fido.clone()
    }
    fn scheme(&mut self) -> &Scheme {
        self.scheme.get_or_insert_with(|| Scheme {
            name: "test".to_owned(),
            hub: "Hub".to_owned(),
            authentication: "none".to_owned(),
            currencies: vec![Currency {
                code: "USD".to_owned(),
                scale: 2,
            }],
            errors: Vec::new(),
        })
    }
    fn alert(&mut self, line: &str) {
        self.alerts.push(line.to_owned());
    }
}

/// Surroundings with two providers.
pub fn world() -> Fake {
    Fake {
        now: 1_000,
        providers: vec!["hsm", "local"],
        ..Fake::default()
    }
}
