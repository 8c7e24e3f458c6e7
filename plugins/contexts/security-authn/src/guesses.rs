//! Who guesses secrets is slowed down, and then barred for a while.
//!
//! Wrong secrets are counted by who sends them (the name of the connection's certificate, or else its address) and the id
//! that was named, known or not. So nobody keeps an application's owner out from elsewhere, and an answer does not tell
//! which ids exist. The right secret has to wait too, from the same sender.
//!
//! | Wrong secrets within an hour of one another | The next one is compared after |
//! | --- | --- |
//! | 5 | at once |
//! | 6, 7, 8, … | 1 s, 2 s, 4 s, … |
//! | 16 | an hour; operators are alerted |
//!
//! Counts are in a fixed number of documents, which a secret number assigns, so that strangers cannot fill the store.
//! Two senders may share one by chance: then they share their count.

use std::net::Ipv6Addr;

use rialto_sdk::auditing::Audited;
use rialto_sdk::documents::Collection;
use serde::{Deserialize, Serialize};

use crate::world::World;

/// Counts, by their numbers.
const GUESSES: Collection<Guesses> = Collection::new("guesses");
/// The secret number by which senders are assigned to counts.
const SALT: Collection<Salt> = Collection::new("guesses-salt");
/// Its one document.
const ONLY: &str = "salt";
/// The number of counts: as many as two octets have values.
const COUNT_OCTETS: usize = 2;
/// Wrong secrets that are answered at once.
const FREE: u32 = 5;
/// Wrong secrets after which the sender is barred.
const BARRED: u32 = 16;
/// For how long, in milliseconds: an hour. Counts are forgotten after this time too.
const BARRED_MS: u64 = 60 * 60 * 1_000;

/// Wrong secrets of one sender for one id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Guesses {
    /// How many.
    pub count: u32,
    /// When the last one was compared; milliseconds since 1970.
    pub last: u64,
    /// Until when none is compared; milliseconds since 1970.
    pub until: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Salt {
    /// Hexadecimal digits.
    salt: String,
}

/// A sender with the id that it named.
pub(crate) struct Sender {
    place: String,
}

impl Sender {
    /// The sender of a request: the name that its certificate proves, or else its address.
    pub fn of(world: &mut impl World, certified: Option<&str>, address: &str, id: &str) -> Self {
        let salt = match SALT.within(world).get(ONLY) {
            Some(Salt { salt }) => salt,
            None => {
                let salt = world.random(16);
                SALT.within(world).put(ONLY, &Salt { salt: salt.clone() });
                salt
            }
        };
        let from = match certified {
            Some(name) => format!("name {name}"),
            None => format!("address {}", network(address)),
        };
        // Lengths, so that no two senders have one text.
        let text = format!("{salt}\n{} {from}\n{} {id}", from.len(), id.len());
        let hash = world.sha256(text.as_bytes());
        let octets = hash.iter().take(COUNT_OCTETS);
        let place = octets.map(|octet| format!("{octet:02x}")).collect();
        Self { place }
    }

    /// Milliseconds that the sender still has to wait; none if its next secret is compared.
    pub fn waits(&self, world: &mut impl World) -> Option<u64> {
        let now = world.now();
        let guesses = GUESSES.within(world).get(&self.place)?;
        // A clock that was set back bars nobody for longer than that.
        let rest = guesses.until.saturating_sub(now).min(BARRED_MS);
        (rest > 0).then_some(rest)
    }

    /// Count a wrong secret.
    pub fn guessed(&self, world: &mut impl World, id_if_known: &str) {
        let now = world.now();
        let before = GUESSES.within(world).get_for_update(&self.place);
        let recent = before.filter(|guesses| now.saturating_sub(guesses.last) < BARRED_MS);
        let count = recent.map_or(0, |guesses| guesses.count).saturating_add(1);
        let delay = match count {
            ..=FREE => 0,
            BARRED.. => BARRED_MS,
            between => 1_000 << (between - FREE - 1),
        };
        let guesses = Guesses {
            count,
            last: now,
            until: now.saturating_add(delay.min(BARRED_MS)),
        };
        GUESSES.within(world).put(&self.place, &guesses);
        if count == BARRED {
            let line = format!(
                "{count} wrong secrets from one sender for the application {id_if_known}: it is barred for an hour"
            );
            world.alert(&line);
            let about = format!("application:{id_if_known}");
            world.audit(&Audited::refused("login.barred", about, &line));
        }
    }

    /// Forget the count after a right secret.
    pub fn succeeded(&self, world: &mut impl World) {
        if GUESSES.within(world).get(&self.place).is_some() {
            GUESSES.within(world).delete(&self.place);
        }
    }
}

/// An address as one sender has it: of IPv6 the first 64 bits, because one has all addresses below them.
fn network(address: &str) -> String {
    match address.parse::<Ipv6Addr>() {
        Ok(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}")
        }
        Err(_) => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_one_sender() {
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2::9"));
        assert_ne!(network("2001:db8:1:2::9"), network("2001:db8:1:3::9"));
    }
}
