//! The real surroundings: the host's surfaces.

use rialto_sdk::bindings::rialto::host::{clock, random, scheduling};
use rialto_sdk::scheme::settings;

use crate::settings::Settings;
use crate::world::World;

/// The name of the one reminder.
const TRIM: &str = "trim";
/// Random bytes of an entry's id.
const RANDOM_BYTES: u32 = 6;

/// The host.
pub struct Host;

rialto_sdk::stores_in_host!(Host);

impl World for Host {
    fn now(&mut self) -> u64 {
        clock::now()
    }

    fn random(&mut self) -> String {
        random::bytes(RANDOM_BYTES)
    }

    fn settings(&mut self) -> Settings {
        settings::<Settings>().clone()
    }

    fn remind(&mut self, due: u64) {
        scheduling::set_reminder(TRIM, due, "");
    }
}
