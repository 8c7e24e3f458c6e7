//! Receipts that prove themselves. Each field of a receipt has a salted digest. The hash of these digests is in an entry of
//! the audit log, which is on disk with the receipt and is signed by the log's checkpoints. So whoever has the log's public
//! key can verify a receipt without the host, and fields can be taken away without breaking the proof.
//!
//! | What | Where |
//! |---|---|
//! | the fields of a receipt | [`fields`] |
//! | their digests: disclosures as in RFC 9901 (SD-JWT), 4.2.1 and 4.2.3 | [`disclosure`] |
//! | the entry of the audit log about receipts | [`log`] |
//! | receipts in a file, with their proofs | [`proof`] |
//! | the check of one | [`verify`] |
//!
//! This crate reads no store, has no private key and runs no rule. It does not know what receipts are about.

pub mod disclosure;
pub mod fields;
pub mod log;
pub mod proof;
pub mod verify;

pub use disclosure::{ReceiptHash, SALT_BYTES, Salt};
pub use fields::{Malformed, hash};
pub use proof::{ProofFile, ReceiptProof, Unproven, WhatIfReceipt, Why};
pub use verify::{Disclosed, NotProven, Verified};
