//! Key pairs for somebody else, decrypted by whoever has the receiver's key.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA256_MGF1SHA256, OaepPrivateDecryptingKey, PrivateDecryptingKey,
};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rialto_keys::{Algorithm, KeyError};
use rialto_signatures::pem;

use crate::support::keys;

#[test]
fn receiver_decrypts_the_private_key_of_the_public_one() {
    let receiver = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
    let public = pem::write(
        "PUBLIC KEY",
        receiver.public_key().as_der().unwrap().as_ref(),
    );
    let handed_out = keys().hand_out(Algorithm::Es256, &public).unwrap();
    let parts: Vec<&str> = handed_out.private_key.split('.').collect();
    let [header, wrapped, nonce, content, tag] = parts[..] else {
        panic!("{} parts", parts.len());
    };
    let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
    let said = String::from_utf8(bytes(header)).unwrap();
    assert!(
        said.contains(r#""alg":"RSA-OAEP-256","enc":"A256GCM""#),
        "{said}"
    );
    let receiver = OaepPrivateDecryptingKey::new(receiver).unwrap();
    let mut output = vec![0; receiver.min_output_size()];
    let wrapped = bytes(wrapped);
    let key = receiver
        .decrypt(&OAEP_SHA256_MGF1SHA256, &wrapped, &mut output, None)
        .unwrap();
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).unwrap());
    let mut sealed = [bytes(content), bytes(tag)].concat();
    let nonce = Nonce::try_assume_unique_for_key(&bytes(nonce)).unwrap();
    let opened = key
        .open_in_place(nonce, Aad::from(header.as_bytes()), &mut sealed)
        .unwrap();
    let text = String::from_utf8(opened.to_vec()).unwrap();
    let base64: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    let document = STANDARD.decode(base64).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &document).unwrap();
    let random = aws_lc_rs::rand::SystemRandom::new();
    let signature = pair.sign(&random, b"m").unwrap();
    let verified = keys().verify_with(
        &handed_out.public_key,
        Algorithm::Es256,
        b"m",
        signature.as_ref(),
    );
    assert_eq!(verified, Ok(true));
}

#[test]
fn unusable_receivers_and_algorithms_are_refused() {
    let keys = keys();
    let receiver = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
    let public = pem::write(
        "PUBLIC KEY",
        receiver.public_key().as_der().unwrap().as_ref(),
    );
    let other = keys.hand_out(Algorithm::Hs256, &public);
    assert!(matches!(other, Err(KeyError::Unsupported(_))));
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    use aws_lc_rs::signature::KeyPair as _;
    let curve = pem::write("PUBLIC KEY", pair.public_key().as_der().unwrap().as_ref());
    for receiver in ["", "no PEM", &curve, &pem::write("PUBLIC KEY", b"no key")] {
        let refused = keys.hand_out(Algorithm::Es256, receiver);
        assert!(matches!(refused, Err(KeyError::BadInput(_))), "{receiver}");
    }
}
