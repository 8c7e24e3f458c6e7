//! A world in memory: documents, a small ledger, and what was published and sent.

use crate::bindings::rialto::accounts_and_balances::{
    create_participant_account_with_limits as create_account,
    create_participant_accounts_with_limits as create_accounts,
    enabled_disabled_participant_account as enabled_disabled,
    get_current_liquidity_position as current_position,
    manage_funds_credit_debit_pair_instruction as manage_funds,
    move_settled_funds as between_models,
    record_liquidity_reservation_entries as reservation_entries,
    request_account_position_history as position_history,
    request_accounts_positions as accounts_positions,
    request_reservation_accounts as reservation_accounts,
    types::{
        AccountPosition, AccountState, AccountStatus, AccountWithLimit, LedgerAccountType,
        LedgerError, ParticipantAccountIds,
    },
    update_participant_account_limit as account_limit,
    update_participant_account_threshold as account_threshold,
};
use crate::bindings::rialto::host::certificates::{Certificate, CertificateError, RequestedKey};
use crate::settings::Settings;
use crate::world::{Event, Ledger, World};
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::bindings::rialto::host::http::OutboundRequest;
use rialto_sdk::documents::Memory;
use rialto_sdk::money::{minor_units, money};
use rialto_sdk::scheme::Scheme;
use std::collections::BTreeMap;

/// An account of the ledger, in minor units.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Book {
    pub scale: u8,
    pub liquidity: u128,
    /// Settled funds of the model NET.
    pub settled: u128,
    /// Settled funds of the model OTHER.
    pub settled_other: u128,
    pub cover: u128,
    pub reserved: u128,
    pub cap: Option<u128>,
    pub threshold: Option<u128>,
    pub enabled: bool,
}

/// The world.
#[derive(Debug, Clone)]
pub struct Fake {
    pub now: u64,
    pub store: Memory,
    /// By participant and currency.
    pub ledger: BTreeMap<(String, String), Book>,
    pub published: Vec<Event>,
    pub sent: Vec<OutboundRequest>,
    pub settings: &'static Settings,
    /// Whether a participant is in more batches than a turn can look at.
    pub batches_are_too_many: bool,
    /// Whether the authority cannot sign.
    pub has_no_authority: bool,
    scheme: &'static Scheme,
    ids: u32,
}

impl Fake {
    pub fn new() -> Self {
        Self::with("{}")
    }

    /// With settings in JSON.
    pub fn with(settings: &str) -> Self {
        let scheme = r#"{"name":"test","hub":"Hub","currencies":[{"code":"USD","scale":2},{"code":"TZS","scale":0}],"authentication":"mutual-tls"}"#;
        Self {
            now: 1_000,
            store: Memory::default(),
            ledger: BTreeMap::new(),
            published: Vec::new(),
            sent: Vec::new(),
            settings: Box::leak(Box::new(serde_json::from_str(settings).unwrap())),
            batches_are_too_many: false,
            has_no_authority: false,
            scheme: Box::leak(Box::new(serde_json::from_str(scheme).unwrap())),
            ids: 0,
        }
    }

    /// The same in a scheme whose participants do not prove who they are.
    pub fn without_proofs(&self) -> Self {
        let scheme = Scheme {
            authentication: "none".to_owned(),
            ..self.scheme.clone()
        };
        Self {
            scheme: Box::leak(Box::new(scheme)),
            ..self.clone()
        }
    }

    /// All documents of a collection, by id.
    pub fn documents(&self, collection: &str) -> BTreeMap<String, serde_json::Value> {
        let all = self.store.0.iter();
        let these = all.filter(|((of, _), _)| of == collection);
        these
            .map(|((_, id), body)| (id.clone(), serde_json::from_str(body).unwrap()))
            .collect()
    }

    pub fn book(&mut self, participant: &str, currency: &str) -> &mut Book {
        let key = (participant.to_owned(), currency.to_owned());
        self.ledger.get_mut(&key).expect("an account of the ledger")
    }

    fn known(&mut self, participant: &str, currency: &str) -> Result<&mut Book, LedgerError> {
        let key = (participant.to_owned(), currency.to_owned());
        let unknown = LedgerError::UnknownAccount(format!("{participant}:{currency}"));
        self.ledger.get_mut(&key).ok_or(unknown)
    }

