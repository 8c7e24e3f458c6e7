//! Making keys: generating, loading what somebody wrapped, and handing out key pairs.

use rialto_sdk::operators::{Caller, Kind, Problem};
use serde::Serialize;

use crate::adapters;
use crate::bindings::rialto::host::keys as host;
use crate::definitions;
use crate::keys::{self, KEYS, Key, Origin, State};
use crate::words::{Algorithm, Family, Usage, bytes, problem};
use crate::world::World;

/// A key pair that was handed out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HandedOut {
    algorithm: Algorithm,
    public_key: String,
    /// A JSON Web Encryption in compact form.
    encrypted_private_key: String,
}

/// Generate a key by its definition. `families` are those that the path is for.
///
/// # Errors
/// When there is no such definition, it is for another path, or the provider cannot make the key.
pub fn generate(
    world: &mut impl World,
    caller: &Caller,
    definition: &str,
    families: &[Family],
) -> Result<Key, Problem> {
    let definition = definitions::known(world, definition)?;
    if !families.contains(&definition.algorithm.family()) {
        let path = match definition.algorithm.family() {
            Family::Secret => "/kms-aes-key-gen",
            Family::Curve => "/kms-ecc-key-gen",
            Family::Rsa => "/kms-pem-gen",
        };
        let detail = format!("keys of this definition's algorithm are made by {path}");
        return Err(Problem::new(Kind::KeyUnsupported, detail));
    }
    let provider = adapters::current(world)?;
    let made = world.generate(&provider, &definition.attributes());
    let made = (Origin::Generated, made.map_err(problem)?);
    Ok(kept(world, caller, &definition, &provider, made))
}

/// Load a key that somebody wrapped with a key of this context. It is of use when another operator has activated it.
///
/// # Errors
/// When definition or key are unknown, the key does not unwrap, or what it unwraps is no key of the definition.
pub fn load(
    world: &mut impl World,
    caller: &Caller,
    definition: &str,
    unwraps: &str,
    wrapped: &str,
) -> Result<Key, Problem> {
    let definition = definitions::known(world, definition)?;
    let unwrapping = keys::known(world, unwraps)?;
    if unwrapping.usage != Usage::Unwrap {
        let detail = format!("the key {unwraps} is for something else than unwrapping");
        return Err(Problem::new(Kind::KeyPurpose, detail));
    }
    let reference = match (unwrapping.state, unwrapping.reference) {
        (State::Active, Some(reference)) => reference,
        _ => {
            let detail = format!("the key {unwraps} is not in use");
            return Err(Problem::new(Kind::KeyState, detail));
        }
    };
    let wrapped = bytes("wrapped", wrapped)?;
    let provider = unwrapping.provider;
    let made = world.load(&provider, &definition.attributes(), &reference, &wrapped);
    let made = (Origin::Loaded, made.map_err(problem)?);
    Ok(kept(world, caller, &definition, &provider, made))
}

/// Make a key pair whose private key goes to the receiver, encrypted.
///
/// # Errors
/// When the receiver's key or the algorithm is of no use.
pub fn hand_out(
    world: &mut impl World,
    algorithm: Algorithm,
    receiver: &str,
) -> Result<HandedOut, Problem> {
    let made = world
        .hand_out(algorithm.into(), receiver)
        .map_err(problem)?;
    Ok(HandedOut {
        algorithm,
        public_key: made.public_key,
        encrypted_private_key: made.private_key,
    })
}

fn kept(
    world: &mut impl World,
    caller: &Caller,
    definition: &definitions::Definition,
    provider: &str,
    (origin, made): (Origin, host::Key),
) -> Key {
    let new = (world.uuid(), caller, world.now());
    let key = Key::new(definition, provider, origin, made, new);
    KEYS.within(world).put(&key.id, &key);
    key
}
