//! How errors of `rialto:security-crypto/fido` are worded for operators and programs, by all components that meet them.

/// Makes problems of the errors of FIDO2. `$error` is `FidoError` of a component's bindings.
#[macro_export]
macro_rules! words_fido_errors {
    ($error:ident) => {
        impl From<$error> for $crate::operators::Problem {
            fn from(error: $error) -> Self {
                use $crate::operators::Kind;
                let (kind, detail) = match error {
                    $error::Malformed(why) => return Self::new(Kind::Malformed, why),
                    $error::Refused(why) => return Self::new(Kind::FidoRefused, why),
                    $error::NotSet => (
                        Kind::FidoNotSet,
                        "the scheme has no relying party: add `fido` to the settings of security-crypto",
                    ),
                    $error::UnknownUser => (
                        Kind::UserUnknown,
                        "there is no such user with a credential that works: register first",
                    ),
                    $error::TooManyCredentials => (
                        Kind::CredentialsFull,
                        "the user has as many credentials as a user may have",
                    ),
                    $error::UnknownChallenge => (
                        Kind::ChallengeUnknown,
                        "there is no such challenge of this operation: begin again",
                    ),
                    $error::ChallengeUsed => (
                        Kind::ChallengeUsed,
                        "a response has used the challenge up: begin again",
                    ),
                    $error::ChallengeExpired => (
                        Kind::ChallengeExpired,
                        "the challenge has expired: begin again",
                    ),
                    $error::CredentialKnown => (
                        Kind::CredentialKnown,
                        "somebody has registered this credential before: make a new one",
                    ),
                    $error::CredentialSuspect => (
                        Kind::CredentialSuspect,
                        "the credential's counter was seen to go back, so there may be a copy: register again",
                    ),
                };
                Self::new(kind, detail)
            }
        }
    };
}
