//! The attributes of keys on a token. Each use that the purpose does not need is forbidden expressly, because tokens
//! allow different ones where a template says nothing.

use cryptoki::object::{Attribute, KeyType, ObjectClass};
use rialto_keys::Algorithm;

use crate::material::Id;

/// What a key may be used for on the token.
#[derive(Clone, Copy, Default)]
struct Uses {
    sign: bool,
    encrypt: bool,
    unwrap: bool,
}

fn uses(algorithm: Algorithm) -> Uses {
    match algorithm {
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::Rs256 | Algorithm::Hs256 => Uses {
            sign: true,
            ..Uses::default()
        },
        Algorithm::A256Gcm => Uses {
            encrypt: true,
            ..Uses::default()
        },
        Algorithm::A256Kwp | Algorithm::RsaOaep256Kwp => Uses {
            unwrap: true,
            ..Uses::default()
        },
        Algorithm::PinTdes | Algorithm::PinAes => Uses::default(),
    }
}

/// The class of the key that is used: the private one of a pair, or the secret one.
pub(crate) fn class(algorithm: Algorithm) -> ObjectClass {
    match algorithm {
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::Rs256 | Algorithm::RsaOaep256Kwp => {
            ObjectClass::PRIVATE_KEY
        }
        _ => ObjectClass::SECRET_KEY,
    }
}

/// The type of the key on the token.
pub(crate) fn key_type(algorithm: Algorithm) -> KeyType {
    match algorithm {
        Algorithm::Es256 | Algorithm::Es384 => KeyType::EC,
        Algorithm::Rs256 | Algorithm::RsaOaep256Kwp => KeyType::RSA,
        Algorithm::Hs256 => KeyType::GENERIC_SECRET,
        _ => KeyType::AES,
    }
}

/// What a key that must not be seen always has.
fn hidden(token: bool) -> Vec<Attribute> {
    vec![
        Attribute::Token(token),
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(false),
    ]
}

/// A private or a secret key of this algorithm.
pub(crate) fn usable(algorithm: Algorithm, id: &Id, label: &str) -> Vec<Attribute> {
    let uses = uses(algorithm);
    let mut all = hidden(true);
    all.extend([
        Attribute::Class(class(algorithm)),
        Attribute::KeyType(key_type(algorithm)),
        Attribute::Id(id.to_vec()),
        Attribute::Label(label.as_bytes().to_vec()),
        Attribute::Sign(uses.sign),
        Attribute::Decrypt(uses.encrypt),
        Attribute::Unwrap(uses.unwrap),
        Attribute::Derive(false),
    ]);
    if class(algorithm) == ObjectClass::SECRET_KEY {
        all.extend([
            Attribute::Verify(uses.sign),
            Attribute::Encrypt(uses.encrypt),
            Attribute::Wrap(false),
        ]);
    } else {
        all.push(Attribute::SignRecover(false));
    }
    all
}

/// The public key of a pair. The token uses it for nothing: it verifies in this process.
pub(crate) fn public(id: &Id, label: &str) -> Vec<Attribute> {
    vec![
        Attribute::Token(true),
        Attribute::Private(false),
        Attribute::Id(id.to_vec()),
        Attribute::Label(label.as_bytes().to_vec()),
        Attribute::Verify(false),
        Attribute::VerifyRecover(false),
        Attribute::Encrypt(false),
        Attribute::Wrap(false),
        Attribute::Derive(false),
    ]
}

/// The AES key between an RSA key and a wrapped key. It lives as long as its session.
pub(crate) fn passing() -> Vec<Attribute> {
    let mut all = hidden(false);
    all.extend([
        Attribute::Class(ObjectClass::SECRET_KEY),
        Attribute::KeyType(KeyType::AES),
        Attribute::Unwrap(true),
        Attribute::Wrap(false),
        Attribute::Encrypt(false),
        Attribute::Decrypt(false),
        Attribute::Sign(false),
        Attribute::Verify(false),
        Attribute::Derive(false),
    ]);
    all
}
