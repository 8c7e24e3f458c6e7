//! Surroundings in memory, and short words for messages.

use crate::agreement_use::AgreementUse;
use crate::bindings::exports::rialto::fsp_interop_api::{
    transfer_fulfil_committed_requested as fulfil_requested,
    transfer_query_received as query_received, transfer_reject_requested as reject_requested,
};
use crate::bindings::exports::rialto::scheduling::schedule_reminder_elapsed as elapsed;
use crate::bindings::exports::rialto::settlements::transfer_prepare_accounts_allocated as allocated;
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountPosition, LedgerError, SettlementTiming,
};
use crate::bindings::rialto::accounts_and_balances::{
    process_transfer_fulfil as ledger_fulfil, process_transfer_prepare as ledger_prepare,
};
use crate::bindings::rialto::participant_lifecycle_management::get_participants_transfers_data::ParticipantTransfersData;
use crate::bindings::rialto::participant_lifecycle_management::liquidity_threshold_exceeded as threshold_exceeded;
use crate::bindings::rialto::participant_lifecycle_management::types::ParticipantState;
use crate::bindings::rialto::quoting::get_agreement::Agreed;
use crate::bindings::rialto::scheduling::get_earlier_work::EarlierWork;
use crate::bindings::rialto::transfers::types::FulfilMode;
use crate::bindings::{transfer_fulfil_check, transfer_prepare_check};
use crate::counters::{COUNTERS, Document};
use crate::index;
use crate::query::{self, Question};
use crate::settings::Settings;
use crate::surroundings::{Publication, Surroundings};
use crate::transfer::{AgreedRules, State, Transfer};
use rialto_sdk::auditing::Audited;
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message, PartyId};
use rialto_sdk::bindings::rialto::rules::types::{self as rules, Agreement, Verdict, Violation};
use rialto_sdk::counters::{Counted, Counter};
use rialto_sdk::documents::Memory;
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;
use rialto_sdk::money::{minor_units, money};
use std::collections::BTreeMap;

/// The vector of the FSPIOP specification.
pub const FULFILMENT: &str = "mhPUT9ZAwd-BXLfeSd7-YPh46rBWRNBiTCSWjpku90s";
pub const CONDITION: &str = "fH9pAYDQbmoZLPbvv3CSW2RfjU4jvM4ApG_fqGnR7Xs";

pub const PAYER: &str = "payerfsp";
pub const PAYEE: &str = "payeefsp";
pub const EXPIRATION: u64 = 1000;
/// Under which rules the quote was agreed.
pub const RELEASE: u64 = 3;
pub const AGREED_AT: u64 = 7;

/// The ledger's operations for one transfer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Legs {
    pub prepared: u32,
    pub fulfilled: u32,
    pub released: u32,
}

/// Surroundings that remember everything.
#[derive(Debug, Default)]
pub struct Fake {
    pub now: u64,
    pub transfers: BTreeMap<String, Transfer>,
    pub reminders: BTreeMap<String, u64>,
    /// What about each transfer was taken at an instant and is not handled.
    pub earlier: BTreeMap<String, (u64, EarlierWork)>,
    /// The subjects of the turn.
    pub about: Vec<String>,
    /// Reminders of queries that have found nothing.
    pub questions: Vec<elapsed::Event>,
    pub legs: BTreeMap<String, Legs>,
    pub published: Vec<Publication>,
    /// Documents of operators, and the index by time.
    pub store: Memory,
    /// Whether the ledger does not give funds back.
    pub release_fails: bool,
    pub log: Vec<String>,
    pub audited: Vec<Audited>,
    /// The ledger's refusal of the next reservation, if any.
    pub ledger_refuses: Option<LedgerError>,
    /// The rules' refusal, if any.
    pub rules_refuse: Option<Vec<Violation>>,
    /// Participants that exist but may not transact.
    pub barred: Vec<&'static str>,
    /// Participants whose account is disabled.
    pub disabled: Vec<&'static str>,
    pub asked_agreement: Vec<String>,
    /// By which rules each question was to be judged.
    pub judged_by: Vec<Option<AgreedRules>>,
    /// The counters that the rules need.
    pub counters: Vec<Counter>,
    /// The counts of each question to the rules.
    pub counts: Vec<Vec<Counted>>,
    /// The agreement, if any.
    pub agreement: Option<Agreement>,
    pub agreement_uses: BTreeMap<String, AgreementUse>,
    pub settings: Settings,
    /// The available amount after a reservation, and the threshold, in minor units.
    pub liquidity_after: Option<(u128, u128)>,
    pub thresholds_exceeded: Vec<threshold_exceeded::Request>,
}

