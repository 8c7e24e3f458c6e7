//! Everything outside of this context, as a trait, so that tests can replace it.

use rialto_sdk::documents::Store;

use crate::settings::Settings;

/// Everything outside.
pub trait World: Store {
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&mut self) -> u64;
    /// A random text of twelve hexadecimal digits.
    fn random(&mut self) -> String;
    /// The component's settings.
    fn settings(&mut self) -> Settings;
    /// Have the log trimmed at this instant.
    fn remind(&mut self, due: u64);
}
