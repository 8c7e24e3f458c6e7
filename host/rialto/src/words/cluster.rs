//! The hosts of a scheme, as text for people.

use std::fmt::Write as _;

use super::{instant, plain};
use crate::ops::{ShownCluster, ShownHost, ShownHostState};

/// Who serves, and a line for each host.
pub fn cluster(cluster: &ShownCluster) -> String {
    let mut text = String::new();
    for one in &cluster.partitions {
        let _ = write!(text, "partition {}: ", one.partition);
        let owner = one.owner.as_ref();
        let owner = owner.and_then(|id| cluster.hosts.iter().find(|host| host.id == *id));
        match owner {
            Some(host) => {
                let _ = write!(text, "{} serves", place(host));
            }
            None => text.push_str("NO HOST SERVES"),
        }
        if let (Some(taken), Some(_)) = (one.taken, owner) {
            let _ = write!(text, " since {}", instant(taken));
        }
        let times = if one.epoch == 1 { "time" } else { "times" };
        let _ = writeln!(text, "; the lease was taken {} {times}", one.epoch);
    }
    for host in &cluster.hosts {
        let _ = writeln!(text, "{}", line(host));
    }
    if !cluster
        .hosts
        .iter()
        .any(|host| host.state == ShownHostState::Standby)
    {
        text.push_str("NO STANDBY: nobody takes over when the host that serves is gone\n");
    }
    text
}

fn line(host: &ShownHost) -> String {
    let state = match host.state {
        ShownHostState::Serving => "serves",
        ShownHostState::Standby => "standby",
        ShownHostState::Passing => "passes",
        ShownHostState::Gone => "GONE",
    };
    let mut line = format!("{state:<8} {} rialto {}", place(host), plain(&host.version));
    match host.release {
        0 => line.push_str(", no release prepared"),
        release => {
            let _ = write!(line, ", release {release} prepared");
        }
    }
    match host.state {
        ShownHostState::Gone => {
            let _ = write!(line, ", silent for {} s", host.seen_ago_ms / 1_000);
        }
        _ => {
            let _ = write!(line, ", clock {:+} ms", host.clock_ahead_ms);
        }
    }
    if let Some(behind) = host.groups_behind {
        let _ = write!(line, ", {behind} groups behind");
    }
    let _ = write!(line, ", started {}", instant(host.started));
    if host.state == ShownHostState::Passing {
        line.push_str(", has handed over: stop it, and start it again to have a standby");
    }
    if host.is_this {
        line.push_str(" (this one)");
    }
    line
}

/// A host's name and address.
fn place(host: &ShownHost) -> String {
    let name = plain(&host.name);
    if host.operators.is_empty() {
        return name;
    }
    format!("{name} ({})", plain(&host.operators))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::ShownPartition;

    fn host(id: &str, state: ShownHostState) -> ShownHost {
        ShownHost {
            id: id.into(),
            name: format!("machine-{id}"),
            state,
            is_this: id == "a",
            version: "0.1.0".into(),
            operators: "10.0.0.1:4002".into(),
            relay: String::new(),
            release: 3,
            clock_ahead_ms: -2,
            groups_behind: (state == ShownHostState::Standby).then_some(3),
            started: 1_000,
            seen_ago_ms: 9_999,
        }
    }

    fn of(hosts: Vec<ShownHost>, owner: Option<&str>) -> ShownCluster {
        ShownCluster {
            partitions: vec![ShownPartition {
                partition: 0,
                owner: owner.map(Into::into),
                epoch: 2,
                taken: Some(2_000),
                expires_in_ms: None,
            }],
            hosts,
        }
    }

    #[test]
    fn a_missing_standby_and_a_silent_host_are_told() {
        let hosts = vec![
            host("a", ShownHostState::Serving),
            host("b", ShownHostState::Gone),
        ];
        let text = cluster(&of(hosts, Some("a")));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "partition 0: machine-a (10.0.0.1:4002) serves since 1970-01-01 00:00:02.000Z; the lease was taken 2 times",
                "serves   machine-a (10.0.0.1:4002) rialto 0.1.0, release 3 prepared, clock -2 ms, started 1970-01-01 00:00:01.000Z (this one)",
                "GONE     machine-b (10.0.0.1:4002) rialto 0.1.0, release 3 prepared, silent for 9 s, started 1970-01-01 00:00:01.000Z",
                "NO STANDBY: nobody takes over when the host that serves is gone",
            ]
        );
        let text = cluster(&of(vec![host("b", ShownHostState::Standby)], None));
        assert!(text.starts_with("partition 0: NO HOST SERVES;"), "{text}");
        assert!(!text.contains("NO STANDBY"), "{text}");
    }
}
