//! A log with receipts in it.

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use rialto_audit::proof::Hashes;
use rialto_audit::{Checkpoint, Hash, PublicKey, TileId, Tree};
use rialto_receipts::{ReceiptProof, Salt, fields, log};
use serde_json::Value;

pub const AT: u64 = 1_700_000_000_123;

/// A receipt with an input.
pub fn receipt(input: &Value) -> String {
    let salt = Salt([3; 16]).text();
    format!(
        r#"{{"rule":"ceiling","input":{input},"inputDigest":"sha256:00","verdict":{{"outcome":"allow"}},"salt":"{salt}"}}"#
    )
}

/// A log of entries of others, with one about receipts among them.
pub struct Log {
    key: EcdsaKeyPair,
    entries: Vec<String>,
}

impl Log {
    pub fn new() -> Self {
        Self {
            key: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap(),
            entries: (0..5).map(|n| format!("entry {n}")).collect(),
        }
    }

    pub fn key(&self) -> PublicKey {
        let der: PublicKeyX509Der<'_> = self.key.public_key().as_der().unwrap();
        PublicKey::of_der(der.as_ref().to_vec())
    }

    pub fn add(&mut self, entry: String) -> usize {
        self.entries.push(entry);
        self.entries.len() - 1
    }

    /// The entry about these receipts.
    pub fn add_receipts(&mut self, bodies: &[&str]) -> usize {
        let hashes = bodies
            .iter()
            .map(|body| rialto_receipts::hash(body, AT).unwrap());
        let entry = log::entry(AT + 5, &hashes.collect::<Vec<_>>());
        self.add(serde_json::to_string(&entry).unwrap())
    }

    /// The proof of a receipt in an entry.
    pub fn proof(&self, body: &str, index: usize) -> ReceiptProof {
        let disclosures = fields::disclosures(body, AT).unwrap();
        let (digests, _) = fields::summed(&disclosures);
        let mut tree = Tree::default();
        let mut leaves = Vec::new();
        for entry in &self.entries {
            let hash = Hash::of_entry(entry.as_bytes());
            leaves.push(hash);
            tree.append_with(hash, |_, _| {});
        }
        let mut tile = |id: TileId| (id.level == 0).then(|| leaves.clone());
        let path = Hashes::new(tree.size(), &mut tile).inclusion(index as u64);
        let unsigned = Checkpoint {
            origin: "hub.example/audit".to_owned(),
            size: tree.size(),
            root: tree.root(),
        };
        let unsigned = unsigned.unsigned().unwrap();
        let signature = self.key.sign(&SystemRandom::new(), unsigned.message());
        ReceiptProof {
            id: 7,
            digests: digests.iter().map(|digest| digest.text()).collect(),
            disclosures,
            index: index as u64,
            entry: self.entries[index].clone(),
            path: path
                .unwrap()
                .unwrap()
                .iter()
                .map(ToString::to_string)
                .collect(),
            checkpoint: unsigned
                .signed(&self.key(), signature.unwrap().as_ref())
                .unwrap(),
        }
    }
}
