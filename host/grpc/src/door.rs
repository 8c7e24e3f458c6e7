//! Who may call. Who a client is, is known where the operators are; here is only what is asked and answered.

use std::sync::Arc;

use rialto_engine::Name;

/// What a client wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Call components, as only contexts call each other.
    Call,
    /// Read what there is to be called.
    Read,
}

/// Why a client may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Nobody knows who it is: in words, what to show.
    Unknown(String),
    /// It is somebody who may not do this: in words, what is missing.
    Lacks(String),
}

/// Decides by the value of `authorization`. Answers who it is.
pub type Doorman = Arc<dyn Fn(Option<&str>, Right) -> Result<Name, Denied> + Send + Sync>;
