//! Transfers against faked surroundings.

mod after_prepare;
mod agreements;
mod counters;
mod fake;
mod one_outcome;
mod operators;
mod preparing;
mod retention;
mod rollback;
