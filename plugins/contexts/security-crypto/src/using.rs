//! Using keys, and what needs no key: signatures, encryption, PIN blocks, hashes, random numbers. Nothing is stored.

use rialto_sdk::operators::{Caller, Kind, Problem, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::keys::usable;
use crate::words::{Algorithm, Format, Hash, Usage, base64, bytes, hex, of_hex, problem};
use crate::world::{PinSide, World};

/// Random bytes in one answer.
pub const RANDOM_BYTES_MAX: u32 = 4_096;

/// A request for a signature or a code.
#[derive(Debug, Deserialize)]
pub struct ToSign {
    key: String,
    data: String,
}

/// A request to verify one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToVerify {
    key: Option<String>,
    public_key: Option<String>,
    algorithm: Option<Algorithm>,
    data: String,
    signature: String,
}

/// A request for a hash.
#[derive(Debug, Deserialize)]
pub struct ToHash {
    algorithm: Option<Hash>,
    key: Option<String>,
    data: String,
}

/// A request to encrypt or decrypt.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToCipher {
    key: String,
    data: String,
    #[serde(default)]
    associated_data: String,
}

/// One zone of PIN blocks.
#[derive(Debug, Deserialize)]
pub struct Zone {
    key: String,
    format: Format,
}

/// A request to translate a PIN block.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToTranslate {
    from: Zone,
    to: Zone,
    account_number: String,
    pin_block: String,
}

/// What was encrypted or decrypted.
#[derive(Debug, Serialize)]
pub struct Ciphered {
    key: String,
    data: String,
}

