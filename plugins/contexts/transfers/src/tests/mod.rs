//! Transfers against faked surroundings.

mod after_prepare;
mod fake;
mod one_outcome;
mod preparing;