pub fn position(account: &str) -> AccountPosition {
    AccountPosition {
        account_id: account.to_owned(),
        debit_balance: money("USD", 2, 1),
        credit_balance: money("USD", 2, 2),
        available: money("USD", 2, 1),
        threshold: None,
    }
}

impl Surroundings for Fake {
    fn now(&self) -> u64 {
        self.now
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn transfer(&mut self, id: &str) -> Option<Transfer> {
        self.transfers.get(id).cloned()
    }

    fn read_transfer(&mut self, id: &str) -> Option<Transfer> {
        self.transfers.get(id).cloned()
    }

    fn put_transfer(&mut self, transfer: &Transfer) {
        // A stored document must be read back unchanged.
        let json = serde_json::to_string(transfer).unwrap();
        let read: Transfer = serde_json::from_str(&json).unwrap();
        assert_eq!(&read, transfer);
        self.transfers.insert(transfer.transfer_id.clone(), read);
    }

    fn note(&mut self, transfer: &Transfer, at: u64) {
        index::note(&mut self.store, transfer, at);
    }

    fn agreement_use(&mut self, condition: &str) -> Option<AgreementUse> {
        self.agreement_uses.get(condition).cloned()
    }

    fn put_agreement_use(&mut self, condition: &str, agreement_use: &AgreementUse) {
        let json = serde_json::to_string(agreement_use).unwrap();
        let read: AgreementUse = serde_json::from_str(&json).unwrap();
        self.agreement_uses.insert(condition.to_owned(), read);
    }

    fn participants(&mut self, ids: &[String]) -> Vec<Option<ParticipantTransfersData>> {
        let data = |id: &String| {
            id.ends_with("fsp").then(|| ParticipantTransfersData {
                participant: id.clone(),
                state: ParticipantState::Approved,
                may_transact: !self.barred.contains(&id.as_str()),
                currencies: if self.disabled.contains(&id.as_str()) {
                    vec!["TZS".to_owned()]
                } else {
                    vec!["USD".to_owned()]
                },
            })
        };
        ids.iter().map(data).collect()
    }

    fn agreement(&mut self, condition: &str) -> Option<Agreed> {
        self.asked_agreement.push(condition.to_owned());
        self.agreement.clone().map(|agreement| Agreed {
            agreement,
            release: RELEASE,
            agreed_at: AGREED_AT,
        })
    }

    fn judge_as_agreed(&mut self, rules: Option<AgreedRules>) {
        self.judged_by.push(rules);
    }

    fn counters(&mut self) -> Vec<Counter> {
        self.counters.clone()
    }

    fn counter(&mut self, id: &str) -> Option<Document> {
        COUNTERS.within(&mut self.store).get_for_update(id)
    }

    fn read_counter(&mut self, id: &str) -> Option<Document> {
        COUNTERS.within(&mut self.store).get(id)
    }

    fn put_counter(&mut self, id: &str, document: &Document) {
        COUNTERS.within(&mut self.store).put(id, document);
    }

    fn judge_prepare(&mut self, id: &str, input: &transfer_prepare_check::Input) -> Verdict {
        assert_eq!((id, input.now), (&*input.transfer.transfer_id, self.now));
        self.counts.push(input.counts.clone());
        self.verdict()
    }

    fn judge_fulfil(&mut self, id: &str, input: &transfer_fulfil_check::Input) -> Verdict {
        assert_eq!(id, input.transfer.transfer_id);
        assert!(input.now <= self.now && input.now < input.transfer.expiration);
        self.verdict()
    }

    fn create_reminder(&mut self, id: &str, due: u64) {
        self.reminders.insert(id.to_owned(), due);
    }

    fn ask_again(&mut self, name: &str, question: &Question) {
        self.questions.push(elapsed::Event {
            id: name.to_owned(),
            client: "transfers".to_owned(),
            due: self.now,
            payload: serde_json::to_string(question).unwrap(),
        });
    }

    fn delete_reminder(&mut self, id: &str) -> bool {
        self.reminders.remove(id).is_some()
    }

    fn earlier(&mut self, id: &str, before: u64) -> Option<EarlierWork> {
        let (since, earlier) = self.earlier.get(id)?;
        (*since < before).then(|| earlier.clone())
    }

    fn be_about(&mut self, id: &str) {
        self.about.push(id.to_owned());
    }

    fn ledger_prepare(
        &mut self,
        request: &ledger_prepare::Request,
    ) -> Result<ledger_prepare::Response, LedgerError> {
        if let Some(refusal) = self.ledger_refuses.take() {
            return Err(refusal);
        }
        assert!(minor_units(&request.amount) > 0);
        self.leg(&request.transfer_id, |legs| legs.prepared += 1);
        let mut liquidity = position(&request.debit_account);
        if let Some((available, threshold)) = self.liquidity_after {
            liquidity.available = money("USD", 2, available);
            liquidity.threshold = Some(money("USD", 2, threshold));
        }
        Ok(ledger_prepare::Response {
            liquidity,
            position: position(&request.credit_account),
        })
    }

    fn threshold_exceeded(&mut self, request: &threshold_exceeded::Request) {
        self.thresholds_exceeded.push(request.clone());
    }

    fn ledger_fulfil(
        &mut self,
        request: &ledger_fulfil::Request,
    ) -> Result<ledger_fulfil::Response, LedgerError> {
        self.leg(&request.transfer_id, |legs| legs.fulfilled += 1);
        Ok(ledger_fulfil::Response {
            payer_position: position("payer-P"),
            payee_liquidity: position(&request.credit_account),
        })
    }

    fn ledger_release(&mut self, transfer_id: &str) -> Result<(), LedgerError> {
        if self.release_fails {
            return Err(LedgerError::WrongState("it is FULFILLED".to_owned()));
        }
        self.leg(transfer_id, |legs| legs.released += 1);
        Ok(())
    }

    fn publish(&mut self, publication: Publication) {
        self.published.push(publication);
    }

    fn audit(&mut self, audited: &Audited) {
        self.audited.push(audited.clone());
    }

    fn log(&mut self, _level: Level, line: &str) {
        self.log.push(line.to_owned());
    }
}

rialto_sdk::stores_in!(Fake, this => this.store);

impl Fake {
    fn leg(&mut self, id: &str, count: impl Fn(&mut Legs)) {
        let legs = self.legs.entry(id.to_owned()).or_default();
        count(legs);
        assert!(
            legs.prepared == 1 && legs.fulfilled + legs.released <= 1,
            "{legs:?}"
        );
    }