/// Random bytes.
///
/// # Errors
/// When too many are asked for.
pub fn random(world: &mut impl World, caller: &Caller, count: u32) -> Result<Value, Problem> {
    caller.needs(Role::Context)?;
    if !(1..=RANDOM_BYTES_MAX).contains(&count) {
        let detail = format!("`bytes` must be 1 to {RANDOM_BYTES_MAX}");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    Ok(json!({ "random": world.random(count) }))
}

/// Whether an access token is valid now, and what it says (as RFC 7662).
///
/// # Errors
/// When the caller is no program.
pub fn verify_token(
    world: &mut impl World,
    caller: &Caller,
    token: &str,
) -> Result<Value, Problem> {
    caller.needs(Role::Context)?;
    Ok(match world.verify_token(token) {
        None => json!({ "active": false }),
        Some(verified) => json!({
            "active": true,
            "sub": verified.name,
            "client_id": verified.application,
            "exp": verified.expires_at,
            "jti": verified.token_id,
            "cnf": verified.bound_to.map(|thumbprint| json!({ "x5t#S256": thumbprint })),
        }),
    })
}

/// A hash; with a key, a message authentication code.
///
/// # Errors
/// When the key is not the caller's or is for something else.
pub fn hash(world: &mut impl World, caller: &Caller, asked: &ToHash) -> Result<Value, Problem> {
    caller.needs(Role::Context)?;
    let data = bytes("data", &asked.data)?;
    match (&asked.key, asked.algorithm) {
        (None, algorithm) => {
            let algorithm = algorithm.unwrap_or(Hash::Sha256);
            let hashed = world.digest(algorithm.into(), &data);
            Ok(json!({ "algorithm": algorithm, "hash": hex(&hashed) }))
        }
        (Some(key), None) => {
            let (key, reference) = usable(world, caller, key)?;
            if key.usage != Usage::Mac {
                let detail = format!("the key {} is for something else than hashes", key.id);
                return Err(Problem::new(Kind::KeyPurpose, detail));
            }
            let code = world.sign(&reference, &data).map_err(problem)?;
            Ok(json!({ "algorithm": key.algorithm, "key": key.id, "hash": hex(&code) }))
        }
        (Some(_), Some(_)) => {
            let detail = "a key has its own algorithm: leave `algorithm` out, or `key`";
            Err(Problem::new(Kind::Malformed, detail))
        }
    }
}

/// A signature.
///
/// # Errors
/// When the key is not the caller's, not in use, or for something else.
pub fn sign(world: &mut impl World, caller: &Caller, asked: &ToSign) -> Result<Value, Problem> {
    let (key, reference) = usable(world, caller, &asked.key)?;
    let data = bytes("data", &asked.data)?;
    let signature = world.sign(&reference, &data).map_err(problem)?;
    Ok(json!({
        "key": key.id,
        "algorithm": key.algorithm,
        "signature": base64(&signature),
    }))
}

/// Whether a signature is right.
///
/// # Errors
/// When the key is not the caller's, or it is not said who signed.
pub fn verify(world: &mut impl World, caller: &Caller, asked: &ToVerify) -> Result<Value, Problem> {
    caller.needs(Role::Context)?;
    let data = bytes("data", &asked.data)?;
    let signature = bytes("signature", &asked.signature)?;
    let valid = match (&asked.key, &asked.public_key, asked.algorithm) {
        (Some(key), None, None) => {
            let (_, reference) = usable(world, caller, key)?;
            world.verify(&reference, &data, &signature)
        }
        (None, Some(public_key), Some(algorithm)) => {
            world.verify_with(public_key, algorithm.into(), &data, &signature)
        }
        _ => {
            let detail = "say who signed: either `key`, or `publicKey` and `algorithm`";
            return Err(Problem::new(Kind::Malformed, detail));
        }
    };
    Ok(json!({ "valid": valid.map_err(problem)? }))
}

/// Encrypt.
///
/// # Errors
/// When the key is not the caller's, not in use, or for something else.
pub fn encrypt(
    world: &mut impl World,
    caller: &Caller,
    asked: &ToCipher,
) -> Result<Ciphered, Problem> {
    cipher(
        world,
        caller,
        asked,
        |world, reference, data, associated| world.encrypt(reference, data, associated),
    )
}

/// Decrypt.
///
/// # Errors
/// When the key is not the caller's, not in use, for something else, or did not encrypt this.
pub fn decrypt(
    world: &mut impl World,
    caller: &Caller,
    asked: &ToCipher,
) -> Result<Ciphered, Problem> {
    cipher(
        world,
        caller,
        asked,
        |world, reference, data, associated| world.decrypt(reference, data, associated),
    )
}

fn cipher<W: World>(
    world: &mut W,
    caller: &Caller,
    asked: &ToCipher,
    run: impl FnOnce(
        &mut W,
        &str,
        &[u8],
        &[u8],
    ) -> Result<Vec<u8>, crate::bindings::rialto::host::keys::KeyError>,
) -> Result<Ciphered, Problem> {
    let (key, reference) = usable(world, caller, &asked.key)?;
    let data = bytes("data", &asked.data)?;
    let associated = bytes("associatedData", &asked.associated_data)?;
    let done = run(world, &reference, &data, &associated).map_err(problem)?;
    Ok(Ciphered {
        key: key.id,
        data: base64(&done),
    })
}

/// Translate a PIN block from one zone to another.
///
/// # Errors
/// When a key is not the caller's or not in use, or formats and keys do not fit. All failures of a block are the same.
pub fn translate(
    world: &mut impl World,
    caller: &Caller,
    asked: &ToTranslate,
) -> Result<Value, Problem> {
    let (_, from) = usable(world, caller, &asked.from.key)?;
    let (_, to) = usable(world, caller, &asked.to.key)?;
    let block = of_hex(&asked.pin_block)
        .ok_or_else(|| Problem::new(Kind::Malformed, "`pinBlock` must be hexadecimal digits"))?;
    let from = PinSide {
        zone: &from,
        format: asked.from.format.into(),
    };
    let to = PinSide {
        zone: &to,
        format: asked.to.format.into(),
    };
    let translated = world.translate_pin(from, to, &asked.account_number, &block);
    let translated = translated.map_err(problem)?;
    Ok(json!({ "pinBlock": hex(&translated).to_uppercase() }))
}