    fn open_book(
        &mut self,
        participant: &str,
        account: &AccountWithLimit,
    ) -> ParticipantAccountIds {
        let currency = &account.currency;
        let key = (participant.to_owned(), currency.clone());
        self.ledger.entry(key).or_insert_with(|| Book {
            scale: account.scale,
            cap: account.net_debit_cap.as_ref().map(minor_units),
            threshold: account.liquidity_threshold.as_ref().map(minor_units),
            enabled: true,
            ..Book::default()
        });
        let id = |of: &str| format!("{participant}-{currency}-{of}");
        ParticipantAccountIds {
            participant: participant.to_owned(),
            currency: currency.clone(),
            liquidity: id("L"),
            position: id("P"),
            liquidity_cover: id("C"),
            settlement: id("S"),
        }
    }
}

impl Book {
    fn money(&self, currency: &str, units: u128) -> Money {
        money(currency, self.scale, units)
    }

    fn position(&self, currency: &str, units: u128) -> AccountPosition {
        AccountPosition {
            account_id: format!("{currency}-account"),
            debit_balance: self.money(currency, 0),
            credit_balance: self.money(currency, units),
            available: self.money(currency, units),
            threshold: self.threshold.map(|units| self.money(currency, units)),
        }
    }

    /// Its accounts of liquidity and settled funds.
    fn accounts(&self, (owner, currency): &(String, String)) -> [AccountStatus; 3] {
        [
            (LedgerAccountType::Liquidity, self.liquidity, None),
            (LedgerAccountType::Settlement, self.settled, Some("NET")),
            (
                LedgerAccountType::Settlement,
                self.settled_other,
                Some("OTHER"),
            ),
        ]
        .map(|(account_type, units, model)| AccountStatus {
            position: self.position(currency, units),
            owner: owner.clone(),
            account_type,
            state: AccountState::Enabled,
            net_debit_cap: None,
            settlement_model: model.map(str::to_owned),
            batch: None,
            unsettled: self.money(currency, 0),
        })
    }

    fn liquid(&self, currency: &str) -> AccountPosition {
        self.position(currency, self.liquidity)
    }
}

rialto_sdk::stores_in!(Fake, this => this.store);

impl Ledger for Fake {
    fn open(
        &mut self,
        request: &create_accounts::Request,
    ) -> Result<Vec<ParticipantAccountIds>, LedgerError> {
        let accounts = request.accounts.iter();
        let opened = accounts.map(|account| self.open_book(&request.participant, account));
        Ok(opened.collect())
    }

    fn open_one(
        &mut self,
        request: &create_account::Request,
    ) -> Result<ParticipantAccountIds, LedgerError> {
        Ok(self.open_book(&request.participant, &request.account))
    }

    fn move_funds(
        &mut self,
        request: &manage_funds::Request,
    ) -> Result<manage_funds::Response, LedgerError> {
        let currency = &request.amount.currency;
        let units = minor_units(&request.amount);
        let book = self.known(&request.participant, currency)?;
        if !book.enabled {
            return Err(LedgerError::AccountDisabled(currency.clone()));
        }
        match request.direction {
            manage_funds::Direction::Deposit => {
                book.liquidity += units;
                book.settled += units;
            }
            manage_funds::Direction::Withdrawal => {
                if book.liquidity < units {
                    return Err(LedgerError::ExceedsLimits(book.liquid(currency)));
                }
                if book.settled < units {
                    let settled = book.position(currency, book.settled);
                    return Err(LedgerError::ExceedsSettledFunds(settled));
                }
                book.liquidity -= units;
                book.settled -= units;
            }
        }
        Ok(manage_funds::Response {
            liquidity: book.liquid(currency),
            settlement: book.position(currency, book.settled),
        })
    }

    fn move_between_models(
        &mut self,
        request: &between_models::Request,
    ) -> Result<between_models::Response, LedgerError> {
        let currency = &request.amount.currency;
        let units = minor_units(&request.amount);
        let book = self.known(&request.participant, currency)?;
        let Book {
            settled: net,
            settled_other: other,
            ..
        } = book;
        let (source, target) = match (&*request.source_model, &*request.target_model) {
            ("NET", "OTHER") => (net, other),
            ("OTHER", "NET") => (other, net),
            models => panic!("{models:?}"),
        };
        if *source < units {
            let left = *source;
            return Err(LedgerError::ExceedsSettledFunds(
                book.position(currency, left),
            ));
        }
        *source -= units;
        *target += units;
        let (source, target) = (*source, *target);
        Ok(between_models::Response {
            source: book.position(currency, source),
            target: book.position(currency, target),
        })
    }

    fn enable(
        &mut self,
        request: &enabled_disabled::Request,
    ) -> Result<Vec<AccountStatus>, LedgerError> {
        let book = self.known(&request.participant, &request.currency)?;
        book.enabled = request.status == enabled_disabled::Status::Enabled;
        Ok(Vec::new())
    }

