//! Key pairs for somebody else. The private key leaves encrypted to the receiver, and the host keeps nothing of it.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use aws_lc_rs::rsa::OAEP_SHA256_MGF1SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rialto_signatures::pem;
use zeroize::Zeroizing;

use crate::attributes::{Algorithm, Attributes, Purpose};
use crate::error::KeyError;
use crate::provider::Provider as _;
use crate::software::{self, Software, no_randomness};

/// The protected header of the encrypted private key (RFC 7516).
const HEADER: &str = r#"{"alg":"RSA-OAEP-256","enc":"A256GCM","cty":"application/x-pem-file"}"#;

/// A key pair whose private key is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedOut {
    /// SubjectPublicKeyInfo as PEM.
    pub public_key: String,
    /// A JSON Web Encryption in compact form, of the PKCS #8 document as PEM.
    pub private_key: String,
}

/// Make a key pair for the receiver of this RSA key (SubjectPublicKeyInfo as PEM).
///
/// # Errors
/// When the receiver's key cannot be used, or the algorithm is not one of signatures.
pub fn hand_out(algorithm: Algorithm, receiver: &str) -> Result<HandedOut, KeyError> {
    if algorithm.purpose() != Purpose::Sign {
        let why = "key pairs of ES256, ES384 and RS256 are handed out".to_owned();
        return Err(KeyError::Unsupported(why));
    }
    let receiver = software::receiver(receiver)?;
    let made = Software.generate(&Attributes {
        label: "handed out".to_owned(),
        purpose: Purpose::Sign,
        algorithm,
        not_after: None,
    })?;
    let text = Zeroizing::new(pem::write("PRIVATE KEY", &made.material));
    let random = SystemRandom::new();
    let (mut key, mut nonce) = (Zeroizing::new([0; 32]), [0; NONCE_LEN]);
    random.fill(&mut *key).map_err(|_| no_randomness())?;
    random.fill(&mut nonce).map_err(|_| no_randomness())?;
    let mut wrapped = vec![0; receiver.ciphertext_size()];
    let wrapped = receiver
        .encrypt(&OAEP_SHA256_MGF1SHA256, &*key, &mut wrapped, None)
        .map_err(|_| no_randomness())?;
    let header = URL_SAFE_NO_PAD.encode(HEADER);
    let mut content = Zeroizing::new(text.as_bytes().to_vec());
    let sealing = UnboundKey::new(&AES_256_GCM, &*key).map_err(|_| no_randomness())?;
    let tag = LessSafeKey::new(sealing)
        .seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(header.as_bytes()),
            &mut content,
        )
        .map_err(|_| no_randomness())?;
    let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let private_key = [
        header.clone(),
        part(wrapped),
        part(&nonce),
        part(&content),
        part(tag.as_ref()),
    ]
    .join(".");
    Ok(HandedOut {
        public_key: pem::write("PUBLIC KEY", &made.public_key.unwrap_or_default()),
        private_key,
    })
}
