//! Who says which requests a canary decides about, and counts its failures. The host does; this crate knows no request.

use crate::release::BoundCanary;

/// The canaries of a host.
pub trait Canaries: Send + Sync {
    /// Whether the canary decides about a request, by its input as JSON. False for one that was held back.
    fn decides(&self, canary: &BoundCanary, input: &str) -> bool;

    /// It has decided about one.
    fn decided(&self, canary: &BoundCanary);

    /// It has failed with one, for this reason.
    fn failed(&self, canary: &BoundCanary, reason: &str);
}

/// No canary decides about anything.
pub struct NoCanaries;

impl Canaries for NoCanaries {
    fn decides(&self, _canary: &BoundCanary, _input: &str) -> bool {
        false
    }

    fn decided(&self, _canary: &BoundCanary) {}

    fn failed(&self, _canary: &BoundCanary, _reason: &str) {}
}
