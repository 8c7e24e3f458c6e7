//! The checks of the table `[sign-in]` of `rialto.toml`, and of the operators who sign in.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::operator::{OPERATORS, OperatorFile};
use crate::sign_in::SignIn;
use crate::values::{Origin, UrlScheme};

/// The lengths of a session, in milliseconds.
const SESSION_MILLIS: std::ops::RangeInclusive<u64> = 60_000..=24 * 3_600_000;
/// The longest scope, in characters.
const SCOPE_CHARS_MAX: usize = 128;

/// People sign in with a provider, each as one operator.
pub(super) fn sign_in(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    if let Some(wanted) = &document.value.sign_in {
        addresses(document, wanted, problems);
        secret(document, wanted, problems);
        bounds(document, wanted, problems);
    }
    subjects(document, problems);
    passkeys(document, problems);
}

/// A passkey is registered and used on a page, for which a person signs in.
fn passkeys(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let file = &document.value;
    if file.passkeys.is_some() && file.sign_in.is_none() && !document.is_doubtful("sign-in") {
        document.problem(
            problems,
            "passkeys",
            Code::Contradiction,
            "nobody signs in, so nobody can register a passkey or use one".to_owned(),
            "Add [sign-in], or leave [passkeys] out.",
        );
    }
}

fn addresses(document: &Document<OperatorFile>, wanted: &SignIn, problems: &mut Diagnostics) {
    let issuer = wanted.issuer.origin();
    let address = wanted.address.origin();
    for (key, origin) in [("issuer", issuer), ("address", address)] {
        // Browsers take `localhost` for this machine, whatever a name server says. The host asks one.
        let is_local = is_loopback(origin) || (key == "address" && origin.host == "localhost");
        if origin.scheme == UrlScheme::Http && !is_local {
            document.problem(
                problems,
                &format!("sign-in/{key}"),
                Code::BadValue,
                format!("`{origin}` is `http`, and not an address of this machine"),
                "Name an `https` URL. `http` is for 127.0.0.1 and [::1] alone, because whoever reads the network could sign in.",
            );
        }
    }
    if wanted.address.to_string() != address.to_string() {
        document.problem(
            problems,
            "sign-in/address",
            Code::BadValue,
            format!("`{}` has a path", wanted.address),
            format!("Name the origin alone: `{address}`."),
        );
    }
    if !document.value.listeners.contains_key(OPERATORS) && !document.is_doubtful("listeners") {
        document.problem(
            problems,
            "sign-in",
            Code::Contradiction,
            format!("there is no listener `{OPERATORS}` to sign in at"),
            format!("Add [listeners.{OPERATORS}], or leave [sign-in] out."),
        );
    }
}

/// Whether an origin is an address of this machine. A name is none: it may lead elsewhere.
fn is_loopback(origin: &Origin) -> bool {
    let bare = origin.host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>()
        .is_ok_and(|address| address.is_loopback())
}

fn secret(document: &Document<OperatorFile>, wanted: &SignIn, problems: &mut Diagnostics) {
    let path = "sign-in/client-secret";
    let Some(secret) = &wanted.client_secret else {
        return;
    };
    if secret.file.is_some() == secret.variable.is_some() && !document.is_doubtful(path) {
        document.problem(
            problems,
            path,
            Code::Contradiction,
            "the client's secret is either in a `file` or in a `variable`".to_owned(),
            "Name one of them: `{ file = \"secrets/sign-in\" }`, or `{ variable = \"RIALTO_CLIENT_SECRET\" }`.",
        );
    }
}

fn bounds(document: &Document<OperatorFile>, wanted: &SignIn, problems: &mut Diagnostics) {
    if !SESSION_MILLIS.contains(&wanted.session.millis()) {
        document.problem(
            problems,
            "sign-in/session",
            Code::BadValue,
            format!(
                "a session of `{}` is shorter than `1 min` or longer than `24 h`",
                wanted.session
            ),
            "People sign in again when it is over: `8 h` is a working day.",
        );
    }
    // RFC 6749, section 3.3.
    let is_scope = |text: &str| {
        let fits = |b: u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\');
        (1..=SCOPE_CHARS_MAX).contains(&text.len()) && text.bytes().all(fits)
    };
    for (n, scope) in wanted.scopes.iter().enumerate() {
        if !is_scope(scope) {
            document.problem(
                problems,
                &format!("sign-in/scopes/{n}"),
                Code::BadValue,
                format!("`{scope}` is no scope"),
                "A scope is a word, such as `email`: one in each text.",
            );
        }
    }
}

fn subjects(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let mut seen = BTreeMap::new();
    for (name, operator) in &document.value.operators {
        let Some(subject) = &operator.subject else {
            continue;
        };
        let path = format!("operators/{name}/subject");
        if document.value.sign_in.is_none() && !document.is_doubtful("sign-in") {
            document.problem(
                problems,
                &path,
                Code::Contradiction,
                format!("the operator `{name}` signs in, and nothing says with which provider"),
                "Add [sign-in], or leave `subject` out: the operator then has a token in a file.",
            );
        }
        if !subject.is_ascii() || subject.bytes().any(|b| b.is_ascii_control()) {
            document.problem(
                problems,
                &path,
                Code::BadValue,
                format!("the subject of the operator `{name}` is none: it is printable ASCII"),
                "Write the claim `sub` of the person's ID tokens, octet by octet.",
            );
        }
        if let Some(other) = seen.insert(subject, name) {
            document.problem(
                problems,
                &path,
                Code::Duplicate,
                format!("the subject of the operator `{name}` is that of `{other}` already"),
                "Who signs in is one operator: give that one all the roles.",
            );
        }
    }
}
