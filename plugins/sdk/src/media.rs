//! FSPIOP's media types: resources and their versions.

use crate::headers::{each, first, push};

/// A resource of the API: the first segment of its paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Which FSP a party is with.
    Participants,
    /// Who a party is.
    Parties,
    /// Terms of a transaction.
    Quotes,
    /// Movement of funds.
    Transfers,
}

impl Resource {
    /// The resource of a path.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let segment = path.strip_prefix('/')?.split('/').next()?;
        [
            Self::Participants,
            Self::Parties,
            Self::Quotes,
            Self::Transfers,
        ]
        .into_iter()
        .find(|resource| resource.name() == segment)
    }

    /// Its name in paths and media types.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Participants => "participants",
            Self::Parties => "parties",
            Self::Quotes => "quotes",
            Self::Transfers => "transfers",
        }
    }

    /// The versions that are served always, the newest last. The OpenAPI document says the same. A scheme may
    /// admit 2.0, too.
    #[must_use]
    pub fn versions(self) -> &'static [Version] {
        match self {
            Self::Transfers => &[Version::V1_0, Version::V1_1, Version::V1_2],
            _ => &[Version::V1_0, Version::V1_1],
        }
    }

    /// The version for a participant that leaves it to the hub: the newest.
    #[must_use]
    pub fn newest(self) -> Version {
        match self {
            Self::Transfers => Version::V1_2,
            _ => Version::V1_1,
        }
    }
}

/// A version of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 1.0.
    V1_0,
    /// 1.1: RESERVED and PATCH on transfers, extension lists in party ids.
    V1_1,
    /// 1.2: PATCH …/error on transfers.
    V1_2,
    /// 2.0, in the JSON form of deployed switches: some optional members more. Served if a scheme admits it.
    V2_0,
}

impl Version {
    /// The version for a participant that has named none, for example in a timeout's notice. A newer version
    /// might be refused.
    pub const UNASKED: Self = Self::V1_1;

    /// Its text in media types.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
            Self::V1_2 => "1.2",
            Self::V2_0 => "2.0",
        }
    }

    /// The version of this text.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        [Self::V1_0, Self::V1_1, Self::V1_2, Self::V2_0]
            .into_iter()
            .find(|version| version.text() == text)
    }
}

/// The media type of a resource at a version.
#[must_use]
pub fn media_type(resource: Resource, version: Version) -> String {
    format!(
        "application/vnd.interoperability.{}+json;version={}",
        resource.name(),
        version.text()
    )
}

/// The version for answers to the sender of a message: the first served one in its `Accept`. Without `Accept`
/// (a PUT), the version of its `Content-Type`. Several lines of `Accept` are one list. A message of version 2.0
/// that lists no other version is answered in 2.0. The `Content-Type` of each message shows whether the scheme
/// admits 2.0; `Accept` does so only for some.
#[must_use]
pub fn version_for_sender(headers: &str, resource: Resource) -> Version {
    let mut items = each(headers)
        .filter(|(name, _)| *name == "accept")
        .flat_map(|(_, accept)| accept.split(','));
    let wish = items.find_map(|item| {
        Wish::of(item, resource).filter(|wish| !matches!(wish, Wish::One(Version::V2_0)))
    });
    let content = || content_version(headers, resource);
    match wish {
        Some(Wish::One(version)) => version,
        Some(Wish::Newest) => resource.newest(),
        // It understands the version of its own message.
        Some(Wish::AnyMinor) => match content() {
            Version::V2_0 => Version::UNASKED,
            minor => minor,
        },
        None => content(),
    }
}

/// The version of a message.
#[must_use]
pub fn content_version(headers: &str, resource: Resource) -> Version {
    let content_type = first(headers, "content-type");
    match content_type.and_then(|content_type| Wish::of(content_type, resource)) {
        Some(Wish::One(version)) => version,
        _ => Version::UNASKED,
    }
}

/// The longest trace header that an answer continues, in bytes: W3C's bound of a `tracestate`.
const TRACE_BYTES_MAX: usize = 512;

