//! Who asks a registry.

use std::collections::BTreeMap;
use std::fmt;

use data_encoding::BASE64;
use oci_client::secrets::RegistryAuth;
use serde::Deserialize;

/// A user and password, a token, or nothing. They are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials(Option<Secret>);

#[derive(Clone, PartialEq, Eq)]
enum Secret {
    Password(String, String),
    Token(String),
}

/// Why a file has no credentials that can be used.
#[derive(Debug, thiserror::Error)]
pub enum BadCredentials {
    /// It is not JSON, or of another form. The text is a secret, so the parser's words are not shown.
    #[error(
        "it is not of the form {{\"auths\": {{\"REGISTRY\": {{\"auth\": \"BASE64 OF USER:PASSWORD\"}}}}}}"
    )]
    Form,
    /// It knows other registries.
    #[error("it has nothing for the registry {0}")]
    Other(String),
}

/// The file that container tools keep.
#[derive(Deserialize)]
struct Kept {
    auths: BTreeMap<String, Login>,
}

#[derive(Deserialize)]
struct Login {
    auth: String,
}

impl Credentials {
    /// A user with a password.
    #[must_use]
    pub fn password(user: &str, password: &str) -> Self {
        Self(Some(Secret::Password(user.to_owned(), password.to_owned())))
    }

    /// A bearer token.
    #[must_use]
    pub fn token(token: &str) -> Self {
        Self(Some(Secret::Token(token.to_owned())))
    }

    /// Those for a registry in the text of a file of the form that container tools write.
    ///
    /// # Errors
    /// When it is of another form, or has none for this registry.
    pub fn of_file(text: &str, registry: &str) -> Result<Self, BadCredentials> {
        let kept: Kept = serde_json::from_str(text).map_err(|_| BadCredentials::Form)?;
        let login = kept.auths.get(registry);
        let login = login.ok_or_else(|| BadCredentials::Other(registry.to_owned()))?;
        let decoded = BASE64.decode(login.auth.as_bytes());
        let decoded = decoded.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let decoded = decoded.ok_or(BadCredentials::Form)?;
        let (user, password) = decoded.split_once(':').ok_or(BadCredentials::Form)?;
        Ok(Self::password(user, password))
    }

    pub(super) const fn are_none(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn auth(&self) -> RegistryAuth {
        match &self.0 {
            None => RegistryAuth::Anonymous,
            Some(Secret::Password(user, password)) => {
                RegistryAuth::Basic(user.clone(), password.clone())
            }
            Some(Secret::Token(token)) => RegistryAuth::Bearer(token.clone()),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.are_none() { "none" } else { "some" })
    }
}
