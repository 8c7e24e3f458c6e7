//! All tests of the crate that read documents from the tree, in one program.

mod examples;