/// The headers of a request that shape the hub's answer: the version, as a `Content-Type`, and the trace. Their
/// length is bounded. A context that answers later stores them in place of all headers.
#[must_use]
pub fn shaping(headers: &str, resource: Resource) -> String {
    let version = version_for_sender(headers, resource);
    let mut kept = String::new();
    push(&mut kept, "content-type", &media_type(resource, version));
    kept + &trace(headers)
}

/// The trace headers of a message, unless they are too long.
#[must_use]
pub fn trace(headers: &str) -> String {
    let mut kept = String::new();
    for name in ["traceparent", "tracestate"] {
        let value = first(headers, name).filter(|value| value.len() <= TRACE_BYTES_MAX);
        if let Some(value) = value {
            push(&mut kept, name, value);
        }
    }
    kept
}

/// An item of `Accept`.
enum Wish {
    /// This version.
    One(Version),
    /// Any of major version 1.
    AnyMinor,
    /// The newest.
    Newest,
}

impl Wish {
    /// None if the item is not for the resource, or its version is not served. It accepts the items of
    /// the OpenAPI document's pattern, and version 2.0, which the document has only if the scheme serves it.
    fn of(item: &str, resource: Resource) -> Option<Self> {
        let rest = item
            .trim()
            .strip_prefix("application/vnd.interoperability.")?
            .strip_prefix(resource.name())?
            .strip_prefix("+json")?;
        if rest.is_empty() {
            return Some(Self::Newest);
        }
        let rest = without_blank(rest).strip_prefix(';')?;
        match without_blank(rest).strip_prefix("version=")? {
            "1" => Some(Self::AnyMinor),
            version => Version::of_text(version)
                .filter(|version| {
                    *version == Version::V2_0 || resource.versions().contains(version)
                })
                .map(Self::One),
        }
    }
}

