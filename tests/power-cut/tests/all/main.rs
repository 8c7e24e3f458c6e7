//! The file system itself: what it keeps, what it loses, and that programs run on it.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod bytes;
mod names;
