//! Files of keys: blocks are what another writer would have written, and a private key never shows.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rialto_signatures::{PrivateKey, PublicKey, pem};

/// The bytes are PEM, perhaps.
pub fn judge(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let public = PublicKey::all_of_pem(text);
    let private = PrivateKey::of_pem(text);
    let Ok(blocks) = pem::blocks(text) else {
        assert!(public.is_err() && private.is_err());
        return;
    };
    let written: String = blocks
        .iter()
        .map(|block| {
            let (label, der) = (&block.label, STANDARD.encode(&block.der));
            format!("-----BEGIN {label}-----\n{der}\n-----END {label}-----\n")
        })
        .collect();
    assert_eq!(pem::blocks(&written).ok().as_ref(), Some(&blocks));
    if let Ok(keys) = public {
        assert_eq!(keys.len(), blocks.len(), "no key is left out");
        assert!(private.is_err(), "a public key signs nothing");
    }
    if let Ok(key) = private {
        let shown = format!("{key:?}");
        assert!(shown.len() < "PrivateKey(RS256)".len() + 1, "{shown}");
    }
}
