//! The setup for tests of requests: each kind of request, and operators in a fake world with an approved
//! participant.

use super::super::fake::Fake;
use super::FSP;
use crate::api;
use crate::bindings::exports::rialto::host::http_handler::Request as HttpRequest;
use crate::participants::{PARTICIPANTS, Participant, State};
use crate::requests::Kind;
use crate::world::Event;
use rialto_sdk::operators::{Answer, Caller};
use serde_json::{Value, json};

/// A kind of request: its operation, and a change of its target.
pub(super) struct Way {
    pub(super) kind: Kind,
    pub(super) submit: &'static str,
    pub(super) approve: &'static str,
    pub(super) account: Option<&'static str>,
    pub(super) body: Value,
    /// Changes the participant so that the request's target differs; none if that is not possible.
    pub(super) meddle: Option<fn(&mut Participant)>,
}

pub(super) fn ways() -> Vec<Way> {
    let way = |kind, submit, approve, account, body, meddle| Way {
        kind,
        submit,
        approve,
        account,
        body,
        meddle,
    };
    let amount = |amount: &str| json!({ "currency": "USD", "amount": amount });
    let limit = json!({ "limit": { "type": "NET_DEBIT_CAP", "value": amount("700") } });
    let account: Option<&'static str> = Some("USD");
    vec![
        way(
            Kind::Funds,
            "ManageFunds",
            "ApproveManageFunds",
            None,
            json!({ "type": "DEPOSIT", "accountId": "USD", "amount": amount("10.50") }),
            None,
        ),
        way(
            Kind::LiquidityCover,
            "ReserveLiquidityCover",
            "ApproveLiquidityCoverReservation",
            None,
            json!({ "accountId": "USD", "percentage": "12.5" }),
            None,
        ),
        way(
            Kind::State,
            "UpdateParticipantState",
            "ApproveParticipantStateUpdate",
            None,
            json!({ "state": "DISABLED" }),
            Some(|participant| participant.state = State::Disabled),
        ),
        way(
            Kind::Account,
            "AddParticipantAccount",
            "ApproveParticipantAccount",
            None,
            json!({ "currency": "TZS", "name": "Shillings" }),
            None,
        ),
        way(
            Kind::AccountStatus,
            "UpdateAccountStatus",
            "ApproveAccountStatusUpdate",
            account,
            json!({ "status": "DISABLED" }),
            Some(|participant| participant.accounts[0].enabled = false),
        ),
        way(
            Kind::AccountLimit,
            "UpdateAccountLimit",
            "ApproveAccountLimitUpdate",
            account,
            limit,
            Some(|participant| participant.accounts[0].net_debit_cap = None),
        ),
        way(
            Kind::AccountThreshold,
            "UpdateAccountThreshold",
            "ApproveAccountThresholdUpdate",
            account,
            json!({ "threshold": amount("50") }),
            Some(|participant| participant.accounts[0].liquidity_threshold = None),
        ),
        way(
            Kind::SourceAddresses,
            "UpdateSourceAddresses",
            "ApproveSourceAddressesUpdate",
            None,
            json!({ "sourceAddresses": ["192.0.2.7", "2001:db8::/32"] }),
            Some(|participant| participant.source_addresses = Some(Vec::new())),
        ),
        way(
            Kind::Certificate,
            "OrderCertificate",
            "ApproveCertificate",
            None,
            json!({ "certificateRequest": "a good request" }),
            Some(|participant| participant.last_certificate = Some("99".to_owned())),
        ),
        way(
            Kind::Endpoints,
            "UpdateEndpoints",
            "ApproveEndpointsUpdate",
            None,
            json!({ "endpoints": [{ "type": "FSPIOP", "value": "http://new.example/" }] }),
            Some(|participant| participant.callback_base_url = "http://other".to_owned()),
        ),
    ]
}

/// What operators do, over a fake world.
pub(super) struct Office {
    pub(super) world: Fake,
}

