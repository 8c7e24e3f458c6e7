//! Failures of calls of a module, by what is to be done about them.

use cryptoki::error::{Error, RvError};
use rialto_keys::KeyError;

/// A failure of one attempt.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The session is lost: another one may do it.
    Lost(String),
    /// The token answered with a code that the attempt has not explained.
    Code(RvError, String),
    /// The caller's answer. The session is in order.
    Answer(KeyError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Pkcs11(code, function) => {
                // The library's own text for a code has several sentences.
                let text = format!("C_{function:?} says {code:?}");
                if is_lost(code) {
                    Self::Lost(text)
                } else {
                    Self::Code(code, text)
                }
            }
            other => Self::Answer(KeyError::ProviderAway(other.to_string())),
        }
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::Answer(error)
    }
}

impl Failure {
    /// Explain some codes by an answer.
    pub(crate) fn explain(self, explained: impl FnOnce(RvError) -> Option<KeyError>) -> Self {
        match self {
            Self::Code(code, text) => match explained(code) {
                Some(answer) => Self::Answer(answer),
                None => Self::Code(code, text),
            },
            other => other,
        }
    }

    /// A change that failed so may have happened all the same: a code for failures of the token is a lost session.
    pub(crate) fn ambiguous(self) -> Self {
        match self {
            Self::Code(
                RvError::DeviceError
                | RvError::DeviceMemory
                | RvError::GeneralError
                | RvError::FunctionFailed
                | RvError::FunctionCanceled,
                text,
            ) => Self::Lost(text),
            other => other,
        }
    }
}

/// Whether a session, the login or the handles of objects are lost.
fn is_lost(code: RvError) -> bool {
    matches!(
        code,
        RvError::SessionHandleInvalid
            | RvError::SessionClosed
            | RvError::DeviceRemoved
            | RvError::TokenNotPresent
            | RvError::TokenNotRecognized
            | RvError::SlotIdInvalid
            | RvError::UserNotLoggedIn
            | RvError::CryptokiNotInitialized
            // Another process destroyed the object, or the token gave it another handle.
            | RvError::KeyHandleInvalid
            | RvError::ObjectHandleInvalid
            | RvError::UnwrappingKeyHandleInvalid
            // An operation of this session was left unfinished.
            | RvError::OperationActive
    )
}

/// Whether the token says that a ciphertext or a wrapped key is wrong. Some tokens say only that they failed.
pub(crate) fn is_not_opened(code: RvError) -> bool {
    matches!(
        code,
        RvError::EncryptedDataInvalid
            | RvError::EncryptedDataLenRange
            | RvError::WrappedKeyInvalid
            | RvError::WrappedKeyLenRange
            | RvError::DataInvalid
            | RvError::DataLenRange
            | RvError::SignatureInvalid
            | RvError::GeneralError
            | RvError::FunctionFailed
    )
}
