//! Bounds of requests, inbound and outbound, and of the turns that they cause.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tls::OutboundTls;
use crate::values::{Duration, IpRange, Size};

/// Bounds on outbound requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Outbound {
    /// Connections to one destination at a time.
    #[schemars(range(min = 1, max = 4096))]
    pub connections_per_destination: u32,
    /// Requests to all destinations that may wait in memory for delivery. Further ones wait on disk.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests_waiting_max: u32,
    /// Requests to one destination that may wait in memory for delivery. By default a quarter of all, and never more than is left for all others. Further ones wait on disk, so that a dead destination leaves room for the others.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_waiting_per_destination_max: Option<u32>,
    /// Failed attempts in a row after which a destination is paused and then tried again with one request. An attempt fails without a connection, by a broken connection, without an answer in time, or with 502, 503 or 504 from a gateway.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub breaker_failures: u32,
    /// The first pause. Each further one is twice as long.
    pub breaker_pause: Duration,
    /// The longest pause.
    pub breaker_pause_max: Duration,
    /// TLS towards https destinations. Without it, their certificates must be from the system's authorities, and the host shows none.
    #[serde(skip_serializing_if = "OutboundTls::is_usual")]
    pub tls: OutboundTls,
    /// Private ranges of addresses that destinations' names may lead to, such as a private network that the participants share. None by default: a participant's name server must not lead requests to services beside the host. A destination that is granted as an address needs no range.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub private_ranges: Vec<IpRange>,
}

impl Outbound {
    /// Requests that may wait in memory for one destination.
    #[must_use]
    pub fn per_destination(&self) -> u32 {
        let quarter = (self.requests_waiting_max / 4).max(1);
        self.requests_waiting_per_destination_max.unwrap_or(quarter)
    }
}

impl Default for Outbound {
    fn default() -> Self {
        Self {
            connections_per_destination: 32,
            requests_waiting_max: 16_384,
            requests_waiting_per_destination_max: None,
            breaker_failures: 8,
            breaker_pause: Duration::from_millis(500),
            breaker_pause_max: Duration::from_millis(15_000),
            tls: OutboundTls::default(),
            private_ranges: Vec::new(),
        }
    }
}

/// How the host runs turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Engine {
    /// Threads that run turns. If it is set, all of them may run turns at once. By default there are four for each core, because some wait for the disk or run a slow component. As many turns as cores (at least two) then run at once, and one more for each turn that takes longer than 10 ms.
    #[schemars(range(min = 1, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Turns that may wait. Beyond this, requests are answered 503 with Retry-After. Deliveries that wait for another attempt or for a paused component do not count.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub turns_waiting_max: u32,
    /// Requests of one client that may wait or run. By default a quarter of all. Further ones of the client are answered 503 with Retry-After. A client is an operator's name, a participant that has proven its id, or else an address (of IPv6: a /64 network).
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns_waiting_per_client_max: Option<u32>,
    /// The weight of each client: how many of its requests begin in its round while the host is overloaded. 1 for a client that is not listed. `operator NAME` stands for an operator, `client ID` for a participant that has proven its id, `address ADDRESS` for all requests from an address.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub client_weights: BTreeMap<String, Weight>,
    /// How often a failing delivery between components is tried before it becomes a dead letter.
    #[schemars(range(min = 1, max = 100_000))]
    pub turn_attempts_max: u32,
    /// How long a failing delivery is tried before it becomes a dead letter, even if attempts are left.
    pub retry_for: Duration,
    /// The pause after a delivery's first failure. It doubles with each further failure.
    pub retry_initial: Duration,
    /// The longest pause between a delivery's attempts.
    pub retry_max: Duration,
    /// The number of subjects whose failed deliveries pause a component, if none has succeeded since and they came from several senders.
    #[schemars(range(min = 1, max = 1_000))]
    pub pause_subjects: u32,
    /// The number of senders for that. So one sender of bad messages does not pause a component for all.
    #[schemars(range(min = 1, max = 1_000))]
    pub pause_senders: u32,
    /// The time from the pause of a component to its first probe, which is one delivery. It doubles after each failed probe.
    pub probe_initial: Duration,
    /// The longest time between two probes.
    pub probe_max: Duration,
    /// Deliveries in memory that wait for another attempt or for a paused component. Further ones wait on disk.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub deliveries_in_memory_max: u32,
    /// The idle time after which an instance of a component is dropped. It takes effect after at most twice this time.
    pub instance_idle: Duration,
}

/// How many requests of a client begin in its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Weight(#[schemars(range(min = 1, max = 1_000))] pub u32);

impl Engine {
    /// Requests of one client that may wait or be under way.
    #[must_use]
    pub fn per_client(&self) -> u32 {
        let quarter = (self.turns_waiting_max / 4).max(1);
        self.turns_waiting_per_client_max.unwrap_or(quarter)
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            workers: None,
            turns_waiting_max: 4_096,
            turns_waiting_per_client_max: None,
            client_weights: BTreeMap::new(),
            turn_attempts_max: 100,
            retry_for: Duration::from_millis(4 * 3_600_000),
            retry_initial: Duration::from_millis(50),
            retry_max: Duration::from_millis(300_000),
            pause_subjects: 8,
            pause_senders: 2,
            probe_initial: Duration::from_millis(1_000),
            probe_max: Duration::from_millis(30_000),
            deliveries_in_memory_max: 16_384,
            instance_idle: Duration::from_millis(60_000),
        }
    }
}

/// Bounds on inbound requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Http {
    /// The longest body. If an API's own limit is smaller, that one counts. FSPIOP's limit is 5 MiB.
    pub body_max: Size,
    /// The memory for all bodies that are read or handled at a time. Beyond it, requests are answered 503 with Retry-After.
    pub bodies_max: Size,
    /// The part of `bodies-max` for one address (of IPv6: one /64 network). By default a quarter, but at least `body-max`. All clients behind one proxy are one address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bodies_per_peer_max: Option<Size>,
    /// The longest header section. If an API's own limit is smaller, that one counts. FSPIOP's limit is 64 KiB.
    pub headers_max: Size,
    /// How long a request may take, from its first byte to the answer.
    pub request_timeout: Duration,
    /// The least average bytes per second at which a client must send a body and read an answer. A slower client is disconnected.
    pub rate_min: Size,
    /// The time at the beginning of each body and answer in which this rate is not required.
    pub rate_grace: Duration,
    /// Connections of one listener at a time.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections_max: u32,
    /// Connections of one listener at a time from one address (of IPv6: from one /64 network); more are closed at once.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections_per_peer_max: u32,
}

impl Http {
    /// The part of all bodies that one address may have.
    #[must_use]
    pub fn bodies_per_peer(&self) -> Size {
        let quarter = Size::from_bytes(self.bodies_max.bytes() / 4);
        let quarter = quarter.max(self.body_max);
        self.bodies_per_peer_max.unwrap_or(quarter)
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            body_max: Size::from_mib(5),
            bodies_max: Size::from_mib(256),
            bodies_per_peer_max: None,
            headers_max: Size::from_kib(64),
            request_timeout: Duration::from_millis(30_000),
            rate_min: Size::from_bytes(240),
            rate_grace: Duration::from_millis(5_000),
            connections_max: 4_096,
            connections_per_peer_max: 1_024,
        }
    }
}
