//! What hosts of a partition say of themselves.

use rialto_engine::Timestamp;
use rialto_engine::store::Store as _;
use rialto_store_postgres::{HostSaid, HostState, PostgresStore};

use crate::database::Database;
use crate::written;

fn said(name: &str) -> HostSaid {
    HostSaid {
        name: name.into(),
        version: "0.1.0".into(),
        operators: "127.0.0.1:4002".into(),
        relay: "127.0.0.1:7000".into(),
        passes: false,
        release: 7,
        followed: None,
    }
}

fn now() -> Timestamp {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp(now.unwrap().as_millis().try_into().unwrap())
}

fn states(of: &PostgresStore) -> Vec<(String, HostState)> {
    let hosts = of.cluster().unwrap().hosts.into_iter();
    hosts.map(|host| (host.said.name, host.state)).collect()
}

#[test]
fn who_serves_is_told_by_the_lease_alone() {
    let database = Database::shared();
    let (first, second) = (database.host(), database.host());
    assert_eq!(first.cluster().unwrap().hosts, []);
    first.say(&said("a"), now).unwrap();
    second.say(&said("b"), now).unwrap();
    let standby = |name: &str| (name.to_owned(), HostState::Standby);
    assert_eq!(states(&first), [standby("a"), standby("b")]);
    assert_eq!(first.cluster().unwrap().expires_in, None);
    second.recover().unwrap();
    let serving = ("b".to_owned(), HostState::Serving);
    assert_eq!(states(&first), [standby("a"), serving.clone()]);
    let cluster = first.cluster().unwrap();
    assert_eq!(cluster.epoch, 1);
    assert!(cluster.expires_in.is_some() && cluster.taken.is_some());
    assert_eq!(cluster.hosts[1].id, second.host_id());
    assert_eq!(cluster.hosts[1].said, said("b"));
    // A host that falls silent, whatever its last words were.
    database.sql("UPDATE rialto.hosts SET seen_at = seen_at - interval '6 s'");
    assert_eq!(
        states(&first),
        [("a".to_owned(), HostState::Gone), serving.clone()]
    );
    // One that has handed over takes over no more.
    let passing = HostSaid {
        passes: true,
        ..said("a")
    };
    first.say(&passing, now).unwrap();
    assert_eq!(
        states(&second),
        [("a".to_owned(), HostState::Passing), serving.clone()]
    );
    // It is heard of again; and one that ends takes its words back.
    first.say(&said("a"), now).unwrap();
    assert_eq!(states(&second), [standby("a"), serving.clone()]);
    first.say_no_more().unwrap();
    assert_eq!(states(&second), [serving]);
}

#[test]
fn a_clock_that_goes_wrong_is_told_with_its_sign() {
    let database = Database::shared();
    let host = database.host();
    let ahead = || host.cluster().unwrap().hosts[0].clock_ahead_ms;
    host.say(&said("a"), || Timestamp(now().0 + 5_000)).unwrap();
    assert!((4_000..=6_000).contains(&ahead()), "{}", ahead());
    host.say(&said("a"), || Timestamp(now().0 - 5_000)).unwrap();
    assert!((-6_000..=-4_000).contains(&ahead()), "{}", ahead());
}

#[test]
fn hosts_that_were_silent_for_a_day_are_forgotten() {
    let database = Database::shared();
    let (old, new) = (database.host(), database.host());
    old.say(&said("old"), now).unwrap();
    database.sql("UPDATE rialto.hosts SET seen_at = seen_at - interval '25 h'");
    new.say(&said("new"), now).unwrap();
    assert_eq!(states(&new), [("new".to_owned(), HostState::Standby)]);
}

#[test]
fn a_standby_says_how_far_it_has_followed() {
    let database = Database::shared();
    let first = database.host();
    first.recover().unwrap();
    let standby = database.host();
    first.say(&said("first"), now).unwrap();
    for (lsn, followed, behind) in [
        (1, None, None),
        (2, Some(1), Some(1)),
        (3, Some(3), Some(0)),
    ] {
        first.write(&written::at(lsn)).unwrap();
        let follows = HostSaid {
            followed,
            ..said("standby")
        };
        standby.say(&follows, now).unwrap();
        let seen = first.cluster().unwrap();
        let seen = seen.hosts.iter().find(|host| host.said.name == "standby");
        let seen = seen.unwrap();
        assert_eq!((seen.said.followed, seen.groups_behind), (followed, behind));
    }
}
