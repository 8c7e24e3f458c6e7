//! Header sections: they come back as they were, and what goes on with a message is what may.

use fsp_interop_api::headers::{forwardable, forwarded, named_destination, originated};
use fsp_interop_api::media::{Resource, Version};
use http::HeaderMap;
use rialto_openapi::head::texts;
use rialto_sdk::headers::{filled, first, kept, of_list, to_list};

use crate::request::header;

/// What may go on, beside what begins with `fspiop-`.
const GO_ON: [&str; 6] = [
    "accept",
    "content-type",
    "date",
    "traceparent",
    "tracestate",
    "x-forwarded-for",
];
const DESTINATION: &str = "fspiop-destination";

/// The bytes are lines of headers; what is none is left out.
pub fn judge(bytes: &[u8]) {
    let mut headers = HeaderMap::new();
    let lines = bytes.split(|byte| *byte == b'\n');
    for (name, value) in lines.filter_map(header) {
        headers.append(name, value);
    }
    let list = texts(&headers);
    let section = of_list(&list);
    assert_eq!(to_list(&section), list, "a list comes back as it was");
    assert_eq!(kept(&section, |_| true), section);
    for (name, _) in &list {
        let values = list.iter().filter(|(other, _)| other == name);
        let value = values.map(|(_, value)| value.trim()).next();
        assert_eq!(first(&section, name), value);
    }
    for method in ["GET", "POST", "DELETE", "PUT", "PATCH"] {
        going_on(&list, &section, method);
    }
    of_the_hub(&list, &section);
}

fn going_on(list: &[(String, String)], section: &str, method: &str) {
    let may = |name: &str| match name {
        "accept" => matches!(method, "GET" | "POST" | "DELETE"),
        "fspiop-proxy" => false,
        _ => name.starts_with("fspiop-") || GO_ON.contains(&name),
    };
    let goes = forwardable(section, method);
    let expected: Vec<_> = list.iter().filter(|(name, _)| may(name)).cloned().collect();
    assert_eq!(to_list(&goes), expected, "{method}");
    assert_eq!(forwardable(&goes, method), goes, "{method} a second time");
    let sent = forwarded(goes.clone(), "payeefsp", "Hub");
    let named = named_destination(&goes, "Hub");
    if named.is_some() {
        assert_eq!(sent, goes, "a destination that is named stays");
        return;
    }
    let mut filled_in: Vec<_> = expected;
    filled_in.retain(|(name, _)| name != DESTINATION);
    filled_in.push((DESTINATION.to_owned(), "payeefsp".to_owned()));
    assert_eq!(
        to_list(&sent),
        filled_in,
        "one destination, and nothing else is new"
    );
}

fn of_the_hub(list: &[(String, String)], section: &str) {
    let made = originated(
        Resource::Transfers,
        Version::V1_1,
        "payerfsp",
        "Hub",
        0,
        section,
    );
    let is_trace = |name: &str| matches!(name, "traceparent" | "tracestate");
    let (traced, own): (Vec<_>, Vec<_>) = to_list(&made)
        .into_iter()
        .partition(|(name, _)| is_trace(name));
    let traces = list.iter().filter(|(name, _)| is_trace(name));
    assert_eq!(traced, traces.cloned().collect::<Vec<_>>());
    let names: Vec<_> = own.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["content-type", "date", "fspiop-source", DESTINATION]
    );
    assert_eq!(filled(&made, "fspiop-source"), Some("Hub"));
}
