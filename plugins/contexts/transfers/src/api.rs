//! The operations on transfers for operators, over HTTP. The host has validated each request by `openapi.yaml`
//! before.

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::endings::{self, ENDINGS, Ending, Standing, Verdict, known};
use crate::index::{self, Entry, Span};
use crate::surroundings::Surroundings;
use crate::sweep::sweep;
use crate::transfer::Transfer;
use crate::views;
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::documents::Store;
use rialto_sdk::money::minor_units;
use rialto_sdk::operators::idempotency::{Sent, once};
use rialto_sdk::operators::{Amount, Answer, Caller, Kind, Paging, Problem, Role, parameter};
use rialto_sdk::scheme::Scheme;
use serde::Deserialize;

/// How far back a search goes by default, in milliseconds.
const BACK: u64 = 60 * 60 * 1000;
/// The most entries that a request reads.
const LOOKED_AT_MAX: u32 = 1000;
/// The same for a search that asks for each transfer's agreement.
const LOOKED_AT_WITH_PARTY_MAX: u32 = 200;

/// Answer a request that fits the document.
pub fn answer<W: Surroundings + Store>(
    world: &mut W,
    scheme: &Scheme,
    caller: &Caller,
    request: &Request,
) -> Answer {
    let answered = match request.operation_id.as_str() {
        "listTransfers" => caller
            .needs(Role::Reader)
            .and_then(|()| list(world, scheme, &request.query_parameters)),
        "getTransfer" => caller
            .needs(Role::Reader)
            .and_then(|()| look(world, id(request))),
        "listPendingTransferEndings" => caller
            .needs(Role::Reader)
            .and_then(|()| pending(world, &request.query_parameters)),
        _ => change(world, caller, request),
    };
    answered.unwrap_or_else(|problem| problem.answer())
}

fn list<W: Surroundings + Store>(
    world: &mut W,
    scheme: &Scheme,
    query: &[(String, String)],
) -> Result<Answer, Problem> {
    let wanted = Wanted::of(query, scheme)?;
    let looked_at_max = match wanted.party {
        Some(_) => LOOKED_AT_WITH_PARTY_MAX,
        None => LOOKED_AT_MAX,
    };
    let span = span(query, world.now(), looked_at_max)?;
    let page = index::page(world, &Paging::of(query)?, span, |world, payer, entry| {
        if !wanted.fits_entry(payer, entry) {
            return None;
        }
        let transfer = world.read_transfer(&entry.transfer_id)?;
        let fits = wanted.fits(&transfer) && wanted.fits_party(world, &transfer);
        fits.then(|| views::summary(&transfer))
    })?;
    Ok(Answer::json(200, &page))
}

fn look<W: Surroundings + Store>(world: &mut W, id: &str) -> Result<Answer, Problem> {
    let transfer = known(world.read_transfer(id), id)?;
    let ending = ENDINGS.within(world).get(id);
    Ok(Answer::json(200, &views::whole(&transfer, ending.as_ref())))
}

fn pending<W: Surroundings + Store>(
    world: &mut W,
    query: &[(String, String)],
) -> Result<Answer, Problem> {
    let is_pending = |ending: &Ending| ending.state == Standing::Pending;
    let page = Paging::of(query)?.fill(world, &ENDINGS, "", |_, _, ending: Ending| {
        Some(ending).filter(is_pending)
    })?;
    Ok(Answer::json(200, &page))
}

