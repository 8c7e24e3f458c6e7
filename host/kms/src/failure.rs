//! Failures of calls of the service, by what is to be done about them.

use http::StatusCode;
use rialto_keys::KeyError;

use crate::wire::Operation;

/// Why a key that the service knows cannot be used.
const DISABLED: &str = "it is disabled in AWS KMS";
const WRONG_STATE: &str = "it is disabled in AWS KMS, or waits for its deletion";
const GONE: &str = "AWS KMS has no such key in this region and account";

/// The longest name of an error.
const NAME_CHARS_MAX: usize = 64;

/// A failure of one attempt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It surely did not happen: another attempt may do it.
    NotDone(String),
    /// It may have happened. What may be done twice may be tried again.
    Unclear(String),
    /// The answer is none of the protocol. It may have happened, and another attempt would have no better answer.
    Unreadable(String),
    /// The service refuses the credentials. Other ones may do it.
    Credentials(String),
    /// The code is not of this key and message.
    WrongMac,
    /// The key's state excludes the operation.
    WrongState,
    /// The caller's answer.
    Answer(KeyError),
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::Answer(error)
    }
}

impl From<Failure> for KeyError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotDone(why)
            | Failure::Unclear(why)
            | Failure::Unreadable(why)
            | Failure::Credentials(why) => Self::ProviderAway(why),
            Failure::WrongMac => Self::NotOpened,
            Failure::WrongState => Self::NoKey(WRONG_STATE),
            Failure::Answer(error) => error,
        }
    }
}

/// An answer that the protocol does not have.
pub(crate) fn unreadable(operation: Operation, what: &str) -> Failure {
    Failure::Unreadable(format!("the answer to {operation} cannot be used: {what}"))
}

