//! Values that cross between components, as bytes.
//!
//! A component calls another one, or publishes an event. Its arguments lie in its memory in the form of the component
//! model's canonical ABI. They are read from there into one block of bytes, and written from it into the memory of each
//! component that gets them. wasmtime offers two ways for that: types that the host knows when it is compiled, and trees
//! ([`Val`](wasmtime::component::Val)) with a string for each field's name. This host does not know the types of its
//! components, and calls are too frequent for trees.
//!
//! | Type | Bytes |
//! | --- | --- |
//! | number, bool, char | as in memory: 1, 2, 4 or 8 bytes, the lowest first; a bool is 0 or 1; all NaNs are one |
//! | string | its length in UTF-8 (4 bytes), then its UTF-8 |
//! | list | how many items (4 bytes), then the items |
//! | record, tuple | the fields |
//! | variant, enum, option, result | the case's index in as many bytes as in memory (1, 2 or 4), then its payload |
//! | flags | as in memory; bits without a name are 0 |
//!
//! Nothing is aligned. The bytes say nothing about their type: who reads them must know it. Equal values of a type have equal
//! bytes, and different ones different bytes.
//!
//! What belongs here: reading, writing and calling by the canonical ABI, and the same values as trees. What does not: which
//! component calls which, and what values mean.
//!
//! The types that wasmtime calls are the only unsafe code (`calls.rs`, which says why it is right). Property
//! tests compare everything with wasmtime's own trees, for types and values of all kinds.

mod abi;
mod bytes;
mod calls;
mod flat;
mod lift;
mod lower;
mod shapes;
mod trees;

pub use bytes::{Malformed, Values};
pub use calls::{HostFunction, call, link};
pub use trees::DoesNotFit;
