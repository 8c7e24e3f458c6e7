//! A provider that answers what a test wants: for attacks that no honest provider makes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;

/// A running fake. It listens as long as the test's process runs.
pub struct Fake {
    pub issuer: String,
    answers: Arc<Mutex<Answers>>,
}

/// What it answers.
struct Answers {
    issuer: String,
    /// The number of the key that is in the set of keys.
    key: u8,
    /// The answer of the token endpoint.
    token: Value,
    /// How often the keys were read.
    keys_read: u32,
}

/// An ID token before it is signed.
pub struct Draft {
    pub header: Value,
    pub claims: Value,
}

/// A key of ECDSA on P-256, by its number.
fn key(number: u8) -> SigningKey {
    SigningKey::from_slice(&[number; 32]).unwrap()
}

fn coded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

impl Draft {
    fn message(&self) -> String {
        format!("{}.{}", coded(&self.header), coded(&self.claims))
    }

    /// With the signature of this key.
    pub fn signed(&self, number: u8) -> String {
        let message = self.message();
        let signature: Signature = key(number).sign(message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }

    /// With a code under this secret, HS256.
    pub fn coded_with(&self, secret: &[u8]) -> String {
        let message = self.message();
        let code = hmac(secret, message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(code))
    }

    /// Without a signature.
    pub fn unsigned(&self) -> String {
        format!("{}.", self.message())
    }
}

/// HMAC-SHA-256 (RFC 2104), with a key of at most a block or its digest.
fn hmac(secret: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if secret.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(secret));
    } else {
        block[..secret.len()].copy_from_slice(secret);
    }
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(message);
    let outer = Sha256::new().chain_update(padded(0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

/// The coordinates of a public key, as a set of keys has them.
fn point(number: u8) -> (String, String) {
    let point = key(number).verifying_key().to_sec1_point(false);
    let bytes = point.as_bytes();
    let part = |range: std::ops::Range<usize>| URL_SAFE_NO_PAD.encode(&bytes[range]);
    (part(1..33), part(33..65))
}

/// The text of a public key as the set of keys has it, for those who take it for a secret.
pub fn public_text(number: u8) -> String {
    point(number).0
}

impl Fake {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let answers = Arc::new(Mutex::new(Answers {
            issuer: issuer.clone(),
            key: 1,
            token: Value::Null,
            keys_read: 0,
        }));
        let shared = answers.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let _ = serve(stream, &shared);
            }
        });
        Self { issuer, answers }
    }

    /// Answer the next code with this ID token.
    pub fn answer(&self, token: &str) {
        let answer = json!({ "access_token": "x", "token_type": "Bearer", "id_token": token });
        self.answers.lock().unwrap().token = answer;
    }

    /// Have another key from now on.
    pub fn change_key(&self, number: u8) {
        self.answers.lock().unwrap().key = number;
    }

    pub fn keys_read(&self) -> u32 {
        self.answers.lock().unwrap().keys_read
    }
}

/// Answer one request.
fn serve(mut stream: TcpStream, answers: &Mutex<Answers>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let path = first.split(' ').nth(1).unwrap_or_default();
    let text = answers.lock().unwrap().of(path).to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())
}

impl Answers {
    fn of(&mut self, path: &str) -> Value {
        let issuer = &self.issuer;
        match path {
            "/.well-known/openid-configuration" => json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/auth"),
                "token_endpoint": format!("{issuer}/token"),
                "jwks_uri": format!("{issuer}/keys"),
                "authorization_response_iss_parameter_supported": true,
            }),
            "/keys" => {
                self.keys_read += 1;
                let (x, y) = point(self.key);
                // A symmetric key in the set is of no use to anybody.
                let shared =
                    json!({ "kty": "oct", "kid": "shared", "k": "c2VjcmV0", "alg": "HS256" });
                let own = json!({
                    "kty": "EC", "crv": "P-256", "kid": self.key.to_string(), "use": "sig", "x": x, "y": y,
                });
                json!({ "keys": [shared, own] })
            }
            "/token" => self.token.clone(),
            _ => Value::Null,
        }
    }
}