    fn verdict(&self) -> Verdict {
        self.rules_refuse
            .clone()
            .map_or(Verdict::Allow, Verdict::Refuse)
    }

    /// The only event published since the last call.
    pub fn only(&mut self) -> Publication {
        assert_eq!(self.published.len(), 1, "{:?}", self.published);
        self.published.remove(0)
    }

    /// Fires the reminders of queries, once.
    pub fn remind_of_questions(&mut self) {
        for event in std::mem::take(&mut self.questions) {
            let question = query::of_reminder(&event).unwrap();
            query::ask_again(self, &event.id, question);
        }
    }

    pub fn state(&self, id: &str) -> Option<State> {
        self.transfers.get(id).map(|transfer| transfer.state)
    }

    pub fn legs(&self, id: &str) -> (u32, u32, u32) {
        let legs = self.legs.get(id).copied().unwrap_or_default();
        (legs.prepared, legs.fulfilled, legs.released)
    }
}

pub fn message(method: &str) -> Message {
    Message {
        method: method.to_owned(),
        path: "/transfers".to_owned(),
        headers: "fspiop-source: x\n".to_owned(),
        body: "{}".to_owned(),
    }
}

pub fn request(id: &str) -> allocated::Event {
    let accounts = |fsp: &str, debit: &str, credit: &str| {
        Some(allocated::ParticipantAccounts {
            debit: format!("{fsp}-{debit}"),
            credit: format!("{fsp}-{credit}"),
        })
    };
    allocated::Event {
        transfer_id: id.to_owned(),
        payer_fsp: PAYER.to_owned(),
        payee_fsp: PAYEE.to_owned(),
        requester_fsp: PAYER.to_owned(),
        amount: money("USD", 2, 1050),
        ilp_packet: "AQ".to_owned(),
        condition: CONDITION.to_owned(),
        expiration: EXPIRATION,
        request_hash: "hash-1".to_owned(),
        settlement_model: "DEFERRED_NET".to_owned(),
        settlement: SettlementTiming::Deferred,
        payer_accounts: accounts("payer", "L", "P"),
        payee_accounts: accounts("payee", "P", "L"),
        message: message("POST"),
        answer_version: Some("1.0".to_owned()),
    }
}

/// The agreement of the two FSPs in this quote.
pub fn agreement(quote_id: &str) -> Agreement {
    let party = PartyId {
        id_type: "MSISDN".to_owned(),
        identifier: "1".to_owned(),
        sub_id_or_type: None,
    };
    Agreement {
        request: rules::QuoteRequest {
            quote_id: quote_id.to_owned(),
            transaction_id: "x".to_owned(),
            payer_fsp: PAYER.to_owned(),
            payee_fsp: PAYEE.to_owned(),
            payer: party.clone(),
            payee: party,
            amount_type: rules::AmountType::Send,
            amount: money("USD", 2, 1050),
            fees: None,
            transaction_type: rules::TransactionType {
                scenario: rules::Scenario::Transfer,
                sub_scenario: None,
                initiator: rules::Initiator::Payer,
                initiator_type: rules::InitiatorType::Consumer,
            },
            expiration: None,
        },
        response: rules::QuoteResponse {
            transfer_amount: money("USD", 2, 1050),
            payee_receive_amount: None,
            payee_fsp_fee: None,
            payee_fsp_commission: None,
            condition: CONDITION.to_owned(),
            expiration: 2 * EXPIRATION,
        },
    }
}

pub fn commitment(id: &str, mode: FulfilMode) -> fulfil_requested::Event {
    fulfil_requested::Event {
        transfer_id: id.to_owned(),
        requester_fsp: PAYEE.to_owned(),
        destination_fsp: Some(PAYER.to_owned()),
        mode,
        fulfilment: Some(FULFILMENT.to_owned()),
        completed_timestamp: None,
        request_hash: format!("fulfil-{mode:?}"),
        message: message("PUT"),
        arrived_at: None,
        answer_version: None,
    }
}

pub fn refusal(id: &str) -> reject_requested::Event {
    reject_requested::Event {
        transfer_id: id.to_owned(),
        requester_fsp: PAYEE.to_owned(),
        destination_fsp: None,
        error: payee_error(),
        message: message("PUT"),
        answer_version: None,
    }
}

pub fn payee_error() -> ErrorInformation {
    error("5104", "no")
}

pub fn question(id: &str, requester: &str) -> query_received::Event {
    query_received::Event {
        transfer_id: id.to_owned(),
        requester_fsp: requester.to_owned(),
        message: message("GET"),
        answer_version: Some("1.1".to_owned()),
    }
}

pub fn reminder(id: &str) -> elapsed::Event {
    elapsed::Event {
        id: id.to_owned(),
        client: "transfers".to_owned(),
        due: EXPIRATION,
        payload: String::new(),
    }
}
