//! Tests of receipts that prove themselves: what holds, and what does not when anything is changed.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod disclosures;
mod proofs;
mod support;
mod what_ifs;