#[derive(Debug, Deserialize)]
struct Reason {
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Decision {
    decision: Verdict,
    #[serde(default)]
    note: Option<String>,
}

fn change<W: Surroundings + Store>(
    world: &mut W,
    caller: &Caller,
    request: &Request,
) -> Result<Answer, Problem> {
    caller.needs(match request.operation_id.as_str() {
        "decideTransferEnding" => Role::Checker,
        _ => Role::Maker,
    })?;
    let sent = Sent {
        caller,
        method: &request.method,
        path: &request.path,
        headers: &request.headers,
        body: request.body.as_deref(),
        now: world.now(),
    };
    match request.operation_id.as_str() {
        "endTransfer" => once(world, &sent, |world| {
            let asked: Reason = body(request)?;
            let ending = endings::ask(world, caller, id(request), &asked.reason)?;
            Ok(Answer::json(202, &ending))
        }),
        "decideTransferEnding" => once(world, &sent, |world| {
            let said: Decision = body(request)?;
            let said = (said.decision, said.note);
            let ending = endings::decide(world, caller, id(request), said)?;
            Ok(Answer::json(200, &ending))
        }),
        "sweepTransfers" => {
            let query = &request.query_parameters;
            let span = span(query, world.now(), LOOKED_AT_MAX)?;
            let swept = sweep(world, Paging::of(query)?, span)?;
            Ok(Answer::json(200, &swept))
        }
        other => Err(Problem::new(
            Kind::NotFound,
            format!("there is no operation {other:?}"),
        )),
    }
}

/// The filters of a search.
struct Wanted<'a> {
    participant: Option<&'a str>,
    state: Option<&'a str>,
    currency: Option<&'a str>,
    at_least: Option<Money>,
    at_most: Option<Money>,
    /// `MSISDN/123`
    party: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    fn of(query: &'a [(String, String)], scheme: &Scheme) -> Result<Self, Problem> {
        let currency = parameter(query, "currency");
        let amount = |name: &str| {
            let Some(amount) = parameter(query, name) else {
                return Ok(None);
            };
            let Some(currency) = currency else {
                let detail = format!("`{name}` needs `currency`");
                return Err(Problem::new(Kind::Malformed, detail));
            };
            let amount = Amount {
                currency: currency.to_owned(),
                amount: amount.to_owned(),
            };
            amount.money(scheme).map(Some)
        };
        Ok(Self {
            participant: parameter(query, "participant"),
            state: parameter(query, "state"),
            currency,
            at_least: amount("amountAtLeast")?,
            at_most: amount("amountAtMost")?,
            party: parameter(query, "party"),
        })
    }

    fn fits_entry(&self, payer: &str, entry: &Entry) -> bool {
        let is_in = |fsp: &str| payer == fsp || entry.payee == fsp;
        self.participant.is_none_or(is_in)
    }

    fn fits(&self, transfer: &Transfer) -> bool {
        let amount = minor_units(&transfer.amount);
        let is_of = |currency: &str| transfer.amount.currency == currency;
        self.state
            .is_none_or(|state| transfer.state.name() == state)
            && self.currency.is_none_or(is_of)
            && self
                .at_least
                .as_ref()
                .is_none_or(|least| amount >= minor_units(least))
            && self
                .at_most
                .as_ref()
                .is_none_or(|most| amount <= minor_units(most))
    }

    /// The parties are those of the agreement. A transfer without an agreement, or in an archive, has none.
    fn fits_party(&self, world: &mut impl Surroundings, transfer: &Transfer) -> bool {
        let Some(party) = self.party else {
            return true;
        };
        if transfer.condition.is_empty() {
            return false;
        }
        let Some(agreement) = world.agreement(&transfer.condition) else {
            return false;
        };
        let request = agreement.agreement.request;
        [request.payer, request.payee].iter().any(|one| {
            party.split_once('/') == Some((one.id_type.as_str(), one.identifier.as_str()))
        })
    }
}

/// The time span of a query: by default the last hour.
fn span(query: &[(String, String)], now: u64, looked_at_max: u32) -> Result<Span, Problem> {
    let instant = |name: &str| {
        let read = parameter(query, name).map(str::parse::<u64>).transpose();
        read.map_err(|_| {
            let detail = format!("`{name}` must be a time in milliseconds since 1970");
            Problem::new(Kind::Malformed, detail)
        })
    };
    // The default end is the same on each page.
    let goes_on = parameter(query, "cursor").map(|_| 0);
    let part = (instant("from")?.or(goes_on), instant("to")?);
    Ok(Span::of(part, (BACK, now), looked_at_max))
}

fn body<T: for<'de> Deserialize<'de>>(request: &Request) -> Result<T, Problem> {
    let text = request.body.as_deref().unwrap_or_default();
    serde_json::from_str(text)
        .map_err(|error| Problem::new(Kind::Malformed, format!("body: {error}")))
}

fn id(request: &Request) -> &str {
    parameter(&request.path_parameters, "id").unwrap_or_default()
}
