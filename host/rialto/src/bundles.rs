//! What goes into a bundle, and whether what is in one holds. The form of bundles is the crate `rialto-bundles`.
//!
//! [`contents`] has one way from a scheme or a rule to a bundle. [`making`] reads its sources from folders.
//! [`verifying`] reads them from a bundle, makes the bundle again, compares, and runs all that can be run without a host.

pub mod contents;
pub mod making;
pub mod plan;
pub mod verifying;
pub mod worlds;
