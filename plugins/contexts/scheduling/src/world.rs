//! Everything outside of this context, as a trait, so that tests can replace it.

use rialto_sdk::bindings::rialto::host::http::OutboundRequest;
use rialto_sdk::documents::Store;

use crate::bindings::rialto::scheduling::schedule_reminder_elapsed::Event as Elapsed;
use crate::bindings::rialto::scheduling::schedule_reminder_failed::Event as Failed;
use crate::names::Client;
use crate::settings::Settings;

/// Everything outside.
pub trait World: Store {
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&mut self) -> u64;
    /// The component's settings.
    fn settings(&mut self) -> Settings;
    /// A random UUID.
    fn uuid(&mut self) -> String;
    /// Who has made the call that is answered now, if it is a call.
    fn caller(&mut self) -> Option<Client>;
    /// Set a reminder of the host.
    fn set_reminder(&mut self, name: &str, due: u64, payload: &str);
    /// Cancel a reminder of the host. Returns whether it was still waiting.
    fn cancel_reminder(&mut self, name: &str) -> bool;
    /// Whether requests to the origin of a URL are granted.
    fn is_granted(&mut self, url: &str) -> bool;
    /// Stage a request. Returns its id.
    fn send(&mut self, request: &OutboundRequest) -> u64;
    /// Publish that a reminder has come due.
    fn elapsed(&mut self, event: &Elapsed);
    /// Publish that a callback was given up.
    fn failed(&mut self, event: &Failed);
    /// Name a reminder as a subject of the turn.
    fn subject(&mut self, name: &str);
    /// Write a line to the host's log.
    fn warn(&mut self, message: &str);
}