    fn set_limit(
        &mut self,
        request: &account_limit::Request,
    ) -> Result<AccountPosition, LedgerError> {
        let currency = &request.currency;
        let book = self.known(&request.participant, currency)?;
        let cap = request.net_debit_cap.as_ref().map(minor_units);
        if cap.is_some_and(|cap| cap < book.reserved) {
            return Err(LedgerError::LimitBelowUse(
                book.money(currency, book.reserved),
            ));
        }
        book.cap = cap;
        Ok(book.liquid(currency))
    }

    fn set_thresholds(
        &mut self,
        request: &account_threshold::Request,
    ) -> Result<Vec<AccountPosition>, LedgerError> {
        let mut positions = Vec::new();
        for account in &request.accounts {
            let book = self.known(&request.participant, &account.currency)?;
            book.threshold = account.threshold.as_ref().map(minor_units);
            positions.push(book.liquid(&account.currency));
        }
        Ok(positions)
    }

    fn position(
        &mut self,
        request: &current_position::Request,
    ) -> Result<current_position::Response, LedgerError> {
        assert!(!self.batches_are_too_many, "a turn touches too much");
        let currency = &request.currency;
        let book = self.known(&request.participant, currency)?;
        Ok(current_position::Response {
            liquidity: book.liquid(currency),
            reserved: book.money(currency, book.reserved),
            cover: book.money(currency, book.cover),
            settled: [("NET", book.settled), ("OTHER", book.settled_other)]
                .map(|(model, available)| current_position::SettledFunds {
                    settlement_model: Some(model.to_owned()),
                    available: book.money(currency, available),
                })
                .to_vec(),
            net_debit_cap: book.cap.map(|cap| book.money(currency, cap)),
            net_debit: book.money(currency, book.reserved),
            net_credit: book.money(currency, 0),
        })
    }

    fn reserve(
        &mut self,
        request: &reservation_entries::Request,
    ) -> Result<reservation_entries::Response, LedgerError> {
        let currency = &request.total.currency;
        let total = minor_units(&request.total);
        let book = self.known(&request.participant, currency)?;
        let all = book.liquidity + book.cover;
        if total > all {
            return Err(LedgerError::ExceedsLimits(book.liquid(currency)));
        }
        book.cover = total;
        book.liquidity = all - total;
        Ok(reservation_entries::Response {
            liquidity: book.liquid(currency),
            liquidity_cover: book.position(currency, book.cover),
        })
    }

    fn positions(
        &mut self,
        request: &accounts_positions::Request,
    ) -> Result<Vec<AccountStatus>, LedgerError> {
        let is_asked = |of: &String| request.currency.as_ref().is_none_or(|asked| asked == of);
        let books = self.ledger.iter();
        let books = books
            .filter(|((owner, currency), _)| *owner == request.participant && is_asked(currency));
        Ok(books.flat_map(|(of, book)| book.accounts(of)).collect())
    }

    fn history(
        &mut self,
        _: &position_history::Request,
    ) -> Result<position_history::Response, LedgerError> {
        Ok(position_history::Response {
            postings: Vec::new(),
            cursor: None,
        })
    }

    fn reservations(
        &mut self,
        _: &str,
    ) -> Result<Vec<reservation_accounts::ReservationAccount>, LedgerError> {
        Ok(Vec::new())
    }
}

impl World for Fake {
    fn judge_certificate(&mut self, request: &str) -> Result<RequestedKey, CertificateError> {
        if request != "a good request" {
            return Err(CertificateError::BadRequest("it is bad".to_owned()));
        }
        Ok(RequestedKey {
            kind: "P-256".to_owned(),
            fingerprint: "f".to_owned(),
        })
    }

    fn issue_certificate(
        &mut self,
        name: &str,
        request: &str,
    ) -> Result<Certificate, CertificateError> {
        self.judge_certificate(request)?;
        if self.has_no_authority {
            return Err(CertificateError::AuthorityAway("it is away".to_owned()));
        }
        Ok(Certificate {
            certificate: format!("a certificate of {name}"),
            serial: "01".to_owned(),
            not_after: self.now + 1,
        })
    }

    fn now(&self) -> u64 {
        self.now
    }
    fn uuid(&mut self) -> String {
        self.ids += 1;
        format!("00000000-0000-4000-8000-{:012}", self.ids)
    }
    fn scheme(&self) -> &'static Scheme {
        self.scheme
    }
    fn settings(&self) -> &'static Settings {
        self.settings
    }
    fn subject(&mut self, _: &str, _: &str) {}
    fn publish(&mut self, event: Event) {
        self.published.push(event);
    }
    fn send(&mut self, request: &OutboundRequest) {
        self.sent.push(request.clone());
    }
}
