//! The checks of `rialto.toml` alone.

use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::operator::{FIRST_OPERATOR, GRPC, Listener, NOBODY, OPERATORS, OperatorFile, Person};
use crate::values::{Name, UrlScheme};

/// Check the operator's document by itself.
pub(crate) fn operator(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let file = &document.value;
    let mut seen = Vec::new();
    for (name, listener) in &file.listeners {
        let address = listener.address;
        // Port 0 is another port each time.
        if address.socket().port() != 0
            && let Some((other, _)) = seen.iter().find(|(_, taken)| *taken == address)
        {
            document.problem(
                problems,
                &format!("listeners/{name}/address"),
                Code::Duplicate,
                format!("the address `{address}` belongs to listener `{other}` already"),
                "Give each listener an address of its own.",
            );
        }
        seen.push((name, address));
        if name.as_str() == GRPC {
            calls(document, listener, problems);
        } else {
            only_of_calls(document, name, listener, problems);
        }
        if [GRPC, OPERATORS].contains(&name.as_str()) {
            no_participants(document, name, listener, problems);
        }
        super::tls::listener(document, name, listener, problems);
        plaintext_tokens(document, name, listener, problems);
        if name.as_str() != OPERATORS && listener.destinations.is_some() {
            document.problem(
                problems,
                &format!("listeners/{name}/destinations"),
                Code::Contradiction,
                format!("`{name}` serves no metrics, and `destinations` is for the listener `{OPERATORS}`"),
                format!("Leave it out here, or say it in [listeners.{OPERATORS}]."),
            );
        }
    }
    people(document, problems);
    store(document, problems);
    super::releases::releases(document, problems);
    super::sign_in::sign_in(document, problems);
    super::keys::providers_of_keys(document, problems);
    super::keys::hub_key(document, problems);
    super::keys::authority(document, problems);
    super::keys::audit_log(document, problems);
    super::keys::personal_data(document, problems);
    super::tls::outbound(document, problems);
    super::events::events(document, problems);
    super::cluster::cluster(document, problems);
    let http = &file.http;
    let too_small = http.bodies_max < http.body_max;
    if too_small {
        document.problem(
            problems,
            "http/bodies-max",
            Code::Contradiction,
            format!(
                "`bodies-max` is {}, less than `body-max`, {}",
                http.bodies_max, http.body_max
            ),
            "All bodies together need room for the longest one.",
        );
    }
    let of_each = http.bodies_per_peer();
    let room = if too_small {
        None
    } else if of_each < http.body_max {
        Some((
            "less than `body-max`",
            http.body_max,
            "One address needs room for the longest body.",
        ))
    } else if of_each > http.bodies_max {
        Some((
            "more than `bodies-max`",
            http.bodies_max,
            "One address has a part of what all have.",
        ))
    } else {
        None
    };
    if let Some((than, other, help)) = room {
        document.problem(
            problems,
            "http/bodies-per-peer-max",
            Code::Contradiction,
            format!("`bodies-per-peer-max` is {of_each}, {than}, {other}"),
            help,
        );
    }
    let outbound = &file.outbound;
    if outbound.per_destination() > outbound.requests_waiting_max {
        document.problem(
            problems,
            "outbound/requests-waiting-per-destination-max",
            Code::Contradiction,
            format!(
                "`requests-waiting-per-destination-max` is {}, more than `requests-waiting-max`, {}",
                outbound.per_destination(),
                outbound.requests_waiting_max
            ),
            "One destination has a part of what all have.",
        );
    }
    let engine = &file.engine;
    if engine.retry_initial > engine.retry_max {
        document.problem(
            problems,
            "engine/retry-initial",
            Code::Contradiction,
            format!(
                "`retry-initial` is {}, longer than `retry-max`, {}",
                engine.retry_initial, engine.retry_max
            ),
            "The first pause between attempts is the shortest.",
        );
    }
    if engine.probe_initial > engine.probe_max {
        document.problem(
            problems,
            "engine/probe-initial",
            Code::Contradiction,
            format!(
                "`probe-initial` is {}, longer than `probe-max`, {}",
                engine.probe_initial, engine.probe_max
            ),
            "The first time between probes is the shortest.",
        );
    }
    if engine.per_client() > engine.turns_waiting_max {
        document.problem(
            problems,
            "engine/turns-waiting-per-client-max",
            Code::Contradiction,
            format!(
                "`turns-waiting-per-client-max` is {}, more than `turns-waiting-max`, {}",
                engine.per_client(),
                engine.turns_waiting_max
            ),
            "One client has a part of what all have.",
        );
    }
    if let Some(telemetry) = &file.telemetry
        && telemetry.endpoint.origin().scheme == UrlScheme::Https
    {
        document.problem(
            problems,
            "telemetry/endpoint",
            Code::BadValue,
            format!(
                "`{}` is https, and the host has no TLS",
                telemetry.endpoint
            ),
            "Name a collector beside the host, such as `http://127.0.0.1:4318`; it sends on over TLS.",
        );
    }
    if let Some(console) = &file.console
        && console.prometheus.origin().scheme == UrlScheme::Https
    {
        document.problem(
            problems,
            "console/prometheus",
            Code::BadValue,
            format!("`{}` is https, and the host asks Prometheus without TLS", console.prometheus),
            "Name a Prometheus beside the host, such as `http://127.0.0.1:9090`, or a proxy with TLS towards it.",
        );
    }
}

