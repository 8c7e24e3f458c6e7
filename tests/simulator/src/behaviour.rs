//! How a simulated FSP behaves, and above all how it misbehaves.
//!
//! Every chance is drawn from the seed and the message's own id, never from a sequence: the
//! same seed and ids give the same misbehaviour, however the messages interleave.

use std::fmt::{self, Display};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::message::ErrorCode;

/// An FSP's behaviour. The default is a model citizen that answers at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Behaviour {
    /// Where chances come from.
    pub seed: u64,
    /// Towards `GET /parties`.
    pub lookup: StepBehaviour,
    /// Towards `POST /quotes`.
    pub quote: StepBehaviour,
    /// Towards `POST /transfers`.
    pub transfer: StepBehaviour,
    /// Towards callbacks (PUT, PATCH): how they are answered.
    pub callbacks: Answering,
    /// How many transfers are answered with a fulfilment that does not fit.
    pub wrong_fulfilment: Share,
    /// Answers transfers with RESERVED and waits for the switch's PATCH.
    pub reserve: bool,
}

/// How an FSP treats one kind of request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct StepBehaviour {
    /// The HTTP answer to the request.
    pub answer: Answering,
    /// The pause before the callback.
    pub delay: Delay,
    /// Which requests get an error callback.
    pub refuse: Refusal,
    /// How many requests never get a callback, although they were accepted.
    pub silent: Share,
}

/// How an FSP answers at the HTTP level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Answering {
    /// The status to answer with instead of 202 or 200. From 400 up the message counts as not
    /// received.
    pub status: Option<u16>,
    /// The pause before the HTTP answer.
    pub stall: Delay,
    /// How many connections are reset (TCP RST) instead of answered. The message counts as not
    /// received.
    pub reset: Share,
}

/// A pause that all, or some, messages suffer. Written `250ms`, `2s` or `10%:2s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// How long.
    pub pause: Duration,
    /// How many.
    pub share: Share,
}

/// Which requests are refused. Written `5%`, `amount=66.66`, or either with `:5104` for the
/// error code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// How many, by chance.
    pub share: Share,
    /// Those of exactly this amount (FSPIOP text), so that a person can provoke a refusal. A
    /// lookup has no amount and ignores this.
    pub amount: Option<String>,
    /// The error code; each step has its own default.
    pub code: Option<ErrorCode>,
}

/// A share of messages, to a hundredth of a per cent. Written `2.5%`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u16);

impl Share {
    /// None at all.
    pub const NONE: Self = Self(0);
    /// All.
    pub const ALL: Self = Self(10_000);

    /// Whole per cent; more than 100 is 100.
    pub const fn percent(percent: u16) -> Self {
        if percent >= 100 {
            Self::ALL
        } else {
            Self(percent * 100)
        }
    }
}

impl Delay {
    /// A pause that every message suffers.
    pub const fn always(pause: Duration) -> Self {
        Self {
            pause,
            share: Share::ALL,
        }
    }
}

impl Default for Delay {
    fn default() -> Self {
        Self::always(Duration::ZERO)
    }
}

/// Draws one message's chances.
#[derive(Clone, Copy, Debug)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// The dice of the message with this id.
    pub fn of(seed: u64, id: &str) -> Self {
        // FNV-1a, then one round of splitmix64 in each draw: small, and the same everywhere.
        let hash = id
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, octet| {
                (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        Self { state: hash }
    }

    /// True for this share of messages. Draws for different purposes are independent.
    pub fn hits(self, purpose: &str, share: Share) -> bool {
        match share {
            Share::NONE => false,
            Share::ALL => true,
            Share(hundredths) => {
                let mut z = Self::of(self.state, purpose)
                    .state
                    .wrapping_add(0x9e37_79b9_7f4a_7c15);
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                (z ^ (z >> 31)) % 10_000 < u64::from(hundredths)
            }
        }
    }

    /// The pause that this message suffers, if any.
    pub fn pause(self, purpose: &str, delay: Delay) -> Option<Duration> {
        (!delay.pause.is_zero() && self.hits(purpose, delay.share)).then_some(delay.pause)
    }
}

impl Refusal {
    /// The code to refuse a request with, or nothing if it is not refused.
    pub fn of(&self, dice: Dice, amount: Option<&str>, default: ErrorCode) -> Option<ErrorCode> {
        let marked = self.amount.is_some() && self.amount.as_deref() == amount;
        (marked || dice.hits("refuse", self.share)).then(|| self.code.unwrap_or(default))
    }
}

/// Why a text does not describe a behaviour.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {what}: expected {expected}")]
pub struct BehaviourError {
    text: String,
    what: &'static str,
    expected: &'static str,
}

impl FromStr for Share {
    type Err = BehaviourError;

    fn from_str(text: &str) -> Result<Self, BehaviourError> {
        let wrong = || BehaviourError {
            text: text.to_owned(),
            what: "share",
            expected: "0% to 100%, with at most two decimals",
        };
        let number = text.strip_suffix('%').ok_or_else(wrong)?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(decimals) || decimals.len() > 2 || whole.len() > 3 {
            return Err(wrong());
        }
        let hundredths: u32 = format!("{whole}{decimals:0<2}")
            .parse()
            .map_err(|_| wrong())?;
        match u16::try_from(hundredths) {
            Ok(hundredths) if hundredths <= Self::ALL.0 => Ok(Self(hundredths)),
            _ => Err(wrong()),
        }
    }
}

impl Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.0 / 100, self.0 % 100);
        match decimals {
            0 => write!(f, "{whole}%"),
            _ => write!(f, "{whole}.{decimals:02}%"),
        }
    }
}

