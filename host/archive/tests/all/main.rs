//! Archives as other programs see them, and damaged ones.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod files;
