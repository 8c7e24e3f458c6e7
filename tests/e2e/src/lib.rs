//! The harness of the end-to-end tests: a host as a process of its own, simulated FSPs in this one.
//!
//! - [`scheme`] is a scheme's folder that a test may edit, [`host`] the process that serves it;
//! - [`world`] is both with the FSPs of the scheme, [`scenes`] payments and what is expected of them;
//! - [`messages`] makes messages of FSPs, [`barred`] a participant that may not take part;
//! - [`mutations`] makes random messages, [`kept`] reads the contents of a store;
//! - [`books`] reads the ledger and the transfers back and says what does not add up, [`audited`] compares the audit log;
//! - [`office`] are operators, who ask and decide over HTTP;
//! - [`author`] runs what plugin authors run;
//! - [`compiled`] shares compiled components between the tests' hosts;
//! - [`front`] stands before several hosts of a scheme, [`wire`] between one and its database;
//! - [`witness`] is a context that keeps every event;
//! - [`offers`] makes components that a host must or must not take;
//! - [`metrics`] is what a host counts, waits until it has nothing to do, and says what failed;
//! - [`handbook`] reads the fenced blocks of documents, [`terminal`] types them into a shell;
//! - [`binaries`] finds the programs, [`waiting`] waits for conditions.
//!
//! The host is seen from outside only: its process, its listeners, its command line. ([`barred`] is the
//! one exception that writes: it disables a participant in the store of a host at rest, where a test needs no operators.
//! [`kept`] reads such a store, for no interface shows all of it.)

#![forbid(unsafe_code)]

pub mod audited;
pub mod author;
pub mod barred;
pub mod binaries;
pub mod books;
pub mod catalogue;
pub mod compiled;
pub mod front;
pub mod handbook;
pub mod host;
pub mod kept;
pub mod measured;
pub mod messages;
pub mod metrics;
pub mod mutations;
pub mod offers;
pub mod office;
pub mod scenes;
pub mod scheme;
pub mod secured;
pub mod terminal;
pub mod text;
pub mod waiting;
pub mod wire;
pub mod witness;
pub mod world;

pub use books::Books;
pub use host::{CliOutput, RunningHost};
pub use office::{Office, Said};
pub use scheme::TestScheme;
pub use world::{World, WorldOptions};
