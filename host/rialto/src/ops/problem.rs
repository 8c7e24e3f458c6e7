//! The kinds of problems of the operators' API, and their documents (RFC 9457). Components have kinds of their own
//! on the same listener.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rialto_store_sqlite::Outcome;
use serde_json::json;

use crate::credentials::NotMade;
use crate::passkeys;
use crate::plans::NotSigned;
use crate::quarantines::NotEnded;
use crate::releases::Refused;
use crate::suspensions::NotSuspended;

/// The prefix of every problem's `type`.
const TYPE: &str = "urn:rialto:problem:";

macro_rules! kinds {
    ($($kind:ident $status:ident $name:literal $when:literal,)*) => {
        /// The kind of a problem. Names and statuses are a contract, because clients use them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $(#[doc = $when] $kind,)*
        }

        impl Kind {
            /// All of them, by status.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The end of the problem's `type`, after `urn:rialto:problem:`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// When it is used.
            #[must_use]
            pub const fn when(self) -> &'static str {
                match self { $(Self::$kind => $when,)* }
            }

            /// HTTP's status.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$kind => StatusCode::$status,)* }
            }
        }
    };
}

kinds! {
    Malformed BAD_REQUEST "malformed" "The request is not of the form that the API's document says.",
    BadDigest BAD_REQUEST "bad-digest" "The path names no digest.",
    DigestMismatch BAD_REQUEST "digest-mismatch" "The bytes have another digest than the path says.",
    BadScan BAD_REQUEST "bad-scan" "Documents cannot be looked for like that.",
    Unauthorized UNAUTHORIZED "unauthorized" "No operator's token or session was shown.",
    RoleMissing FORBIDDEN "role-missing" "The operator has not the role.",
    OwnRelease FORBIDDEN "own-release" "Nobody approves a release that they made.",
    OwnPlan FORBIDDEN "own-plan" "Nobody approves a plan that they made.",
    NoOfficer FORBIDDEN "no-officer" "The operator's document names no such officer.",
    OwnSuspension FORBIDDEN "own-suspension" "Nobody confirms a suspension of their own.",
    NobodyNamed FORBIDDEN "nobody-named" "A second person is needed, and the operator's document names nobody.",
    ForeignOrigin FORBIDDEN "foreign-origin" "A page of another origin may have sent the request with a browser's session.",
    ConfirmationRequired FORBIDDEN "confirmation-required" "An approval must be confirmed with a passkey, and was not.",
    OwnPasskey FORBIDDEN "own-passkey" "Nobody approves their own passkey.",
    PasskeyByToken FORBIDDEN "passkey-by-token" "A personal token registers no passkeys.",
    SessionBySession FORBIDDEN "session-by-session" "A session makes no session.",
    TokenByToken FORBIDDEN "token-by-token" "A personal token makes no tokens.",
    NotFound NOT_FOUND "not-found" "There is nothing at this path, or no dead letter of this id.",
    ReleaseUnknown NOT_FOUND "release-unknown" "There is no release of this number.",
    PlanUnknown NOT_FOUND "plan-unknown" "There is no plan of this digest.",
    SuspensionUnknown NOT_FOUND "suspension-unknown" "No suspension of this number is in force.",
    RuleUnknown NOT_FOUND "rule-unknown" "The current release has no rule of this name.",
    PasskeysNotSet NOT_FOUND "passkeys-not-set" "The operator's document has no passkeys.",
    PersonalDataNotSet NOT_FOUND "personal-data-not-set" "The operator's document does not say whose records are encrypted.",
    PasskeyUnknown NOT_FOUND "passkey-unknown" "There is no passkey of this id that the operator may see.",
    NothingWaits NOT_FOUND "nothing-waits" "No registration or confirmation of this id waits for a passkey.",
    TokenUnknown NOT_FOUND "token-unknown" "The operator has no session or personal token of this id.",
    BacktestUnknown NOT_FOUND "backtest-unknown" "No backtest of this number is kept, or it has no report.",
    PastNotKept NOT_FOUND "past-not-kept" "Figures of so long ago are kept nowhere that the operator's document names.",
    MethodNotAllowed METHOD_NOT_ALLOWED "method-not-allowed" "The path does not take this method.",
    ReleaseMoved CONFLICT "release-moved" "Another release is current than the one that the change is meant for.",
    ReleaseScheduled CONFLICT "release-scheduled" "A release that comes into force later must be withdrawn first.",
    ReleaseNotScheduled CONFLICT "release-not-scheduled" "The release does not come into force later.",
    ReleaseWaits CONFLICT "release-waits" "The release waits for the approval of a second person.",
    ReleaseNotWaiting CONFLICT "release-not-waiting" "The release does not wait for an approval.",
    BacktestRuns CONFLICT "backtest-runs" "A backtest runs already.",
    PlanNeeded CONFLICT "plan-needed" "Officers approve changes, so the release needs a plan.",
    PlanApplied CONFLICT "plan-applied" "The plan was applied already.",
    PlanExpired CONFLICT "plan-expired" "The plan is too old.",
    PlanUnsigned CONFLICT "plan-unsigned" "Too few officers have signed the plan.",
    RuleSuspended CONFLICT "rule-suspended" "The rule is suspended already.",
    RuleNotInQuarantine CONFLICT "rule-not-in-quarantine" "The rule is not in quarantine.",
    SuspensionLapsed CONFLICT "suspension-lapsed" "Nobody has confirmed the person's last suspension.",
    ComponentMissing CONFLICT "component-missing" "A component has not been sent.",
    NoStandby CONFLICT "no-standby" "No standby is ready to take over, or the hosts have no addresses for each other.",
    CheckRuns CONFLICT "check-runs" "A check of the books runs already.",
    UnderWay CONFLICT "under-way" "The dead letter is being retried or dropped right now.",
    CheckUnderWay CONFLICT "check-under-way" "A check of the audit log runs already.",
    NotReplayable CONFLICT "not-replayable" "A rule cannot be asked again as its receipt says.",
    NoSession CONFLICT "no-session" "The request has no session that could end.",
    NoPasskey CONFLICT "no-passkey" "The person has no approved passkey.",
    PasskeyKnown CONFLICT "passkey-known" "The passkey was registered before.",
    PasskeyNotWaiting CONFLICT "passkey-not-waiting" "The passkey does not wait for an approval.",
    TooManyPasskeys CONFLICT "too-many-passkeys" "The person has as many passkeys as one may have.",
    TooManyTokens CONFLICT "too-many-tokens" "The operator has as many personal tokens as one may have.",
    TooLarge PAYLOAD_TOO_LARGE "too-large" "The body is too long.",
    MediaType UNSUPPORTED_MEDIA_TYPE "media-type" "The body is not said to be of a media type that is taken.",
    ReleaseUnfit UNPROCESSABLE_ENTITY "release-unfit" "The release does not fit: `problems` has each problem.",
    DatesRefused UNPROCESSABLE_ENTITY "dates-refused" "The release cannot be in force at these instants.",
    DraftRefused UNPROCESSABLE_ENTITY "draft-refused" "The text of the scheme cannot be changed so.",
    PlanRefused UNPROCESSABLE_ENTITY "plan-refused" "No plan can be made of this.",
    SignatureRefused UNPROCESSABLE_ENTITY "signature-refused" "The signature is none of the officer under this plan.",
    PasskeyRefused UNPROCESSABLE_ENTITY "passkey-refused" "The passkey's response does not hold.",
    TooManyStreams TOO_MANY_REQUESTS "too-many-streams" "As many streams are open as the host takes, in all or of one person.",
    Internal INTERNAL_SERVER_ERROR "internal" "The host could not do it; its words say whether something may have changed.",
    Store INTERNAL_SERVER_ERROR "store" "The store could not be read or written.",
    Archive INTERNAL_SERVER_ERROR "archive" "An archive could not be read.",
    Receipt INTERNAL_SERVER_ERROR "receipt" "A receipt in the store cannot be read.",
    Document INTERNAL_SERVER_ERROR "document" "A document in the store cannot be read.",
    PeopleKeys INTERNAL_SERVER_ERROR "people-keys" "The file of people's keys could not be written; no key is destroyed.",
    NotSettled SERVICE_UNAVAILABLE "not-settled" "Whether the decision about dead letters is kept is not known.",
    NotNow SERVICE_UNAVAILABLE "not-now" "A rule could not be asked now; try again.",
    PastAway SERVICE_UNAVAILABLE "past-away" "Prometheus does not answer well, or not in time.",
}

