//! Problems: all kinds for operators with their statuses, as documents of RFC 9457, like the host's own.

use super::Answer;
use serde::Serialize;
use serde_json::{Map, Value, json};

macro_rules! kinds {
    ($($(#[doc = $when:literal])+ $kind:ident $status:literal $name:literal,)*) => {
        /// The kind of a problem. Names and statuses are a contract: clients distinguish problems by them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $($(#[doc = $when])+ $kind,)*
        }

        impl Kind {
            /// All of them, by status.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The end of the problem's `type`, after `urn:rialto:problem:`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// When it is used: a sentence.
            #[must_use]
            pub const fn when(self) -> &'static str {
                match self { $(Self::$kind => concat!($($when),+),)* }
            }

            /// HTTP's status.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$kind => $status,)* }
            }
        }
    };
}

kinds! {
    /// The request is not of the form that the API's document says.
    Malformed 400 "malformed",
    /// The operator has not the role.
    RoleMissing 403 "role-missing",
    /// Nobody approves or rejects what they asked for themselves.
    MakerIsChecker 403 "maker-is-checker",
    /// Nobody asks for roles of their own, or decides about them.
    OwnRoles 403 "own-roles",
    /// The request is another's, and nobody else takes it back.
    RequestForeign 403 "request-foreign",
    /// The key is another's, and used by nobody else.
    KeyForeign 403 "key-foreign",
    /// The configuration is another context's, and published by nobody else.
    ContextForeign 403 "context-foreign",
    /// The caller has not proven by a signature who it is.
    SignatureRefused 403 "signature-refused",
    /// There is nothing at this path.
    NotFound 404 "not-found",
    /// No such participant.
    ParticipantUnknown 404 "participant-unknown",
    /// The participant has no such account.
    AccountUnknown 404 "account-unknown",
    /// No such request.
    RequestUnknown 404 "request-unknown",
    /// No such transfer.
    TransferUnknown 404 "transfer-unknown",
    /// No such settlement batch.
    BatchUnknown 404 "batch-unknown",
    /// No such settlement.
    SettlementUnknown 404 "settlement-unknown",
    /// No such key.
    KeyUnknown 404 "key-unknown",
    /// No such definition of keys.
    DefinitionUnknown 404 "definition-unknown",
    /// The caller has no such user, or the user has no credential that works.
    UserUnknown 404 "user-unknown",
    /// Nobody has registered such a FIDO credential.
    CredentialUnknown 404 "credential-unknown",
    /// The caller has no such challenge: it never had, or it has expired and was removed.
    ChallengeUnknown 404 "challenge-unknown",
    /// No such application.
    ApplicationUnknown 404 "application-unknown",
    /// The participant has no such certificate.
    CertificateUnknown 404 "certificate-unknown",
    /// No such role.
    RoleUnknown 404 "role-unknown",
    /// Nobody has published a configuration of such a context.
    ContextUnknown 404 "context-unknown",
    /// The client has no such reminder.
    ReminderUnknown 404 "reminder-unknown",
    /// The context needs no such secret.
    SecretUnknown 404 "secret-unknown",
    /// The path does not take this method.
    MethodNotAllowed 405 "method-not-allowed",
    /// There is a participant of this id.
    ParticipantExists 409 "participant-exists",
    /// The participant has an account in this currency.
    AccountExists 409 "account-exists",
    /// The same is waiting for approval already: `pendingRequest`.
    DuplicateRequest 409 "duplicate-request",
    /// Funds of this external reference were approved already: `request`.
    ReferenceUsed 409 "reference-used",
    /// The request has been decided, or is being: `state`.
    AlreadyDecided 409 "already-decided",
    /// What is to be changed is not as it was when the change was asked for: `was`, `is`.
    TargetChanged 409 "target-changed",
    /// The participant's state does not allow it.
    ParticipantState 409 "participant-state",
    /// The account is disabled.
    AccountDisabled 409 "account-disabled",
    /// The account is closed.
    AccountClosed 409 "account-closed",
    /// The transfer's state does not allow it, or not yet.
    TransferState 409 "transfer-state",
    /// The batch's state does not allow it.
    BatchState 409 "batch-state",
    /// The settlement's state does not allow it.
    SettlementState 409 "settlement-state",
    /// The key's state does not allow it: `state`.
    KeyState 409 "key-state",
    /// The key has reached its end, or would have.
    KeyExpired 409 "key-expired",
    /// The application's state does not allow it: `state`.
    ApplicationState 409 "application-state",
    /// The scheme's settings have no relying party of FIDO2.
    FidoNotSet 409 "fido-not-set",
    /// A response has used the challenge up.
    ChallengeUsed 409 "challenge-used",
    /// The challenge has expired.
    ChallengeExpired 409 "challenge-expired",
    /// Somebody has registered the credential before.
    CredentialKnown 409 "credential-known",
    /// The credential no longer works: its counter was seen to go back.
    CredentialSuspect 409 "credential-suspect",
    /// The user has as many credentials as a user may have.
    CredentialsFull 409 "credentials-full",
    /// The scheme's participants do not prove who they are, so nothing can depend on who sends.
    SendersUnproven 409 "senders-unproven",
    /// The host has no authority that certifies clients.
    AuthorityNotSet 409 "authority-not-set",
    /// All is as it is asked to become.
    NothingChanges 409 "nothing-changes",
    /// The context is a component of the release, which has its configuration.
    ContextOfRelease 409 "context-of-release",
    /// The client has a reminder of this id, or had one lately: `state`.
    ReminderExists 409 "reminder-exists",
    /// The reminder has come due for the last time: `state`.
    ReminderElapsed 409 "reminder-elapsed",
    /// A newer version was published: `version`.
    VersionOutdated 409 "version-outdated",
    /// The version was published with another content: `version`.
    VersionUsed 409 "version-used",
    /// The version is not the one that `If-Match` names.
    PreconditionFailed 412 "precondition-failed",
    /// The body is too long.
    BodyTooLarge 413 "too-large",
    /// Zero makes no sense here.
    AmountZero 422 "amount-zero",
    /// More decimal places than the currency has.
    AmountTooPrecise 422 "amount-too-precise",
    /// The scheme does not use this currency.
    CurrencyUnused 422 "currency-unused",
    /// The liquidity does not cover it.
    InsufficientFunds 422 "insufficient-funds",
    /// The settled funds do not cover it.
    InsufficientSettledFunds 422 "insufficient-settled-funds",
    /// The liquidity does not cover what is to be set aside.
    InsufficientCover 422 "insufficient-cover",
    /// The limit would be less than what is in use: `inUse`.
    LimitBelowUse 422 "limit-below-use",
    /// A percentage goes from 0 to 100.
    PercentageOutOfRange 422 "percentage-out-of-range",
    /// The endpoint cannot be used.
    EndpointInvalid 422 "endpoint-invalid",
    /// A range of source addresses cannot be used.
    SourceAddressInvalid 422 "source-address-invalid",
    /// The request for a certificate cannot be used.
    CertificateRequestInvalid 422 "certificate-request-invalid",
    /// No such settlement model, or not for this currency.
    ModelUnknown 422 "model-unknown",
    /// The host has no such provider of keys.
    ProviderUnknown 422 "provider-unknown",
    /// No component has such a privilege.
    PrivilegeUnknown 422 "privilege-unknown",
    /// The privilege cannot be withdrawn from this role: nobody could change anything any more.
    PrivilegeNeeded 422 "privilege-needed",
    /// The entry of the audit log is not written: its signature is not good. It is in quarantine: `quarantine`.
    AuditEntry 422 "audit-entry",
    /// The query has no bounds.
    QueryUnbounded 422 "query-unbounded",
    /// There would be more than there may be: `most`.
    TooMany 422 "too-many",
    /// It is no JSON Schema that can be judged here: `problems`.
    SchemaInvalid 422 "schema-invalid",
    /// The values do not fit the schema: `problems`.
    ValuesMisfit 422 "values-misfit",
    /// The key is for something else.
    KeyPurpose 422 "key-purpose",
    /// Keys of this algorithm cannot do this.
    KeyUnsupported 422 "key-unsupported",
    /// The host cannot use the key: another host made it, or its master key is gone.
    KeyUnavailable 422 "key-unavailable",
    /// A key, or what is to be done with it, has not the form or the length that it must have.
    KeyInput 422 "key-input",
    /// The response of the user's authenticator was verified and is not right. Its challenge is used up.
    FidoRefused 422 "fido-refused",
    /// It cannot be opened with this key. The cause is never told.
    NotOpened 422 "not-opened",
    /// The key came with another request before.
    IdempotencyKeyReused 422 "idempotency-key-reused",
    /// Participants have too little to settle: `short`.
    SettlementShort 422 "settlement-short",
    /// Which request is decided is not said, and there was another one before: `pendingRequest`.
    PreconditionRequired 428 "precondition-required",
    /// The headers are too long.
    HeadersTooLarge 431 "too-large",
    /// The host could not handle the request; nothing was changed.
    Internal 500 "internal",
    /// The host has more to do than it can take.
    Overloaded 503 "overloaded",
    /// The provider of the key does not answer now.
    ProviderAway 503 "provider-away",
}

