//! Quotes against faked surroundings.

mod fake;
mod requests;
mod responses;
mod retention;
mod rollback;