/// A problem, for an operator's client.
#[derive(Debug)]
pub struct Problem {
    kind: Kind,
    detail: String,
    problems: Vec<String>,
}

impl Problem {
    /// A problem of a kind.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            problems: Vec::new(),
        }
    }

    /// Its outcome for the audit log.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let reason = format!("{}: {}", self.kind.name(), self.detail);
        if self.kind.status().is_server_error() {
            Outcome::Failed(reason)
        } else {
            Outcome::Refused(reason)
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let detail = refused.to_string();
        let kind = match &refused {
            Refused::Unfit(_) => Kind::ReleaseUnfit,
            Refused::Unknown(_) => Kind::ReleaseUnknown,
            Refused::NoRule(_) => Kind::RuleUnknown,
            Refused::Moved { .. } => Kind::ReleaseMoved,
            Refused::Waits(_) => Kind::ReleaseWaits,
            Refused::NotWaiting(_) => Kind::ReleaseNotWaiting,
            Refused::OwnRelease { .. } => Kind::OwnRelease,
            Refused::Unnamed(_) => Kind::NobodyNamed,
            Refused::BadDates(_) => Kind::DatesRefused,
            Refused::Scheduled { .. } => Kind::ReleaseScheduled,
            Refused::NotScheduled(_) => Kind::ReleaseNotScheduled,
            Refused::PlanNeeded => Kind::PlanNeeded,
            Refused::Unplanned(_) => Kind::PlanRefused,
            Refused::PlanUnknown(_) => Kind::PlanUnknown,
            Refused::PlanApplied { .. } => Kind::PlanApplied,
            Refused::PlanExpired(_) => Kind::PlanExpired,
            Refused::PlanOvertaken(_) => Kind::ReleaseMoved,
            Refused::PlanUnsigned { .. } => Kind::PlanUnsigned,
            Refused::NotSigned(NotSigned::Maker(_)) => Kind::OwnPlan,
            Refused::NotSigned(NotSigned::NoOfficer(_)) => Kind::NoOfficer,
            Refused::NotSigned(_) => Kind::SignatureRefused,
            Refused::Failed(_) => Kind::Internal,
        };
        let mut problem = Self::new(kind, detail);
        if let Refused::Unfit(problems) = refused {
            problem.problems = problems;
        }
        problem
    }
}

