//! What authors of plugins use: a rule's file alone, without a scheme, a store or a host.

pub mod binding;
pub mod boundaries;
pub mod build;
pub mod case;
pub mod embedded;
pub mod file;
pub mod fuzz;
pub mod new;
pub mod told;