impl Office {
    /// With a participant that has 1000 USD, a cap of 500 and a threshold of 20.
    pub(super) fn new() -> Self {
        Self::with(r#"{"endpointHealthPath":""}"#)
    }

    pub(super) fn with(settings: &str) -> Self {
        let mut office = Self {
            world: Fake::with(settings),
        };
        let applied = office.apply("anna");
        assert_eq!(applied.status, 201, "{applied:?}");
        if office.participant().state == State::PendApproval {
            let let_in = office.decide("ben", "ApproveParticipant", None, None, "APPROVE");
            assert_eq!(let_in.status, 200, "{let_in:?}");
        }
        let book = office.world.book(FSP, "USD");
        (book.liquidity, book.settled) = (100_000, 100_000);
        office
    }

    pub(super) fn apply(&mut self, who: &str) -> Answer {
        let value = |amount: &str| json!({ "currency": "USD", "amount": amount });
        let body = json!({
            "id": FSP, "name": "Green Bank", "type": "DFSP", "reason": "it asked to",
            "endpoints": [{ "type": "FSPIOP", "value": "http://green.example/" }],
            "accounts": [{
                "currency": "USD",
                "limit": { "type": "NET_DEBIT_CAP", "value": value("500") },
                "threshold": value("20"),
            }],
        });
        self.post(who, "CreateParticipant", &[], &body, &[])
    }

    pub(super) fn participant(&mut self) -> Participant {
        let found = PARTICIPANTS.within(&mut self.world).get(FSP);
        found.expect("the participant")
    }

    pub(super) fn post(
        &mut self,
        who: &str,
        operation: &str,
        parameters: &[(&str, &str)],
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.post_as(&caller(who), operation, parameters, body, headers)
    }

    pub(super) fn post_as(
        &mut self,
        caller: &Caller,
        operation: &str,
        parameters: &[(&str, &str)],
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        let request = HttpRequest {
            operation_id: operation.to_owned(),
            method: "POST".to_owned(),
            path: format!("/{operation}/{parameters:?}"),
            path_parameters: owned(parameters),
            query_parameters: Vec::new(),
            headers: owned(headers),
            body: Some(body.to_string()),
            caller: None,
        };
        api::answer(&mut self.world, caller, &request)
    }

    pub(super) fn submit(&mut self, way: &Way, who: &str, headers: &[(&str, &str)]) -> Answer {
        let mut body = way.body.clone();
        body["reason"] = json!("why not");
        let mut parameters = vec![("id", FSP)];
        parameters.extend(way.account.map(|account| ("accountId", account)));
        self.post(who, way.submit, &parameters, &body, headers)
    }

    pub(super) fn decide(
        &mut self,
        who: &str,
        operation: &str,
        account: Option<&str>,
        request: Option<&str>,
        decision: &str,
    ) -> Answer {
        let mut parameters = vec![("id", FSP)];
        parameters.extend(account.map(|account| ("accountId", account)));
        parameters.extend(request.map(|request| ("requestId", request)));
        let body = json!({ "decision": decision, "note": "seen" });
        self.post(who, operation, &parameters, &body, &[])
    }

    pub(super) fn asked(&mut self, way: &Way) -> String {
        let answer = self.submit(way, "anna", &[]);
        assert_eq!(answer.status, 201, "{answer:?}");
        let said = body(&answer);
        assert_eq!(said["state"], "PENDING");
        assert_eq!(said["kind"], way.kind.name());
        said["id"].as_str().unwrap().to_owned()
    }

    pub(super) fn approve(&mut self, way: &Way, who: &str, id: &str, decision: &str) -> Answer {
        self.decide(who, way.approve, way.account, Some(id), decision)
    }

    pub(super) fn get(&mut self, operation: &str, query: &[(&str, &str)]) -> Value {
        let answer = self.look(operation, &[("id", FSP)], query, &[]);
        assert_eq!(answer.status, 200, "{answer:?}");
        body(&answer)
    }

    pub(super) fn look(
        &mut self,
        operation: &str,
        parameters: &[(&str, &str)],
        query: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Answer {
        let request = HttpRequest {
            operation_id: operation.to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            path_parameters: owned(parameters),
            query_parameters: owned(query),
            headers: owned(headers),
            body: None,
            caller: None,
        };
        api::answer(&mut self.world, &caller("anna"), &request)
    }

    /// Refused with this, and nothing is other than before.
    pub(super) fn refused(
        &mut self,
        what: &str,
        kind: &str,
        act: impl FnOnce(&mut Self) -> Answer,
    ) {
        let before = self.world.clone();
        let answer = act(self);
        let said = body(&answer);
        let expected = format!("urn:rialto:problem:{kind}");
        assert_eq!(said["type"], expected, "{what}: {answer:?}");
        assert_eq!(self.world.store, before.store, "{what}");
        assert_eq!(self.world.ledger, before.ledger, "{what}");
        assert_eq!(self.world.published, before.published, "{what}");
        assert_eq!(self.world.sent, before.sent, "{what}");
    }

    pub(super) fn notices(&self) -> Vec<String> {
        let told = self.world.published.iter().filter_map(|event| match event {
            Event::Notice(notice) => Some(format!("{:?} {}", notice.audience, notice.state)),
            _ => None,
        });
        told.collect()
    }
}

pub(super) fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

pub(super) fn caller(name: &str) -> Caller {
    let roles: &[&str] = match name {
        "anna" => &["reader", "maker", "checker"],
        "ben" => &["maker", "checker"],
        "mia" => &["maker"],
        "carl" => &["checker"],
        _ => &[],
    };
    Caller {
        name: name.to_owned(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
    }
}

pub(super) fn body(answer: &Answer) -> Value {
    serde_json::from_str(answer.body.as_deref().unwrap_or("null")).unwrap()
}
