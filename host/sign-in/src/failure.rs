//! Why nobody is signed in.

/// Why a sign-in did not succeed. The texts are for the log: they have no codes, tokens or secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The provider cannot be reached, or does not answer as a provider does. It may later.
    #[error("the provider is away: {0}")]
    Away(String),
    /// The browser's request belongs to no sign-in that this host began in this browser a short time ago.
    #[error("the request belongs to no sign-in that is under way: {0}")]
    Foreign(&'static str),
    /// The provider did not authenticate the person, or refused the code.
    #[error("the provider refused: {0}")]
    Refused(String),
    /// What the provider answered does not prove who the person is.
    #[error("the provider's answer was not accepted: {0}")]
    Unproven(String),
}

/// A word of another's error, cut and without characters that could steer a terminal.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let word: String = text.chars().filter(|c| plain(*c)).take(64).collect();
    if word.is_empty() {
        "it does not say why".to_owned()
    } else {
        word
    }
}
