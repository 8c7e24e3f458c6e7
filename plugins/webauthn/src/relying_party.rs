//! The relying party: for whom authenticators sign, and on which pages.

/// The host of a developer's machine. Browsers treat it as secure without TLS.
const LOCALHOST: &str = "localhost";

/// The relying party of authenticators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    /// Its id: a domain, such as `bank.example`. Authenticators sign for it alone.
    pub id: String,
    /// Its name, which browsers show.
    pub name: String,
    /// The origins of the pages that may use it, such as `https://pay.bank.example`.
    pub origins: Vec<String>,
}

impl RelyingParty {
    /// Whether authenticators sign for this relying party on pages of this origin.
    ///
    /// # Errors
    /// When they do not, in a sentence.
    pub fn takes(&self, origin: &str) -> Result<(), String> {
        let (scheme, rest) = origin.split_once("://").unwrap_or_default();
        let (host, port) = match rest.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (rest, None),
        };
        if !is_domain(host) {
            return Err(
                "it must be an origin in lower case without a path, such as https://pay.bank.example"
                    .to_owned(),
            );
        }
        let usual = match scheme {
            "https" => "443",
            "http" if host == LOCALHOST => "80",
            _ => {
                let why = "it must begin with https://, except for the host localhost";
                return Err(why.to_owned());
            }
        };
        // Browsers leave the usual port out, so an origin with it would match nothing.
        if port.is_some_and(|port| port == usual || !is_port(port)) {
            return Err(format!(
                "its port must be 1 to 65535, and {usual} is left out"
            ));
        }
        let party = &self.id;
        let is_within = host == party
            || host
                .strip_suffix(party.as_str())
                .is_some_and(|before| before.ends_with('.'));
        if !is_within {
            return Err(format!("its host must be {party} or end with .{party}"));
        }
        Ok(())
    }
}

/// Whether a text is a domain in lower case: at least two labels and no address, or `localhost`.
#[must_use]
pub fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        (1..=63).contains(&bytes.len())
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let labels: Vec<&str> = text.split('.').collect();
    let is_name = labels
        .last()
        .is_some_and(|last| last.bytes().any(|byte| byte.is_ascii_lowercase()));
    text.len() <= 253
        && labels.iter().all(|label| is_label(label))
        && is_name
        && (labels.len() >= 2 || text == LOCALHOST)
}

fn is_port(text: &str) -> bool {
    !text.starts_with('0') && text.parse::<u16>().is_ok_and(|port| port > 0)
}