/// Without one blank at its beginning.
fn without_blank(text: &str) -> &str {
    text.strip_prefix([' ', '\t']).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken(
        accept: Option<&str>,
        content_type: Option<&str>,
        resource: Resource,
    ) -> &'static str {
        let headers: String = [("accept", accept), ("content-type", content_type)]
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}: {}\n", value?)))
            .collect();
        version_for_sender(&headers, resource).text()
    }

    #[test]
    fn the_first_served_version_that_the_sender_accepts_is_spoken() {
        let quotes = Resource::Quotes;
        let item = |version: &str| format!("application/vnd.interoperability.quotes+json{version}");
        assert_eq!(spoken(Some(&item(";version=1.0")), None, quotes), "1.0");
        assert_eq!(spoken(Some(&item(" ; version=1.0")), None, quotes), "1.0");
        assert_eq!(spoken(Some(&item(";version=1")), None, quotes), "1.1");
        assert_eq!(spoken(Some(&item("")), None, quotes), "1.1");
        let others = format!("text/plain, {}", item(";version=1.0"));
        assert_eq!(spoken(Some(&others), None, quotes), "1.0");
        let list = format!("{},{}", item(";version=2.0"), item(";version=1.0"));
        assert_eq!(spoken(Some(&list), None, quotes), "1.0");
        assert_eq!(
            spoken(
                Some(&item(";version=1.2")),
                Some(&item(";version=1.0")),
                quotes
            ),
            "1.0"
        );
    }

    #[test]
    fn version_2_answers_only_a_sender_of_version_2() {
        let parties = Resource::Parties;
        let item =
            |version: &str| format!("application/vnd.interoperability.parties+json{version}");
        let (one, two) = (item(";version=1.0"), item(";version=2.0"));
        for accept in [";version=2.0", ";version=2", ";version=2.1"] {
            let accept = item(accept);
            assert_eq!(spoken(Some(&accept), Some(&two), parties), "2.0");
            assert_eq!(spoken(Some(&accept), Some(&one), parties), "1.0");
            let both = format!("{accept}, {one}");
            assert_eq!(spoken(Some(&both), Some(&two), parties), "1.0");
        }
        let any = item(";version=1");
        assert_eq!(spoken(Some(&any), Some(&one), parties), "1.0");
        assert_eq!(spoken(Some(&any), Some(&two), parties), "1.1");
        // An answer has its version, and errors to it have the same.
        assert_eq!(spoken(None, Some(&two), parties), "2.0");
        let asked = format!("accept: {two}\ncontent-type: {two}\n");
        assert_eq!(shaping(&asked, parties), format!("content-type: {two}\n"));
    }

    #[test]
    fn an_accept_on_several_lines_is_one_list() {
        let item = "application/vnd.interoperability.quotes+json;version=";
        let lines = |versions: &[&str]| -> String {
            let lines = versions.iter();
            lines.map(|v| format!("accept: {item}{v}\n")).collect()
        };
        let spoken = |versions| version_for_sender(&lines(versions), Resource::Quotes).text();
        assert_eq!(spoken(&["2.0", "1.0"]), "1.0");
        assert_eq!(spoken(&["1.0", "1.1"]), "1.0");
    }

    #[test]
    fn unspecified_version_gets_the_newest() {
        for resource in [Resource::Parties, Resource::Transfers] {
            assert_eq!(resource.versions().last(), Some(&resource.newest()));
            let open = format!("application/vnd.interoperability.{}+json", resource.name());
            let newest = resource.newest().text();
            assert_eq!(spoken(Some(&open), None, resource), newest);
        }
    }

    #[test]
    fn any_minor_version_gets_the_senders_own() {
        let item =
            |version: &str| format!("application/vnd.interoperability.transfers+json{version}");
        for own in ["1.0", "1.1", "1.2"] {
            let content = item(&format!(";version={own}"));
            for any in [item(";version=1"), item("\t; version=1")] {
                let transfers = Resource::Transfers;
                assert_eq!(spoken(Some(&any), Some(&content), transfers), own);
            }
        }
    }

    #[test]
    fn without_accept_the_version_of_the_content_is_spoken() {
        let content = "application/vnd.interoperability.transfers+json;version=1.0";
        assert_eq!(spoken(None, Some(content), Resource::Transfers), "1.0");
        // A PUT may have an Accept. One without a media type of the API is ignored.
        let anything = spoken(Some("*/*"), Some(content), Resource::Transfers);
        assert_eq!(anything, "1.0");
        assert_eq!(spoken(None, None, Resource::Transfers), "1.1");
    }

    #[test]
    fn a_resource_is_the_first_segment_of_a_path() {
        assert_eq!(
            Resource::of_path("/transfers/1/error"),
            Some(Resource::Transfers)
        );
        assert_eq!(Resource::of_path("/quotes"), Some(Resource::Quotes));
        assert_eq!(Resource::of_path("/Quotes"), None);
        assert_eq!(Resource::of_path("/"), None);
        assert_eq!(Resource::of_path(""), None);
    }

    #[test]
    fn version_and_trace_are_kept_of_long_headers() {
        let parties = Resource::Parties;
        let item =
            |version: &str| format!("application/vnd.interoperability.parties+json{version}");
        for (accept, content, version) in [
            (item(";version=1.0"), "1.1", "1.0"),
            (item(""), "1.0", "1.1"),
            (item(";version=1"), "1.0", "1.0"),
            (
                format!("{},{}", item(";version=9.9"), item(";version=1.0")),
                "1.1",
                "1.0",
            ),
        ] {
            let long = item(";version=9.9,").repeat(1000) + &accept;
            let content = item(&format!(";version={content}"));
            let headers = format!(
                "accept: {long}\ncontent-type: {content}\nfspiop-source: payerfsp\n\
                 traceparent: 00-1-2-01\ntracestate: {}\n",
                "a".repeat(60_000)
            );
            let kept = shaping(&headers, parties);
            let expected = format!(
                "content-type: {}\ntraceparent: 00-1-2-01\n",
                item(&format!(";version={version}"))
            );
            assert_eq!(kept, expected, "{accept}");
            assert_eq!(
                version_for_sender(&kept, parties),
                version_for_sender(&headers, parties)
            );
        }
    }
}
