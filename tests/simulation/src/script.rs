//! What FSPs are going to do about each transfer, drawn from a seed: the payment itself, what its payee
//! FSP does when it is asked, and what else happens around it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::rngs::SmallRng;
use rand::{Rng as _, RngExt as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::host::{OTHER, PAYEE, PAYER, POOR};
use crate::saying::{Draft, Prepare, Saying, money};
use crate::time::date_time;

/// A payee FSP that does not exist.
pub const NOBODY: &str = "nobodyfsp";
/// A payer FSP that does not exist.
pub const GHOST: &str = "ghostfsp";

/// What payer FSP and payee FSP agreed on by a quote.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// The quote.
    pub quote_id: String,
    /// Who pays.
    pub payer: String,
    /// The payee.
    pub payee: String,
    /// In cents of US dollars.
    pub cents: u64,
    /// 43 characters of base64url.
    pub condition: String,
    /// What fits it; the payee FSP's secret.
    pub fulfilment: String,
}

impl Agreement {
    fn draw(rng: &mut SmallRng) -> Self {
        let (payer, payee) = match rng.random_range(0..100) {
            0..58 => (PAYER, PAYEE),
            58..72 => (PAYEE, PAYER),
            72..86 => (POOR, PAYEE),
            86..92 => (PAYER, POOR),
            92..96 => (OTHER, PAYER),
            _ => (PAYEE, OTHER),
        };
        let cents = match payer {
            POOR => rng.random_range(100..2_500),
            OTHER => rng.random_range(100..5_000),
            _ => rng.random_range(100..9_000),
        };
        let (condition, fulfilment) = secret(rng);
        Self {
            quote_id: uuid(rng),
            payer: payer.into(),
            payee: payee.into(),
            cents,
            condition,
            fulfilment,
        }
    }

    /// The body of POST /quotes.
    pub fn request(&self) -> Value {
        let party = |fsp: &str, identifier: &str| {
            json!({ "partyIdInfo": {
                "partyIdType": "MSISDN", "partyIdentifier": identifier, "fspId": fsp,
            } })
        };
        json!({
            "quoteId": self.quote_id,
            "transactionId": self.quote_id,
            "payer": party(&self.payer, "27713803901"),
            "payee": party(&self.payee, "27713803900"),
            "amountType": "SEND",
            "amount": money(self.cents),
            "transactionType": {
                "scenario": "TRANSFER", "initiator": "PAYER", "initiatorType": "CONSUMER",
            },
        })
    }

    /// The body of PUT /quotes/{ID}.
    pub fn response(&self, expiration: u64) -> Value {
        json!({
            "transferAmount": money(self.cents),
            "expiration": date_time(expiration),
            "ilpPacket": "AQAAAAAAAADIEHByaXZhdGUucGF5ZWVmc3A",
            "condition": self.condition,
        })
    }
}

fn secret(rng: &mut SmallRng) -> (String, String) {
    let mut fulfilment = [0; 32];
    rng.fill_bytes(&mut fulfilment);
    let condition = Sha256::digest(fulfilment);
    (
        URL_SAFE_NO_PAD.encode(condition),
        URL_SAFE_NO_PAD.encode(fulfilment),
    )
}

/// An id as FSPs draw them: version 4.
pub fn uuid(rng: &mut SmallRng) -> String {
    let mut bytes = [0_u8; 16];
    rng.fill_bytes(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [0..8, 8..12, 12..16, 16..20, 20..32]
        .map(|part| &digits[part])
        .join("-")
}

/// A payee FSP's reaction to a request for a transfer, and its delay.
#[derive(Clone, Debug)]
pub struct Reaction {
    /// Milliseconds after it was asked; none for never.
    pub after: Option<u64>,
    /// Whether it comes no earlier than the transfer's last instant.
    pub is_late: bool,
    /// Its contents.
    pub saying: Saying,
    /// Its further messages, with delays in milliseconds.
    pub then: Vec<(u64, Saying)>,
    /// Whether it says when the payment was completed.
    pub says_when: bool,
}

/// All that is going to happen about one transfer.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What kind of payment it is, in a word: a run counts them.
    pub kind: &'static str,
    /// The payer FSP's request.
    pub prepare: Prepare,
    /// Its sender.
    pub asker: String,
    /// When it is said first, in milliseconds from the beginning of the run.
    pub starts: u64,
    /// The payee FSP's reaction.
    pub reaction: Reaction,
    /// Further messages, with times in milliseconds from the beginning of the run.
    pub around: Vec<(u64, Draft)>,
}

