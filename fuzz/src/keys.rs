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
    assert_eq!(
        labels(text),
        blocks.iter().map(|b| b.label.as_str()).collect::<Vec<_>>()
    );
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

/// What the lines of a text say that begin and end a block: each begun one is ended before the next.
fn labels(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| {
        let said = line.trim().strip_prefix("-----")?.strip_suffix("-----")?;
        let begins = said.strip_prefix("BEGIN ").map(|label| (true, label));
        begins.or_else(|| said.strip_prefix("END ").map(|label| (false, label)))
    });
    let mut labels = Vec::new();
    let mut open = None;
    for (begins, label) in lines {
        assert_eq!(
            open.is_none(),
            begins,
            "{label:?} begins or ends out of turn"
        );
        if let Some(begun) = open.take() {
            assert_eq!(begun, label, "another block is ended");
            labels.push(label);
        } else {
            open = Some(label);
        }
    }
    assert_eq!(open, None, "a block does not end");
    labels
}
