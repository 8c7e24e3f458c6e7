//! Whose files are taken, and what a power cut leaves of those that were written.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod owned;
mod written;
