//! Why something cannot be done with a key.

/// It then has no effect. No text tells anything of a key's or a message's bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The operator's document has no provider of this name.
    #[error("there is no such provider of keys")]
    NoProvider,
    /// The reference opens no key.
    #[error("the reference is of no key: {0}")]
    NoKey(&'static str),
    /// The key is for something else.
    #[error("the key is for another purpose")]
    WrongPurpose,
    /// The key makes nothing new any more.
    #[error("the key has reached its end")]
    Expired,
    /// The provider cannot do this, or the algorithm is not for this purpose.
    #[error("this is not supported: {0}")]
    Unsupported(String),
    /// The input is of no use.
    #[error("the input cannot be used: {0}")]
    BadInput(String),
    /// A ciphertext, or a PIN block, cannot be opened with this key.
    #[error("it cannot be opened with this key")]
    NotOpened,
    /// The provider does not answer now.
    #[error("the provider does not answer: {0}")]
    ProviderAway(String),
}
