//! Which algorithms a token supports, by its own list of mechanisms.

use cryptoki::context::Pkcs11;
use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsOaepParams, PkcsOaepSource};
use cryptoki::mechanism::{Mechanism, MechanismInfo, MechanismType};
use cryptoki::object::{Attribute, KeyType, ObjectClass};
use cryptoki::session::Session;
use cryptoki::slot::Slot;
use rialto_keys::Algorithm;

use crate::failure::Failure;

/// Bits of the RSA keys that are generated, as in software.
pub(crate) const RSA_BITS: usize = 3072;
/// Bits of the secret keys.
pub(crate) const SECRET_BITS: usize = 256;

/// RSA-OAEP with SHA-256.
pub(crate) fn oaep() -> Mechanism<'static> {
    Mechanism::RsaPkcsOaep(PkcsOaepParams::new(
        MechanismType::SHA256,
        PkcsMgfType::MGF1_SHA256,
        PkcsOaepSource::empty(),
    ))
}

/// What an algorithm needs: mechanisms, what they must be able to do, and the bits of the key. None for PIN zones,
/// because tokens do not translate PIN blocks.
fn needs(algorithm: Algorithm) -> Option<[(MechanismType, Ability, usize); 2]> {
    use Ability::{Both, Generate, GeneratePair, Sign, Unwrap};
    use MechanismType as M;
    Some(match algorithm {
        Algorithm::Es256 => [
            (M::ECC_KEY_PAIR_GEN, GeneratePair, 256),
            (M::ECDSA, Sign, 256),
        ],
        Algorithm::Es384 => [
            (M::ECC_KEY_PAIR_GEN, GeneratePair, 384),
            (M::ECDSA, Sign, 384),
        ],
        Algorithm::Rs256 => [
            (M::RSA_PKCS_KEY_PAIR_GEN, GeneratePair, RSA_BITS),
            (M::SHA256_RSA_PKCS, Sign, RSA_BITS),
        ],
        Algorithm::Hs256 => [
            (M::GENERIC_SECRET_KEY_GEN, Generate, SECRET_BITS),
            (M::SHA256_HMAC, Sign, SECRET_BITS),
        ],
        Algorithm::A256Gcm => [
            (M::AES_KEY_GEN, Generate, SECRET_BITS),
            (M::AES_GCM, Both, SECRET_BITS),
        ],
        Algorithm::A256Kwp => [
            (M::AES_KEY_GEN, Generate, SECRET_BITS),
            (M::AES_KEY_WRAP_PAD, Unwrap, SECRET_BITS),
        ],
        Algorithm::RsaOaep256Kwp => [
            (M::RSA_PKCS_OAEP, Unwrap, RSA_BITS),
            (M::AES_KEY_WRAP_PAD, Unwrap, SECRET_BITS),
        ],
        Algorithm::PinTdes | Algorithm::PinAes => return None,
    })
}

/// What a mechanism must be able to do.
#[derive(Clone, Copy)]
enum Ability {
    Generate,
    GeneratePair,
    Sign,
    /// Encrypt and decrypt.
    Both,
    Unwrap,
}

/// The algorithms that the token in this slot supports.
pub(crate) fn supported(
    module: &Pkcs11,
    slot: Slot,
    session: &Session,
) -> Result<Vec<Algorithm>, Failure> {
    let listed = module.get_mechanism_list(slot)?;
    let mut supported = Vec::new();
    for algorithm in Algorithm::ALL {
        if has_all(module, slot, &listed, algorithm)?
            && (!is_oaep(algorithm) || takes_oaep(session)?)
        {
            supported.push(algorithm);
        }
    }
    Ok(supported)
}

fn is_oaep(algorithm: Algorithm) -> bool {
    algorithm == Algorithm::RsaOaep256Kwp
}

fn has_all(
    module: &Pkcs11,
    slot: Slot,
    listed: &[MechanismType],
    algorithm: Algorithm,
) -> Result<bool, Failure> {
    let Some(needs) = needs(algorithm) else {
        return Ok(false);
    };
    for (mechanism, ability, bits) in needs {
        if !listed.contains(&mechanism) {
            return Ok(false);
        }
        let info = module.get_mechanism_info(slot, mechanism)?;
        let able = match ability {
            Ability::Generate => info.generate(),
            Ability::GeneratePair => info.generate_key_pair(),
            Ability::Sign => info.sign(),
            Ability::Both => info.encrypt() && info.decrypt(),
            Ability::Unwrap => MechanismInfo::unwrap(&info),
        };
        // Tokens count sizes of secret keys in bits or in bytes, and some say 0 for no bound.
        let sizes = info.min_key_size()..=info.max_key_size();
        let fits = info.max_key_size() == 0 || sizes.contains(&bits) || sizes.contains(&(bits / 8));
        if !able || !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether OAEP is there with SHA-256: the list does not say it, and some tokens have it with SHA-1 alone. Any odd
/// number is a modulus for a trial, whose outcome is thrown away.
fn takes_oaep(session: &Session) -> Result<bool, Failure> {
    let trial = session.create_object(&[
        Attribute::Class(ObjectClass::PUBLIC_KEY),
        Attribute::KeyType(KeyType::RSA),
        Attribute::Token(false),
        Attribute::Private(false),
        Attribute::Encrypt(true),
        Attribute::Modulus(vec![0xc5; 256]),
        Attribute::PublicExponent(vec![1, 0, 1]),
    ]);
    let outcome = trial.and_then(|key| {
        let encrypted = session.encrypt(&oaep(), key, &[0; 32]);
        session.destroy_object(key)?;
        encrypted
    });
    match outcome.map_err(Failure::from) {
        Ok(_) => Ok(true),
        Err(Failure::Lost(why)) => Err(Failure::Lost(why)),
        Err(refused) => {
            tracing::info!(
                ?refused,
                "the token does not unwrap with RSA-OAEP and SHA-256: no keys of `rsa-oaep-256-kwp` are made there"
            );
            Ok(false)
        }
    }
}
