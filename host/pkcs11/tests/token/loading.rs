//! Wrapped keys. SoftHSM 2.6 has neither RSA-OAEP with SHA-256 nor AES key wrap with padding, so the module in front of
//! it takes the host's calls for them and forwards the forms that SoftHSM has.

use aws_lc_rs::key_wrap::{AES_256, AesKek, KeyWrap as _};
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use rialto_keys::{Algorithm, KeyError, Keys, NewKey, Provider as _, Software};
use rialto_signatures::pem;

use crate::world::{HSM, NOW, OWNER, Onlooker, World, attributes, keys, made, open};

const KEK: [u8; 32] = [3; 32];

fn padded(content: &[u8]) -> Vec<u8> {
    let mut output = vec![0; content.len() + 8];
    let kek = AesKek::new(&AES_256, &KEK).unwrap();
    kek.wrap(content, &mut output).unwrap().to_vec()
}

fn around(public_key: &str, kek: &[u8]) -> Vec<u8> {
    let key = PublicEncryptingKey::from_der(&pem::public_key(public_key).unwrap()).unwrap();
    let key = OaepPublicEncryptingKey::new(key).unwrap();
    let mut output = vec![0; key.ciphertext_size()];
    let around = key.encrypt(&OAEP_SHA1_MGF1SHA1, kek, &mut output, None);
    around.unwrap().to_vec()
}

/// Keys of a token that unwraps, and the key there that does.
fn unwrapping(world: &World) -> (Keys, NewKey) {
    world.control("dialect", "");
    let token = open(world.failing());
    let keys = keys(&token);
    assert!(
        token
            .check()
            .unwrap()
            .algorithms
            .contains(&Algorithm::RsaOaep256Kwp)
    );
    let unwraps = made(&keys, HSM, Algorithm::RsaOaep256Kwp);
    (keys, unwraps)
}

fn load(
    keys: &Keys,
    unwraps: &NewKey,
    algorithm: Algorithm,
    wrapped: &[u8],
) -> Result<NewKey, KeyError> {
    keys.load(
        OWNER,
        HSM,
        &attributes(algorithm),
        &unwraps.reference,
        wrapped,
    )
}

fn wrapped(unwraps: &NewKey, content: &[u8]) -> Vec<u8> {
    let public = unwraps.public_key.as_deref().unwrap();
    [around(public, &KEK), padded(content)].concat()
}

pub fn wrapped_keys_are_the_same_as_in_software(world: &World) {
    let (keys, unwraps) = unwrapping(world);
    let secret = [8; 32];
    let software = |algorithm| Software.open(&attributes(algorithm), &secret).unwrap();
    // The second form: a loaded key unwraps the next ones.
    let kek = load(
        &keys,
        &unwraps,
        Algorithm::A256Kwp,
        &wrapped(&unwraps, &KEK),
    )
    .unwrap();
    for (unwraps, wrapped) in [
        (&unwraps, wrapped(&unwraps, &secret)),
        (&kek, padded(&secret)),
    ] {
        let mac = load(&keys, unwraps, Algorithm::Hs256, &wrapped)
            .unwrap()
            .reference;
        let code = keys.sign(OWNER, &mac, NOW, b"m").unwrap();
        assert_eq!(software(Algorithm::Hs256).sign(b"m").unwrap(), code);
        assert_eq!(keys.verify(OWNER, &mac, b"m", &code), Ok(true));
        let gcm = load(&keys, unwraps, Algorithm::A256Gcm, &wrapped)
            .unwrap()
            .reference;
        let local = software(Algorithm::A256Gcm);
        let sealed = keys.encrypt(OWNER, &gcm, NOW, b"plain", b"a").unwrap();
        assert_eq!(local.decrypt(&sealed, b"a").unwrap(), b"plain");
        let sealed = local.encrypt(b"plain", b"a").unwrap();
        assert_eq!(keys.decrypt(OWNER, &gcm, &sealed, b"a").unwrap(), b"plain");
    }
    // The keys between the RSA key and the loaded ones are gone.
    let onlooker = Onlooker::new(&world.failing());
    assert_eq!(onlooker.keys().len(), 6);
    let session = onlooker.session();
    for key in onlooker.keys() {
        let value = session.get_attributes(key, &[cryptoki::object::AttributeType::Value]);
        assert!(value.unwrap().is_empty());
    }
}

pub fn wrapped_pair_signs_as_in_software(world: &World) {
    let (keys, unwraps) = unwrapping(world);
    // What SoftHSM unwraps has no padding, so its length must be a multiple of 8.
    let pair = std::iter::repeat_with(|| Software.generate(&attributes(Algorithm::Rs256)).unwrap())
        .find(|made| made.material.len() % 8 == 0)
        .unwrap();
    let loaded = load(
        &keys,
        &unwraps,
        Algorithm::Rs256,
        &wrapped(&unwraps, &pair.material),
    )
    .unwrap();
    let public = pem::write("PUBLIC KEY", &pair.public_key.unwrap());
    assert_eq!(loaded.public_key.as_ref(), Some(&public));
    let local = Software
        .open(&attributes(Algorithm::Rs256), &pair.material)
        .unwrap();
    let signature = keys.sign(OWNER, &loaded.reference, NOW, b"m").unwrap();
    assert_eq!(local.verify(b"m", &signature), Ok(true));
    let signature = local.sign(b"m").unwrap();
    assert_eq!(
        keys.verify(OWNER, &loaded.reference, b"m", &signature),
        Ok(true)
    );
}

pub fn what_is_no_such_key_is_not_loaded(world: &World) {
    let (keys, unwraps) = unwrapping(world);
    let load = |algorithm, wrapped: &[u8]| load(&keys, &unwraps, algorithm, wrapped).unwrap_err();
    for algorithm in [Algorithm::Hs256, Algorithm::A256Gcm] {
        for length in [24, 40] {
            let error = load(algorithm, &wrapped(&unwraps, &vec![1; length]));
            let refused = matches!(error, KeyError::BadInput(_) | KeyError::NotOpened);
            assert!(refused, "{algorithm:?}, {length} bytes: {error}");
        }
    }
    let good = wrapped(&unwraps, &[1; 32]);
    for broken in [&good[..383], &good[..384], &good[..good.len() - 1], &[]] {
        assert_eq!(load(Algorithm::Hs256, broken), KeyError::NotOpened);
    }
    for at in [0, 383, 384, good.len() - 1] {
        let mut changed = good.clone();
        changed[at] ^= 1;
        let error = load(Algorithm::Hs256, &changed);
        assert_eq!(error, KeyError::NotOpened, "byte {at}");
    }
    // A pair whose public key the token does not tell.
    let pair = Software.generate(&attributes(Algorithm::Es256)).unwrap();
    let mut document = pair.material.to_vec();
    document.resize(document.len().next_multiple_of(8), 0);
    let error = load(Algorithm::Es256, &wrapped(&unwraps, &document));
    assert!(
        matches!(error, KeyError::Unsupported(_) | KeyError::NotOpened),
        "{error}"
    );
    // A key in software unwraps nothing for the token.
    let local = made(&keys, crate::world::LOCAL, Algorithm::A256Kwp);
    let crossed = keys.load(
        OWNER,
        HSM,
        &attributes(Algorithm::Hs256),
        &local.reference,
        &[0; 40],
    );
    assert!(matches!(crossed, Err(KeyError::Unsupported(_))));
    // Nothing of all this stayed.
    assert_eq!(Onlooker::new(&world.failing()).keys().len(), 1);
}