/// What a store on PostgreSQL does not have, and what only it has.
fn store(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let store = &document.value.store;
    if store.url.is_none() {
        if store.synchronous_standby {
            document.problem(
                problems,
                "store/synchronous-standby",
                Code::Contradiction,
                "`synchronous-standby` is for a store on PostgreSQL, and there is no `url`"
                    .to_owned(),
                "Leave it out, or name the database with `url`.",
            );
        }
        return;
    }
    if document.value.personal_data.is_some() {
        document.problem(
            problems,
            "personal-data",
            Code::Contradiction,
            "a store on PostgreSQL may have several hosts, and the file of people's keys is one host's".to_owned(),
            "Leave [personal-data] out, or `url`.",
        );
    }
    let mut contradiction = |key: &str, message: &str, help: &str| {
        document.problem(
            problems,
            &format!("store/{key}"),
            Code::Contradiction,
            message.to_owned(),
            help,
        );
    };
    if store.archives.is_some() {
        contradiction(
            "archives",
            "a store on PostgreSQL writes no archives",
            "Leave it out. The tables are divided by month: detach old months in the database.",
        );
    }
    if !store.keep.is_everything() {
        contradiction(
            "keep",
            "a store on PostgreSQL writes no archives, so it keeps everything",
            "Leave it out. The tables are divided by month: detach old months in the database.",
        );
    }
}

fn people(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    for (name, person) in &document.value.operators {
        one_name(document, name, person, problems);
        let taken = match name.as_str() {
            FIRST_OPERATOR => "is the one who holds `operator.token`",
            NOBODY => "stands for approvals without a second person",
            _ => "",
        };
        if !taken.is_empty() {
            document.problem(
                problems,
                &format!("operators/{name}"),
                Code::Duplicate,
                format!("the operator `{name}` {taken}"),
                "Give the operator another name.",
            );
        }
        if person.roles.is_empty() {
            document.problem(
                problems,
                &format!("operators/{name}/roles"),
                Code::BadValue,
                format!("the operator `{name}` has no role, so it may do nothing"),
                "Give it one of `reader`, `maker`, `checker`, `context`, `admin`.",
            );
        }
    }
}

