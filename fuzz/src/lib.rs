//! What must hold for bytes of a stranger, each as a function of the bytes that panics when it does not
//! hold. The targets in `fuzz_targets/` hand them the fuzzer's bytes; `seeds/` has what it begins with,
//! one folder for each target, in text that people can read.
//!
//! Each function judges by something else than the code that it is about: by a pattern of the API
//! definition, by another crate, or by a second way of computing.
//!
//! | Target | About | Seeds |
//! |---|---|---|
//! | [`amounts`] | money | a digit, the decimal places of the currency, and an amount |
//! | [`authenticators`] | responses of FIDO2 authenticators | a line that names a part of a response, then its bytes or its JSON |
//! | [`dates`] | instants in bodies and headers | a date |
//! | [`headers`] | header sections, and what goes on with a message | lines of headers |
//! | [`versions`] | `Accept` and `Content-Type` | a resource, a method, an Accept, a Content-Type, a line each |
//! | [`json`] | JSON that all read the same, and its canonical form | JSON |
//! | [`messages`] | whole messages, up to their event | a request as HTTP/1.1 writes it, without version |
//! | [`signatures`] | FSPIOP-Signature | an algorithm and two numbers, then such a request |
//! | [`keys`] | PEM | PEM |
//! | [`calls`] | gRPC's messages | a method, then JSON as protobuf has it; or bytes |
//!
//! `cargo xtask fuzz` runs them; so does `cargo fuzz`, which needs no nightly compiler if it is asked for no
//! sanitizer: `cargo fuzz run -s none amounts fuzz/corpus/amounts fuzz/seeds/amounts`. What a run comes upon
//! goes into the first folder, so that is not the seeds'. A finding's input becomes a seed, and a test beside
//! the code.

pub mod amounts;
pub mod authenticators;
pub mod calls;
pub mod dates;
pub mod headers;
pub mod json;
pub mod keys;
pub mod messages;
pub mod request;
pub mod signatures;
pub mod versions;