/// The name of an error without what some services put around it: `com.amazonaws.kms#NAME:…`.
pub(crate) fn name_of(kind: &str) -> Option<&str> {
    let name = kind.rsplit('#').next()?;
    let name = name.split(':').next()?;
    let is_name = (1..=NAME_CHARS_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_name.then_some(name)
}

/// What an answer other than 200 means. `name` is that of the error, if the answer has one.
pub(crate) fn of_refusal(operation: Operation, status: StatusCode, name: Option<&str>) -> Failure {
    let Some(name) = name else {
        return without_name(operation, status);
    };
    let text = |what: &str| format!("AWS KMS refuses {operation} ({name}){what}");
    match name {
        "ThrottlingException"
        | "Throttling"
        | "TooManyRequestsException"
        | "RequestLimitExceeded" => Failure::NotDone(text(": too many requests")),
        "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "SignatureDoesNotMatch"
        | "IncompleteSignature"
        | "IncompleteSignatureException"
        | "MissingAuthenticationToken"
        | "MissingAuthenticationTokenException"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "RequestExpired"
        | "InvalidAccessKeyId" => Failure::Credentials(text(
            ": look at the credentials, the region and the host’s clock",
        )),
        "AccessDeniedException" | "AccessDenied" => {
            let right = format!(": the credentials need the right kms:{operation}");
            Failure::Answer(KeyError::ProviderAway(text(&right)))
        }
        "NotFoundException" | "InvalidArnException" => Failure::Answer(KeyError::NoKey(GONE)),
        "DisabledException" => Failure::Answer(KeyError::NoKey(DISABLED)),
        "KMSInvalidStateException" => Failure::WrongState,
        "InvalidCiphertextException" | "IncorrectKeyException" => {
            Failure::Answer(KeyError::NotOpened)
        }
        "KMSInvalidMacException" => Failure::WrongMac,
        "InvalidKeyUsageException" => Failure::Answer(KeyError::WrongPurpose),
        "UnsupportedOperationException" => Failure::Answer(KeyError::Unsupported(text(""))),
        "LimitExceededException" => {
            let what = ": a quota of the account is used up";
            Failure::Answer(KeyError::ProviderAway(text(what)))
        }
        _ if status == StatusCode::TOO_MANY_REQUESTS => Failure::NotDone(text("")),
        "DependencyTimeoutException" | "KMSInternalException" | "KeyUnavailableException" => {
            Failure::Unclear(text(""))
        }
        _ if status.is_server_error() => Failure::Unclear(text("")),
        _ => Failure::Answer(KeyError::ProviderAway(text(""))),
    }
}

fn without_name(operation: Operation, status: StatusCode) -> Failure {
    let code = status.as_u16();
    let text = format!("the endpoint answers {operation} with HTTP {code}");
    match status {
        StatusCode::TOO_MANY_REQUESTS => Failure::NotDone(text),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            Failure::Credentials(format!("{text}: look at the credentials"))
        }
        _ if status.is_server_error() => Failure::Unclear(text),
        _ => Failure::Answer(KeyError::ProviderAway(format!(
            "{text} and no error of AWS KMS: look at `endpoint`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, name: &str) -> Failure {
        let status = StatusCode::from_u16(status).unwrap();
        of_refusal(
            Operation::Sign,
            status,
            Some(name).filter(|n| !n.is_empty()),
        )
    }

    #[test]
    fn each_failure_has_its_meaning() {
        type Kind = fn(&Failure) -> bool;
        let not_done: Kind = |f| matches!(f, Failure::NotDone(_));
        let unclear: Kind = |f| matches!(f, Failure::Unclear(_));
        let credentials: Kind = |f| matches!(f, Failure::Credentials(_));
        let away: Kind = |f| matches!(f, Failure::Answer(KeyError::ProviderAway(_)));
        let no_key: Kind = |f| matches!(f, Failure::Answer(KeyError::NoKey(_)));
        let not_opened: Kind = |f| *f == Failure::Answer(KeyError::NotOpened);
        let wrong_purpose: Kind = |f| *f == Failure::Answer(KeyError::WrongPurpose);
        let unsupported: Kind = |f| matches!(f, Failure::Answer(KeyError::Unsupported(_)));
        for (status, name, kind) in [
            (400, "ThrottlingException", not_done),
            (429, "SomethingElse", not_done),
            (429, "", not_done),
            (500, "KMSInternalException", unclear),
            (503, "DependencyTimeoutException", unclear),
            (500, "KeyUnavailableException", unclear),
            (500, "SomethingElse", unclear),
            (502, "", unclear),
            (400, "UnrecognizedClientException", credentials),
            (400, "InvalidSignatureException", credentials),
            (400, "ExpiredTokenException", credentials),
            (403, "", credentials),
            (400, "AccessDeniedException", away),
            (400, "LimitExceededException", away),
            (400, "ValidationException", away),
            (404, "", away),
            (302, "", away),
            (400, "NotFoundException", no_key),
            (400, "DisabledException", no_key),
            (400, "InvalidCiphertextException", not_opened),
            (400, "IncorrectKeyException", not_opened),
            (400, "InvalidKeyUsageException", wrong_purpose),
            (400, "UnsupportedOperationException", unsupported),
        ] {
            let failure = of(status, name);
            assert!(kind(&failure), "{status} {name}: {failure:?}");
        }
        assert_eq!(of(400, "KMSInvalidMacException"), Failure::WrongMac);
        let state = of(400, "KMSInvalidStateException");
        assert_eq!(state, Failure::WrongState);
        assert!(matches!(KeyError::from(state), KeyError::NoKey(_)));
        let denied = KeyError::from(of(400, "AccessDeniedException")).to_string();
        assert!(denied.contains("kms:Sign"), "{denied}");
    }

    #[test]
    fn names_of_errors_are_taken_out_of_their_surroundings() {
        assert_eq!(name_of("NotFoundException"), Some("NotFoundException"));
        let long = "com.amazonaws.kms#NotFoundException:http://example/";
        assert_eq!(name_of(long), Some("NotFoundException"));
        for bad in ["", "a b", "a\nb", "#", &"a".repeat(65), "é"] {
            assert_eq!(name_of(bad), None, "{bad}");
        }
    }
}
