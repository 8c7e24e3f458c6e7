//! Why a release was not made current, in words for operators.

use rialto_engine::store::StoreError;
use rialto_manifest::Diagnostics;

use crate::plans::NotSigned;
use crate::words;

/// Why a release was not made current. The old one serves on.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It does not fit, with each problem in words.
    #[error("{}", lines(.0))]
    Unfit(Vec<String>),
    /// There is no release of this number.
    #[error("there is no release {0}; `rialto release list` shows those that there are")]
    Unknown(u64),
    /// The scheme has no rule of this name.
    #[error("the current release has no rule `{0}`")]
    NoRule(String),
    /// Another release is current than the one that the change was meant for.
    #[error(
        "the change is meant for release {expected}, and release {current} is current; look at what changed with `rialto release list`, then try again"
    )]
    Moved {
        /// The expected one.
        expected: u64,
        /// The current one; 0 for none.
        current: u64,
    },
    /// It waits for its approval.
    #[error(
        "release {0} waits for the approval of a second person: `rialto release approve {0} --as NAME`"
    )]
    Waits(u64),
    /// It does not wait for an approval.
    #[error("release {0} does not wait for an approval; `rialto release list` shows those that do")]
    NotWaiting(u64),
    /// Its maker tried to approve it.
    #[error("release {number} was made by {maker}: somebody else must approve it")]
    OwnRelease {
        /// Its number.
        number: u64,
        /// Who made it.
        maker: String,
    },
    /// The approving person has no name in rialto.toml.
    #[error(
        "release {0} needs the approval of a second person, and nobody is named: name people in rialto.toml (`[operators.NAME]`), one of them with the role `checker`, and start the host again"
    )]
    Unnamed(u64),
    /// When it is to be in force cannot be.
    #[error("{0}")]
    BadDates(String),
    /// Another release is scheduled.
    #[error(
        "release {release} comes into force at {}, and at most one change is scheduled: withdraw it first (`rialto release withdraw {release}`)",
        words::instant(*.from)
    )]
    Scheduled {
        /// Its number.
        release: u64,
        /// Its instant; milliseconds since 1970.
        from: u64,
    },
    /// It is not scheduled.
    #[error(
        "release {0} is not scheduled: it is in force already, was withdrawn, or never had a date; `rialto release list` shows those that are"
    )]
    NotScheduled(u64),
    /// A release becomes current only by a plan.
    #[error(
        "officers approve changes here, so this needs a plan: `rialto release plan DIR --out FILE`, have officers sign it with `rialto plan sign FILE`, then `rialto release apply --plan FILE`"
    )]
    PlanNeeded,
    /// No plan can be made.
    #[error("{0}")]
    Unplanned(String),
    /// There is no plan of this digest.
    #[error(
        "there is no plan {0} at this host: it was made at another one, or its file was changed; `rialto plan list` shows those that there are"
    )]
    PlanUnknown(String),
    /// It was applied already.
    #[error("the plan was applied already: it became release {release}")]
    PlanApplied {
        /// The release that it became.
        release: u64,
    },
    /// Another release was current since.
    #[error(
        "another release was current since the plan was made, and release {0} is current again: make the plan again"
    )]
    PlanOvertaken(u64),
    /// Its life is over.
    #[error("the plan could be applied until {}: make it again", words::instant(*.0))]
    PlanExpired(u64),
    /// Too few officers have signed it.
    #[error(
        "{needed} officers must sign the plan, other persons than its maker, and {}; the officers are {}",
        signed(.signers),
        .officers.join(", ")
    )]
    PlanUnsigned {
        /// How many must sign.
        needed: usize,
        /// Who has signed.
        signers: Vec<String>,
        /// Who may sign.
        officers: Vec<String>,
    },
    /// A signature does not count.
    #[error(transparent)]
    NotSigned(#[from] NotSigned),
    /// The host failed to do it.
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

fn signed(signers: &[String]) -> String {
    if signers.is_empty() {
        "nobody has".to_owned()
    } else {
        format!("only {} did", signers.join(", "))
    }
}

fn lines(problems: &[String]) -> String {
    problems.join("\n")
}

pub(super) fn unfit(problems: &Diagnostics) -> Refused {
    Refused::Unfit(vec![problems.plain()])
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Failed(anyhow::Error::new(error).context("keeping who does this"))
    }
}