/// A person has one name: what stands for a person under several tokens is nobody else's.
fn one_name(
    document: &Document<OperatorFile>,
    name: &Name,
    operator: &Person,
    problems: &mut Diagnostics,
) {
    let Some(person) = &operator.person else {
        return;
    };
    let reserved = [FIRST_OPERATOR, NOBODY].contains(&person.as_str());
    let their_own = document.value.operators.get(person);
    let elsewhere = their_own.and_then(|table| table.person.as_ref());
    let is_another = elsewhere.is_some_and(|other| other != person);
    if reserved || is_another {
        let why = if reserved {
            "stands for nobody in particular"
        } else {
            "is an operator who is somebody else"
        };
        document.problem(
            problems,
            &format!("operators/{name}/person"),
            Code::Contradiction,
            format!("the person `{person}` of the operator `{name}` {why}"),
            "A person has one name, in all tables that are theirs.",
        );
    }
}

/// What must hold for the listener of calls.
fn calls(document: &Document<OperatorFile>, listener: &Listener, problems: &mut Diagnostics) {
    let plaintext = listener.plaintext == Some(true);
    let address = listener.address;
    if listener.tls.is_none() && !plaintext && !address.socket().ip().is_loopback() {
        document.problem(
            problems,
            &format!("listeners/{GRPC}/address"),
            Code::Contradiction,
            format!("`{address}` is open to others than this machine, and there is no TLS"),
            "Give `tls` a certificate and a key, listen on 127.0.0.1, or say `plaintext = true` if a proxy before it has TLS.",
        );
    }
    if listener.tls.is_some() && plaintext {
        document.problem(
            problems,
            &format!("listeners/{GRPC}/plaintext"),
            Code::Contradiction,
            "`plaintext` is true, and there is `tls`".to_owned(),
            "Leave one of them out.",
        );
    }
    for (n, event) in listener.events.iter().enumerate() {
        if event.interface.is_none() {
            document.problem(
                problems,
                &format!("listeners/{GRPC}/events/{n}"),
                Code::BadValue,
                format!("`{event}` is all of a package, and events are named one by one"),
                "Name each event that clients may tell, as in `package/interface`.",
            );
        }
    }
}

/// What listeners do not have that serve no participants.
fn no_participants(
    document: &Document<OperatorFile>,
    name: &Name,
    listener: &Listener,
    problems: &mut Diagnostics,
) {
    let tls = listener.tls.as_ref();
    if tls.is_some_and(|tls| !tls.participants.is_empty()) {
        document.problem(
            problems,
            &format!("listeners/{name}/tls/participants"),
            Code::Contradiction,
            format!("`{name}` serves no participants"),
            "Leave it out here, or say it for the listener that participants use.",
        );
    }
}

/// What must hold where tokens may come without TLS.
fn plaintext_tokens(
    document: &Document<OperatorFile>,
    name: &Name,
    listener: &Listener,
    problems: &mut Diagnostics,
) {
    let Some(allowed) = listener.plaintext_tokens else {
        return;
    };
    let (message, help) = if [GRPC, OPERATORS].contains(&name.as_str()) {
        let message = format!("`{name}` serves no participants");
        let help = "Leave it out here, or say it for the listener that participants use.";
        (message, help)
    } else if allowed && listener.tls.is_some() {
        let message = "`plaintext-tokens` is true, and there is `tls`".to_owned();
        (message, "Leave one of them out.")
    } else {
        return;
    };
    document.problem(
        problems,
        &format!("listeners/{name}/plaintext-tokens"),
        Code::Contradiction,
        message,
        help,
    );
}

/// What other listeners do not have.
fn only_of_calls(
    document: &Document<OperatorFile>,
    name: &Name,
    listener: &Listener,
    problems: &mut Diagnostics,
) {
    let keys = [
        ("plaintext", listener.plaintext.is_some()),
        ("serve", !listener.serve.is_empty()),
        ("events", !listener.events.is_empty()),
        ("reflection", listener.reflection.is_some()),
    ];
    for (key, _) in keys.iter().filter(|(_, there)| *there) {
        document.problem(
            problems,
            &format!("listeners/{name}/{key}"),
            Code::Contradiction,
            format!("`{name}` serves HTTP, and `{key}` is for the listener `{GRPC}`"),
            format!("Leave it out here, or say it in [listeners.{GRPC}]."),
        );
    }
}