/// An API's OpenAPI document (YAML with one member per line), with a table of all problems at its end
/// (`x-rialto-errors`), besides the host's own.
#[must_use]
pub fn with_problems(document: &str) -> String {
    let mut text = format!("{}\nx-rialto-errors:\n", document.trim_end());
    for kind in Kind::ALL {
        let problem = json!({
            "code": kind.name(),
            "name": format!("{} {}", kind.status(), kind.title()),
            "when": kind.when().trim(),
        });
        text.push_str(&format!("  - {problem}\n"));
    }
    text
}

impl Kind {
    const fn title(self) -> &'static str {
        match self.status() {
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            409 => "Conflict",
            412 => "Precondition Failed",
            413 => "Payload Too Large",
            422 => "Unprocessable Content",
            428 => "Precondition Required",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        }
    }
}

/// The reason of a refused request. A refusal has changed nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Its kind.
    pub kind: Kind,
    /// A sentence: the problem, and what to do.
    pub detail: String,
    /// Further members for clients.
    pub members: Map<String, Value>,
}

/// RFC 9457.
#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(flatten)]
    members: &'a Map<String, Value>,
}

impl Problem {
    /// A problem of a kind.
    #[must_use]
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            members: Map::new(),
        }
    }

    /// Adds a member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// The problem as an answer.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let document = Document {
            r#type: format!("urn:rialto:problem:{}", self.kind.name()),
            title: self.kind.title(),
            status: self.kind.status(),
            detail: &self.detail,
            members: &self.members,
        };
        Answer::of("application/problem+json", self.kind.status(), &document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_worded_with_its_members() {
        let problem =
            Problem::new(Kind::AlreadyDecided, "It is decided.").with("state", "APPROVED");
        let answer = problem.answer();
        assert_eq!(answer.status, 409);
        assert_eq!(answer.headers[0].1, "application/problem+json");
        let said = r#"{"type":"urn:rialto:problem:already-decided","title":"Conflict","status":409,"detail":"It is decided.","state":"APPROVED"}"#;
        assert_eq!(answer.body.as_deref(), Some(said));
    }

    #[test]
    fn a_document_is_given_a_table_of_every_kind() {
        let text = with_problems("openapi: 3.1.0\npaths: {}\n\n");
        let (before, table) = text.split_once("x-rialto-errors:\n").unwrap();
        assert_eq!(before, "openapi: 3.1.0\npaths: {}\n");
        let rows: Vec<Value> = table
            .lines()
            .map(|row| serde_json::from_str(row.strip_prefix("  - ").unwrap()).unwrap())
            .collect();
        assert_eq!(rows.len(), Kind::ALL.len());
        let of = |code: &str| rows.iter().find(|row| row["code"] == code).unwrap();
        assert_eq!(of("participant-unknown")["name"], "404 Not Found");
        let when = "The same is waiting for approval already: `pendingRequest`.";
        assert_eq!(of("duplicate-request")["when"], when);
    }

    #[test]
    fn the_operators_page_lists_every_kind_with_its_status() {
        let page = include_str!("../../../../docs/operators.md");
        for kind in Kind::ALL {
            let row = page.lines().find(|line| {
                line.starts_with(&format!("| {}", kind.status()))
                    && line.contains(&format!("`{}`", kind.name()))
            });
            assert!(row.is_some(), "docs/operators.md has no {kind:?}");
        }
    }
}
