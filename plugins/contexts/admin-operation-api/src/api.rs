//! Which operation does what, and the two about a participant's accounts. The host has validated each request by
//! `openapi.yaml` before.

use crate::applications::{self, Applications};
use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::accounts_and_balances::types::{LedgerAccountType, LedgerError};
use crate::bindings::rialto::participant_lifecycle_management::{
    get_liquidity_cover_history as cover_history, get_reservations as reservations,
};
use crate::views::{Posting, Reservation};
use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Answer, Caller, Kind, Paging, Problem, Role, parameter};

/// The source of answers: Participant Lifecycle Management, or a test.
pub trait Lifecycle {
    /// The entries of one of a participant's accounts, newest first.
    ///
    /// # Errors
    /// As the ledger says.
    fn history(
        &mut self,
        request: &cover_history::Request,
    ) -> Result<Option<cover_history::Response>, LedgerError>;
    /// The reservations of a participant; none if the id is unknown.
    fn reservations(&mut self, participant: &str) -> Option<Vec<reservations::Reservation>>;
}

/// Answers a request of an operator.
pub fn answer<W: Lifecycle + Applications>(
    world: &mut W,
    caller: &Caller,
    request: &Request,
) -> Answer {
    let answered = match request.operation_id.as_str() {
        "GetLiquidityCoverHistory" | "GetReservations" => looked(world, caller, request),
        _ => applications::answer(world, caller, request),
    };
    answered.unwrap_or_else(|problem| problem.answer())
}

fn looked(
    lifecycle: &mut dyn Lifecycle,
    caller: &Caller,
    request: &Request,
) -> Result<Answer, Problem> {
    caller.needs(Role::Reader).and_then(|()| {
        let participant = parameter(&request.path_parameters, "id").unwrap_or_default();
        match request.operation_id.as_str() {
            "GetLiquidityCoverHistory" => {
                history(lifecycle, participant, &request.query_parameters)
            }
            _ => reserved(lifecycle, participant),
        }
    })
}

fn history(
    lifecycle: &mut dyn Lifecycle,
    participant: &str,
    query: &[(String, String)],
) -> Result<Answer, Problem> {
    let Paging { cursor, limit } = Paging::of(query)?;
    let currency = parameter(query, "accountId").unwrap_or_default();
    let request = cover_history::Request {
        participant: participant.to_owned(),
        currency: currency.to_owned(),
        ledger_account: account_type(parameter(query, "ledgerAccount"))?,
        from: instant(query, "from")?,
        to: instant(query, "to")?,
        cursor,
        limit,
        settlement_model: parameter(query, "settlementModel").map(str::to_owned),
    };
    let page = lifecycle.history(&request).map_err(refused)?;
    let page = page.ok_or_else(|| {
        let model = request.settlement_model.as_deref();
        let of_model = model.map_or_else(String::new, |model| format!(" of model {model}"));
        let detail =
            format!("there is no participant {participant} with an account {currency}{of_model}");
        Problem::new(Kind::AccountUnknown, detail)
    })?;
    let items = page.postings.iter().map(Posting::from).collect();
    Ok(Answer::json(
        200,
        &Items {
            items,
            next_cursor: page.cursor,
        },
    ))
}

fn reserved(lifecycle: &mut dyn Lifecycle, participant: &str) -> Result<Answer, Problem> {
    let reservations = lifecycle.reservations(participant).ok_or_else(|| {
        let detail = format!("there is no participant {participant}");
        Problem::new(Kind::ParticipantUnknown, detail)
    })?;
    let items: Vec<_> = reservations.iter().map(Reservation::from).collect();
    Ok(Answer::json(
        200,
        &Items {
            items,
            next_cursor: None,
        },
    ))
}

fn account_type(named: Option<&str>) -> Result<LedgerAccountType, Problem> {
    Ok(match named.unwrap_or("LIQUIDITY") {
        "LIQUIDITY" => LedgerAccountType::Liquidity,
        "POSITION" => LedgerAccountType::Position,
        "LIQUIDITY_COVER" => LedgerAccountType::LiquidityCover,
        "SETTLEMENT" => LedgerAccountType::Settlement,
        "SETTLEMENT_RESERVED" => LedgerAccountType::SettlementReserved,
        other => {
            let detail = format!("`{other}` is not a type of a participant's ledger accounts");
            return Err(Problem::new(Kind::Malformed, detail));
        }
    })
}

