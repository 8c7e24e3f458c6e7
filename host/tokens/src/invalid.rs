//! Why a token is refused.

/// Why a token is refused. The texts may be an `error_description` (RFC 6750): they have no quotation mark and no
/// backslash, and nothing of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It is longer than any token.
    #[error("the token is too long")]
    TooLong,
    /// Its form is wrong.
    #[error("the token is malformed: {0}")]
    Malformed(&'static str),
    /// It has another algorithm than ES256.
    #[error("the token is not signed by ES256")]
    Algorithm,
    /// It is another kind of token.
    #[error("the token is no access token: its type is not at+jwt")]
    Type,
    /// No valid key has its key id.
    #[error("the token's key is unknown")]
    UnknownKey,
    /// Its key has not made its signature.
    #[error("the token's signature is wrong")]
    Signature,
    /// Somebody else has issued it.
    #[error("the token is of another issuer")]
    Issuer,
    /// It is for another audience.
    #[error("the token is for another audience")]
    Audience,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// Its time has not begun.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// Its client does not exist, or may not use tokens now.
    #[error("the token's client is unknown or disabled")]
    UnknownClient,
    /// Its client's tokens of that time were revoked.
    #[error("the token was revoked")]
    Revoked,
    /// Its client has another name.
    #[error("the token is of another name than its client's")]
    Name,
    /// A certificate must be named in it, and none is.
    #[error("the token is bound to no certificate")]
    Unbound,
    /// It is bound to another certificate than the connection's.
    #[error("the token is bound to another certificate")]
    OtherCertificate,
    /// The connection's certificate proves another name.
    #[error("the token is of another name than the client certificate")]
    CertificateName,
}
