//! Tests of private files, and of files after a power cut.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod owned;
mod written;
