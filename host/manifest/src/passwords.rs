//! Passwords in URLs of documents. None belongs there, and what is said about one must not repeat it: it goes to logs.

/// What ends a URL within a text.
const ENDS: [char; 7] = [',', '"', '\'', '`', ' ', '\n', '\t'];

/// The text with an asterisk for each character of a password in a URL: behind the user's name, or as a parameter. Positions
/// stay as they are.
pub(crate) fn without_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, url) = rest.split_at(at + 3);
        let (url, behind) = url.split_at(url.find(ENDS).unwrap_or(url.len()));
        shown.push_str(before);
        shown.push_str(&masked(url));
        rest = behind;
    }
    shown.push_str(rest);
    shown
}

/// What stands behind the scheme of a URL, without its passwords.
fn masked(url: &str) -> String {
    let (place, parameters) = url.split_at(url.find('?').unwrap_or(url.len()));
    let authority = place.find('/').unwrap_or(place.len());
    let secret = place[..authority]
        .rfind('@')
        .and_then(|end| Some(place[..end].find(':')? + 1..end));
    let mut shown = match secret {
        Some(secret) => {
            let hidden = "*".repeat(place[secret.clone()].chars().count());
            format!("{}{hidden}{}", &place[..secret.start], &place[secret.end..])
        }
        None => place.to_owned(),
    };
    for parameter in parameters.split_inclusive('&') {
        let (name, value) = parameter.split_at(parameter.find('=').map_or(0, |at| at + 1));
        if name.to_lowercase().contains("pass") {
            let value = value.trim_end_matches('&');
            let behind = &parameter[name.len() + value.len()..];
            shown += &format!("{name}{}{behind}", "*".repeat(value.chars().count()));
        } else {
            shown += parameter;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::without_passwords;

    #[test]
    fn passwords_in_urls_are_not_said() {
        for (text, shown) in [
            (
                "url = \"postgres://a:secret@b/c\" # why",
                "url = \"postgres://a:******@b/c\" # why",
            ),
            (
                "`nats://a:s:e@b:4222,nats://c:d@e`",
                "`nats://a:***@b:4222,nats://c:*@e`",
            ),
            (
                "postgres://b/c?password=x&port=1",
                "postgres://b/c?password=*&port=1",
            ),
            ("http://127.0.0.1:80/a@b: no", "http://127.0.0.1:80/a@b: no"),
            ("no URL: a@b", "no URL: a@b"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }
}