/// Draw the agreements of a run.
pub fn agreements(rng: &mut SmallRng, count: usize) -> Vec<Agreement> {
    (0..count).map(|_| Agreement::draw(rng)).collect()
}

/// Draw what happens about each transfer. `began` is when the run begins, `span` how long it is until
/// the last transfer is asked for, in milliseconds.
pub fn plans(rng: &mut SmallRng, agreements: &[Agreement], began: u64, span: u64) -> Vec<Plan> {
    let plans = agreements.iter().enumerate();
    plans
        .map(|(n, own)| {
            let earlier = agreements[..n].get(n.wrapping_sub(1 + rng.random_range(0..8)));
            plan(rng, own, earlier.unwrap_or(own), began, span)
        })
        .collect()
}

fn plan(rng: &mut SmallRng, own: &Agreement, earlier: &Agreement, began: u64, span: u64) -> Plan {
    let starts = rng.random_range(0..span);
    let mut agreement = own;
    let mut lifetime = rng.random_range(4_000..30_000);
    let draw = rng.random_range(0..100);
    let mut reaction = reaction(rng, draw, own);
    let kind = kind(draw);
    if matches!(kind, "late" | "never") {
        lifetime = rng.random_range(500..6_000);
    }
    if kind == "reused quote" {
        agreement = earlier;
        if let Saying::Fulfil { fulfilment, .. } = &mut reaction.saying {
            fulfilment.clone_from(&earlier.fulfilment);
        }
    }
    let mut prepare = Prepare {
        transfer_id: uuid(rng),
        payer: agreement.payer.clone(),
        payee: agreement.payee.clone(),
        cents: agreement.cents,
        condition: agreement.condition.clone(),
        expiration: began + starts + lifetime,
        note: None,
    };
    match kind {
        "expired on arrival" => prepare.expiration = began + starts - rng.random_range(0..1_000),
        "unknown payee" => prepare.payee = NOBODY.into(),
        "unknown payer" => prepare.payer = GHOST.into(),
        "no quote" => prepare.condition = secret(rng).0,
        "other amount" => prepare.cents += 1,
        _ => {}
    }
    let mut plan = Plan {
        kind,
        asker: prepare.payer.clone(),
        prepare,
        starts,
        reaction,
        around: Vec::new(),
    };
    around(rng, &mut plan, own, span.min(lifetime + 4_000));
    plan
}

const fn kind(draw: u32) -> &'static str {
    match draw {
        0..28 => "plain",
        28..42 => "reserved",
        42..52 => "declined",
        52..60 => "wrong fulfilment",
        60..70 => "late",
        70..78 => "never",
        78..83 => "expired on arrival",
        83..86 => "unknown payee",
        86..88 => "unknown payer",
        88..92 => "no quote",
        92..94 => "other amount",
        94..96 => "in another's name",
        _ => "reused quote",
    }
}

