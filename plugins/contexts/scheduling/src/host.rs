//! The real surroundings: the host's surfaces.

use rialto_sdk::bindings::rialto::host::http::{self, OutboundRequest};
use rialto_sdk::bindings::rialto::host::{clock, random, scheduling};
use rialto_sdk::logging;
use rialto_sdk::scheme::settings;

use crate::bindings::rialto::host::caller::{self, Source};
use crate::bindings::rialto::scheduling::{schedule_reminder_elapsed, schedule_reminder_failed};
use crate::names::Client;
use crate::settings::Settings;
use crate::world::World;

/// The host.
pub struct Host;

rialto_sdk::stores_in_host!(Host);

impl World for Host {
    fn now(&mut self) -> u64 {
        clock::now()
    }

    fn settings(&mut self) -> Settings {
        settings::<Settings>().clone()
    }

    fn uuid(&mut self) -> String {
        random::uuid()
    }

    fn caller(&mut self) -> Option<Client> {
        Some(match caller::current()? {
            Source::Component(name) => Client::Component(name),
            Source::Client(name) => Client::Program(name),
        })
    }

    fn set_reminder(&mut self, name: &str, due: u64, payload: &str) {
        scheduling::set_reminder(name, due, payload);
    }

    fn cancel_reminder(&mut self, name: &str) -> bool {
        scheduling::cancel_reminder(name)
    }

    fn is_granted(&mut self, url: &str) -> bool {
        http::is_granted(url)
    }

    fn send(&mut self, request: &OutboundRequest) -> u64 {
        http::send(request)
    }

    fn elapsed(&mut self, event: &schedule_reminder_elapsed::Event) {
        schedule_reminder_elapsed::schedule_reminder_elapsed(event);
    }

    fn failed(&mut self, event: &schedule_reminder_failed::Event) {
        schedule_reminder_failed::schedule_reminder_failed(event);
    }

    fn subject(&mut self, name: &str) {
        logging::subject("reminder", name);
    }

    fn warn(&mut self, message: &str) {
        logging::log(logging::Level::Warn, message);
    }
}