impl FromStr for Delay {
    type Err = BehaviourError;

    fn from_str(text: &str) -> Result<Self, BehaviourError> {
        let wrong = || BehaviourError {
            text: text.to_owned(),
            what: "delay",
            expected: "a duration such as 250ms or 2s, with an optional share as in 10%:2s",
        };
        let (share, duration) = match text.split_once(':') {
            Some((share, duration)) => (share.parse().map_err(|_| wrong())?, duration),
            None => (Share::ALL, text),
        };
        let (number, unit_ms) = match duration.strip_suffix("ms") {
            Some(number) => (number, 1),
            None => (duration.strip_suffix('s').ok_or_else(wrong)?, 1000),
        };
        let number: u32 = number.parse().map_err(|_| wrong())?;
        Ok(Self {
            pause: Duration::from_millis(u64::from(number) * unit_ms),
            share,
        })
    }
}

impl Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.share != Share::ALL {
            write!(f, "{}:", self.share)?;
        }
        write!(f, "{}ms", self.pause.as_millis())
    }
}

impl FromStr for Refusal {
    type Err = BehaviourError;

    fn from_str(text: &str) -> Result<Self, BehaviourError> {
        let wrong = || BehaviourError {
            text: text.to_owned(),
            what: "refusal",
            expected: "a share such as 5% or amount=66.66, with an optional code as in 5%:5104",
        };
        let (which, code) = match text.split_once(':') {
            Some((which, code)) => (which, Some(code.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        match which.strip_prefix("amount=") {
            Some("") => Err(wrong()),
            Some(amount) => Ok(Self {
                share: Share::NONE,
                amount: Some(amount.to_owned()),
                code,
            }),
            None => {
                let share = which.parse().map_err(|_| wrong())?;
                Ok(Self {
                    share,
                    amount: None,
                    code,
                })
            }
        }
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.amount {
            Some(amount) => write!(f, "amount={amount}")?,
            None => write!(f, "{}", self.share)?,
        }
        match self.code {
            Some(code) => write!(f, ":{code}"),
            None => Ok(()),
        }
    }
}

macro_rules! serde_as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
serde_as_text!(Share, Delay, Refusal);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaviour_reads_from_json_and_back() {
        let json = r#"{"seed":7,"lookup":{"delay":"10%:2s"},"quote":{"refuse":"amount=66.66:5104"},
            "transfer":{"silent":"2.5%","answer":{"status":503,"reset":"1%","stall":"5ms"}},
            "reserve":true,"wrongFulfilment":"100%"}"#;
        let behaviour: Behaviour = serde_json::from_str(json).expect("a behaviour");
        assert_eq!(behaviour.lookup.delay.pause, Duration::from_secs(2));
        assert_eq!(behaviour.lookup.delay.share, Share::percent(10));
        assert_eq!(behaviour.quote.refuse.amount.as_deref(), Some("66.66"));
        assert_eq!(behaviour.wrong_fulfilment, Share::ALL);
        let again = serde_json::to_string(&behaviour).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Behaviour>(&again).expect("a behaviour"),
            behaviour
        );
    }

    #[test]
    fn what_is_no_behaviour_is_refused() {
        for wrong in ["101%", "5", "%", "-1%", "1.234%", "x%", "1.%"] {
            assert!(wrong.parse::<Share>().is_err(), "{wrong}");
        }
        for wrong in ["", "5", "ms", "1.5s", "200%:1s", "-1s"] {
            assert!(wrong.parse::<Delay>().is_err(), "{wrong}");
        }
        for wrong in ["", "amount=", "5%:99", "often"] {
            assert!(wrong.parse::<Refusal>().is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<Behaviour>(r#"{"sead":1}"#).is_err());
    }

    #[test]
    fn chances_follow_from_seed_and_id_at_their_rate() {
        let hits = |seed: u64, purpose: &str| -> Vec<bool> {
            (0..10_000)
                .map(|n| Dice::of(seed, &format!("id-{n}")).hits(purpose, Share::percent(10)))
                .collect()
        };
        let first = hits(1, "refuse");
        assert_eq!(first, hits(1, "refuse"));
        assert_ne!(first, hits(2, "refuse"));
        assert_ne!(first, hits(1, "silent"));
        let count = first.iter().filter(|hit| **hit).count();
        assert!((850..1150).contains(&count), "10 % of 10,000 gave {count}");
    }

    #[test]
    fn a_refusal_is_drawn_or_marked_by_the_amount() {
        let dice = Dice::of(0, "x");
        let default = ErrorCode::TRANSFER_REJECTED;
        let marked: Refusal = "amount=66.66:5104".parse().expect("a refusal");
        assert_eq!(
            marked
                .of(dice, Some("66.66"), default)
                .map(|c| c.to_string()),
            Some("5104".into())
        );
        assert_eq!(marked.of(dice, Some("66.6"), default), None);
        assert_eq!(marked.of(dice, None, default), None);
        let all: Refusal = "100%".parse().expect("a refusal");
        assert_eq!(all.of(dice, None, default), Some(default));
        assert_eq!(Refusal::default().of(dice, None, default), None);
    }
}