fn reaction(rng: &mut SmallRng, draw: u32, own: &Agreement) -> Reaction {
    let half = rng.random_bool(0.5);
    let good = |reserved| Saying::Fulfil {
        reserved,
        fulfilment: own.fulfilment.clone(),
        completed: None,
    };
    let wrong = |rng: &mut SmallRng, reserved| Saying::Fulfil {
        reserved,
        fulfilment: secret(rng).1,
        completed: None,
    };
    let decline = |rng: &mut SmallRng| Saying::Reject {
        code: ["5104", "5105", "5200"][rng.random_range(0..3)].into(),
    };
    let kind = kind(draw);
    let saying = match kind {
        "plain" => good(false),
        "reserved" => good(true),
        "declined" => decline(rng),
        "wrong fulfilment" => wrong(rng, half),
        "late" if rng.random_bool(0.2) => decline(rng),
        _ => good(half),
    };
    let mut then = Vec::new();
    if rng.random_bool(0.2) {
        then.push((rng.random_range(0..2_000), saying.clone()));
    }
    if rng.random_bool(0.1) {
        let other = match &saying {
            Saying::Reject { .. } if half => good(false),
            Saying::Fulfil { .. } if half => decline(rng),
            _ => wrong(rng, false),
        };
        then.push((rng.random_range(0..2_000), other));
    }
    Reaction {
        after: (kind != "never").then(|| rng.random_range(0..1_500)),
        is_late: kind == "late",
        saying,
        then,
        says_when: rng.random_bool(0.5),
    }
}

/// What else happens: repeats, other requests with its id, strangers, questions.
fn around(rng: &mut SmallRng, plan: &mut Plan, own: &Agreement, within: u64) {
    let prepare = plan.prepare.clone();
    let (payer, payee) = (prepare.payer.clone(), prepare.payee.clone());
    let stranger = [OTHER, POOR, PAYER]
        .into_iter()
        .find(|fsp| *fsp != payer && *fsp != payee);
    let stranger = stranger.unwrap_or(OTHER);
    if plan.kind == "in another's name" {
        plan.asker = stranger.to_owned();
    }
    let mut say = |rng: &mut SmallRng, fsp: &str, saying: Saying, destination: Option<&str>| {
        let draft = Draft {
            fsp: fsp.to_owned(),
            subject: prepare.transfer_id.clone(),
            saying,
            destination: destination.map(str::to_owned),
            spacious: rng.random_bool(0.5),
        };
        let at = plan.starts + rng.random_range(0..within);
        plan.around.push((at.saturating_sub(20), draft));
    };
    let sender = plan.asker.clone();
    let sender = sender.as_str();
    while rng.random_bool(0.25) {
        say(rng, sender, Saying::Prepare(prepare.clone()), None);
    }
    if rng.random_bool(0.08) {
        let mut other = prepare.clone();
        other.note = Some("not what I said before".into());
        say(rng, sender, Saying::Prepare(other), None);
    }
    if rng.random_bool(0.04) {
        let mut own = prepare.clone();
        own.payer = stranger.into();
        say(rng, stranger, Saying::Prepare(own), None);
    }
    let fulfil = |reserved| Saying::Fulfil {
        reserved,
        fulfilment: own.fulfilment.clone(),
        completed: None,
    };
    if rng.random_bool(0.1) {
        let reserved = rng.random_bool(0.3);
        say(rng, stranger, fulfil(reserved), None);
    }
    if rng.random_bool(0.05) {
        let code = "5104".to_owned();
        say(rng, stranger, Saying::Reject { code }, None);
    }
    if rng.random_bool(0.03) && payee != NOBODY {
        let saying = if rng.random_bool(0.3) {
            let code = "5104".to_owned();
            Saying::Reject { code }
        } else {
            fulfil(false)
        };
        say(rng, &payee, saying, Some(stranger));
    }
    // A payee FSP that knows of the transfer before it was asked.
    if rng.random_bool(0.03) && payee != NOBODY {
        say(rng, &payee, fulfil(false), None);
    }
    for fsp in [payer.as_str(), payee.as_str(), stranger] {
        while fsp != NOBODY && fsp != GHOST && rng.random_bool(0.25) {
            say(rng, fsp, Saying::Query, None);
        }
    }
}
