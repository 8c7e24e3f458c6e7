//! Crypto-shredding: records that name people are encrypted with keys of these people, and nobody can read them any
//! more when a key of one of them was destroyed, in no backup and no archive either.
//!
//! A person is the subject of a turn, for example `party:MSISDN/123`. All keys come from one file ([`mod@file`]), which a
//! host keeps outside its store and its backups. A new person needs no write: the key is derived ([`tree`]). Records
//! that are kept name the person by a pseudonym ([`pseudonym`]), which only the file can find.
//!
//! | Module | Subject |
//! |---|---|
//! | [`people`] | the keys of people: seal, open, shred |
//! | [`sealed`] | the form of what is encrypted |
//! | [`pseudonym`] | the names of people in records |
//! | [`tree`] | the tree of keys: derive each of them, and forget one |
//! | [`mod@file`] | the file of keys |
//!
//! What records are, and which of their parts name people, is not known here.

pub mod file;
pub mod people;
pub mod pseudonym;
pub mod sealed;
pub mod tree;

pub use file::{FileId, KeysError};
pub use people::{Opened, People, Shredded};
pub use pseudonym::Leaf;