impl From<NotSuspended> for Problem {
    fn from(refused: NotSuspended) -> Self {
        let kind = match refused {
            NotSuspended::Store(error) => return error.into(),
            NotSuspended::NoRule(_) => Kind::RuleUnknown,
            NotSuspended::Already(_) => Kind::RuleSuspended,
            NotSuspended::Unconfirmed { .. } => Kind::SuspensionLapsed,
            NotSuspended::Unknown(_) => Kind::SuspensionUnknown,
            NotSuspended::Own(_) => Kind::OwnSuspension,
            NotSuspended::Unnamed => Kind::NobodyNamed,
        };
        Self::new(kind, refused.to_string())
    }
}

impl From<NotEnded> for Problem {
    fn from(refused: NotEnded) -> Self {
        let kind = match refused {
            NotEnded::NoRule { .. } => Kind::RuleUnknown,
            NotEnded::NotHeld { .. } => Kind::RuleNotInQuarantine,
        };
        Self::new(kind, refused.to_string())
    }
}

impl From<passkeys::Refused> for Problem {
    fn from(refused: passkeys::Refused) -> Self {
        use passkeys::Refused as R;
        let kind = match refused {
            R::Store(error) => return error.into(),
            R::NothingWaits => Kind::NothingWaits,
            R::Malformed(_) => Kind::Malformed,
            R::Unproven(_) => Kind::PasskeyRefused,
            R::Known => Kind::PasskeyKnown,
            R::TooMany(_) => Kind::TooManyPasskeys,
            R::None(_) => Kind::NoPasskey,
            R::Unknown(_) => Kind::PasskeyUnknown,
            R::NotWaiting(_) => Kind::PasskeyNotWaiting,
            R::Own(_) => Kind::OwnPasskey,
        };
        Self::new(kind, refused.to_string())
    }
}

impl From<NotMade> for Problem {
    fn from(not_made: NotMade) -> Self {
        match not_made {
            NotMade::TooMany => Self::new(Kind::TooManyTokens, not_made.to_string()),
            NotMade::TokenEnded => Self::new(Kind::Unauthorized, not_made.to_string()),
            NotMade::Store(error) => error.into(),
        }
    }
}

impl From<rialto_engine::store::StoreError> for Problem {
    fn from(error: rialto_engine::store::StoreError) -> Self {
        Self::new(Kind::Store, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.kind.status();
        let mut body = json!({
            "type": format!("{TYPE}{}", self.kind.name()),
            "title": status.canonical_reason().unwrap_or_default(),
            "status": status.as_u16(),
            "detail": self.detail,
        });
        if !self.problems.is_empty() {
            body["problems"] = json!(self.problems);
        }
        let media_type = [(header::CONTENT_TYPE, "application/problem+json")];
        (status, media_type, Json(body)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operators_page_lists_every_kind_with_its_status() {
        let page = include_str!("../../../../docs/operators.md");
        for kind in Kind::ALL {
            let row = format!("| {} | `{}` | ", kind.status().as_u16(), kind.name());
            assert!(page.contains(&row), "docs/operators.md has no {row}");
        }
    }

    #[test]
    fn kinds_are_sorted_by_status_with_unique_names() {
        assert!(Kind::ALL.is_sorted_by_key(|kind| kind.status().as_u16()));
        let names: std::collections::BTreeSet<_> =
            Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
    }
}