fn instant(query: &[(String, String)], name: &str) -> Result<Option<u64>, Problem> {
    let read = parameter(query, name).map(str::parse).transpose();
    read.map_err(|_| {
        let detail = format!("`{name}` must be a time in milliseconds since 1970");
        Problem::new(Kind::Malformed, detail)
    })
}

/// A reader's mistake: an unopened account, or a cursor of another list.
fn refused(error: LedgerError) -> Problem {
    match error {
        LedgerError::UnknownAccount(id) => {
            let detail = format!("the ledger has no account {id}");
            Problem::new(Kind::AccountUnknown, detail)
        }
        LedgerError::Malformed(detail) => Problem::new(Kind::Malformed, detail),
        other => panic!("the ledger refused the query: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::rialto::accounts_and_balances::types::{
        AccountPosition, Balances, Posting as LedgerPosting,
    };
    use crate::bindings::rialto::security_authn::{
        get_applications, register_application,
        types::{Application, ApplicationError},
    };
    use rialto_sdk::money::money;
    use serde_json::{Value, json};

    #[derive(Default)]
    struct Fake {
        asked: Vec<cover_history::Request>,
        refuses: Option<LedgerError>,
    }

    /// These tests are about accounts.
    impl Applications for Fake {
        fn is_participant(&mut self, _: &str) -> bool {
            unreachable!()
        }
        fn register(
            &mut self,
            _: &register_application::Request,
        ) -> Result<register_application::Registered, ApplicationError> {
            unreachable!()
        }
        fn decide(&mut self, _: &str, _: &str, _: bool) -> Result<Application, ApplicationError> {
            unreachable!()
        }
        fn revoke(&mut self, _: &str, _: &str) -> Result<Application, ApplicationError> {
            unreachable!()
        }
        fn page(&mut self, _: Option<&str>, _: u32) -> get_applications::Page {
            unreachable!()
        }
    }

    impl Lifecycle for Fake {
        fn history(
            &mut self,
            request: &cover_history::Request,
        ) -> Result<Option<cover_history::Response>, LedgerError> {
            self.asked.push(request.clone());
            if let Some(error) = self.refuses.take() {
                return Err(error);
            }
            let posting = LedgerPosting {
                journal_entry_id: "j".to_owned(),
                entry_id: "e".to_owned(),
                entry_type: "DEPOSIT_LIQUIDITY".to_owned(),
                debit_account: "G".to_owned(),
                credit_account: "L".to_owned(),
                amount: money("USD", 2, 150),
                balances_after: Some(Balances {
                    debit_balance: money("USD", 2, 50),
                    credit_balance: money("USD", 2, 1050),
                }),
                correlation_id: "r".to_owned(),
                posted_at: 7,
            };
            let page = cover_history::Response {
                postings: vec![posting],
                cursor: Some("next".to_owned()),
            };
            Ok((request.participant == "green").then_some(page))
        }

        fn reservations(&mut self, participant: &str) -> Option<Vec<reservations::Reservation>> {
            let position = |units| AccountPosition {
                account_id: "a".to_owned(),
                debit_balance: money("USD", 2, 0),
                credit_balance: money("USD", 2, units),
                available: money("USD", 2, units),
                threshold: None,
            };
            let one = reservations::Reservation {
                currency: "USD".to_owned(),
                liquidity_cover: position(20_000),
                since: Some(9),
                request_id: Some("r".to_owned()),
                position: position(300),
            };
            (participant == "green").then(|| vec![one])
        }
    }

    fn ask(
        fake: &mut Fake,
        who: &[&str],
        operation: &str,
        id: &str,
        query: &[(&str, &str)],
    ) -> (u16, Value) {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let request = Request {
            operation_id: operation.to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            path_parameters: vec![("id".to_owned(), id.to_owned())],
            query_parameters: query.iter().map(owned).collect(),
            headers: Vec::new(),
            body: None,
            caller: None,
        };
        let caller = Caller {
            name: "anna".to_owned(),
            roles: who.iter().map(|role| (*role).to_owned()).collect(),
        };
        let answer = answer(fake, &caller, &request);
        let body = answer.body.as_deref().unwrap_or("null");
        (answer.status, serde_json::from_str(body).unwrap())
    }

    const READER: &[&str] = &["reader"];

    #[test]
    fn a_history_is_shown_with_the_balance_after_each_entry() {
        let mut fake = Fake::default();
        let query = [
            ("accountId", "USD"),
            ("from", "5"),
            ("limit", "3"),
            ("cursor", "c"),
            ("settlementModel", "GROSS"),
        ];
        let (status, said) = ask(
            &mut fake,
            READER,
            "GetLiquidityCoverHistory",
            "green",
            &query,
        );
        let expected = json!({ "items": [{
            "journalEntryId": "j", "entryId": "e", "type": "DEPOSIT_LIQUIDITY",
            "debitAccount": "G", "creditAccount": "L",
            "amount": { "currency": "USD", "amount": "1.5" },
            "balancesAfter": {
                "debit": { "currency": "USD", "amount": "0.5" },
                "credit": { "currency": "USD", "amount": "10.5" },
            },
            "cause": "r", "postedAt": 7,
        }], "nextCursor": "next" });
        assert_eq!((status, said), (200, expected));
        let asked = &fake.asked[0];
        assert_eq!(asked.ledger_account, LedgerAccountType::Liquidity);
        assert_eq!((asked.from, asked.to, asked.limit), (Some(5), None, 3));
        assert_eq!(asked.cursor.as_deref(), Some("c"));
        assert_eq!(asked.settlement_model.as_deref(), Some("GROSS"));
    }

    #[test]
    fn reservations_are_shown_with_the_request_that_made_them() {
        let (status, said) = ask(
            &mut Fake::default(),
            READER,
            "GetReservations",
            "green",
            &[],
        );
        let expected = json!({ "items": [{
            "accountId": "USD",
            "liquidityCover": { "currency": "USD", "amount": "200" },
            "since": 9, "request": "r",
            "transfersInFlight": { "currency": "USD", "amount": "3" },
        }] });
        assert_eq!((status, said), (200, expected));
    }

    #[test]
    fn what_cannot_be_shown_is_refused_with_its_kind() {
        let kind =
            |(status, said): (u16, Value)| (status, said["type"].as_str().map(str::to_owned));
        let problem = |status, name: &str| (status, Some(format!("urn:rialto:problem:{name}")));
        let mut fake = Fake::default();
        let history = "GetLiquidityCoverHistory";
        let usd = [("accountId", "USD")];
        assert_eq!(
            kind(ask(&mut fake, &["maker"], history, "green", &usd)),
            problem(403, "role-missing")
        );
        assert!(fake.asked.is_empty());
        assert_eq!(
            kind(ask(&mut fake, READER, history, "red", &usd)),
            problem(404, "account-unknown")
        );
        assert_eq!(
            kind(ask(&mut fake, READER, "GetReservations", "red", &[])),
            problem(404, "participant-unknown")
        );
        fake.refuses = Some(LedgerError::Malformed("the cursor".to_owned()));
        assert_eq!(
            kind(ask(&mut fake, READER, history, "green", &usd)),
            problem(400, "malformed")
        );
        fake.refuses = Some(LedgerError::UnknownAccount("green:USD".to_owned()));
        assert_eq!(
            kind(ask(&mut fake, READER, history, "green", &usd)),
            problem(404, "account-unknown")
        );
        for wrong in [
            ("ledgerAccount", "HUB_RECONCILIATION"),
            ("from", "x"),
            ("limit", "0"),
        ] {
            let said = ask(
                &mut fake,
                READER,
                history,
                "green",
                &[("accountId", "USD"), wrong],
            );
            assert_eq!(kind(said), problem(400, "malformed"), "{wrong:?}");
        }
    }
}
