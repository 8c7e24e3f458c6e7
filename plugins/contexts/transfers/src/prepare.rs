//! A request for a transfer: repeats, checks, the reservation, and each refusal's event.
//!
//! The checks have this order: participants, expiry, accounts, counters, rules, reminder, ledger. The cheapest come
//! first. The ledger comes last, because concurrent transfers of one payer share its account documents.

use crate::agreement_use::{AgreementUse, claim};
use crate::bindings::exports::rialto::settlements::transfer_prepare_accounts_allocated as allocated;
use crate::bindings::rialto::accounts_and_balances::process_transfer_prepare as ledger_prepare;
use crate::bindings::rialto::accounts_and_balances::types::{AccountPosition, LedgerError};
use crate::bindings::rialto::participant_lifecycle_management::get_participants_transfers_data::ParticipantTransfersData;
use crate::bindings::rialto::participant_lifecycle_management::liquidity_threshold_exceeded as threshold_exceeded;
use crate::bindings::rialto::quoting::get_agreement::Agreed;
use crate::bindings::rialto::transfers::{
    transfer_prepare_duplicate_check_failed as duplicate_check_failed,
    transfer_prepare_invalid_payee_check_failed as invalid_payee,
    transfer_prepare_invalid_payer_check_failed as invalid_payer,
    transfer_prepare_liquidity_check_failed as liquidity_check_failed,
    transfer_prepare_request_timedout as timedout,
    transfer_prepare_rule_check_failed as rule_check_failed, transfer_prepared as prepared,
    transfer_query_response as query_response,
};
use crate::bindings::transfer_prepare_check;
use crate::counters::Counters;
use crate::query::status;
use crate::surroundings::{Publication, Surroundings, keep};
use crate::transfer::{AgreedRules, RejectionKind, State, Transfer};
use rialto_sdk::agreements::is_agreed;
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Money};
use rialto_sdk::bindings::rialto::rules::types::{self as rules, Verdict};
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;
use rialto_sdk::money::minor_units;

/// Why a transfer is refused before funds are reserved.
enum Refusal {
    /// The payer FSP may not transact. `is_participant` says whether it can be told.
    Payer {
        error: ErrorInformation,
        is_participant: bool,
    },
    /// The payee FSP may not transact, or not with this payer FSP.
    Payee(ErrorInformation),
    /// It is too late.
    Expired(ErrorInformation),
    /// It breaks a rule.
    Rule(ErrorInformation),
    /// The payer FSP cannot cover it.
    Liquidity(ErrorInformation, Box<AccountPosition>),
}

/// Both FSPs, as read in this turn.
struct Participants {
    payer: ParticipantTransfersData,
    payee: ParticipantTransfersData,
}

/// What the rules' check leaves to be done when the funds are reserved.
struct Checked {
    /// The use of the agreement to store.
    agreement_use: Option<AgreementUse>,
    /// The rules of the agreement, if these have judged.
    agreed: Option<AgreedRules>,
    /// The counters that get the transfer.
    counters: Counters,
}

/// Handles a request for a transfer.
pub fn prepare(world: &mut impl Surroundings, event: allocated::Event) {
    if let Some(existing) = world.transfer(&event.transfer_id) {
        return repeat(world, &existing, event);
    }
    if event.requester_fsp != event.payer_fsp {
        return refuse_stranger(world, event);
    }
    let now = world.now();
    let mut transfer = Transfer::received(&event, now);
    match reserve(world, &event, now) {
        Ok((payer_position, checked)) => {
            let Checked {
                agreement_use,
                agreed,
                counters,
            } = checked;
            transfer.agreed = agreed;
            transfer.enter(State::Prepared, now);
            counters.add(world, &mut transfer);
            if let Some(agreement_use) = agreement_use {
                assert!(
                    agreement_use.transfer_id == event.transfer_id,
                    "an agreement is used by transfer {}, and transfer {} is prepared",
                    agreement_use.transfer_id,
                    event.transfer_id
                );
                world.put_agreement_use(&event.condition, &agreement_use);
            }
            keep(world, &transfer);
            world.note(&transfer, now);
            world.publish(Publication::Prepared(prepared::Event {
                transfer_id: event.transfer_id,
                payer_fsp: event.payer_fsp,
                payee_fsp: event.payee_fsp,
                amount: event.amount,
                expiration: event.expiration,
                settlement_model: event.settlement_model,
                payer_position,
                prepared_at: now,
                message: event.message,
            }));
        }
        Err(refusal) => {
            match &refusal {
                // Nothing is stored for senders that are not participants: strangers could fill the store.
                Refusal::Payer {
                    is_participant: false,
                    ..
                } => return world.publish(refused(event, refusal)),
                Refusal::Expired(error) => transfer.reject(RejectionKind::TimedOut, error, now),
                Refusal::Payer { error, .. }
                | Refusal::Payee(error)
                | Refusal::Rule(error)
                | Refusal::Liquidity(error, _) => transfer.fail(error, now),
            }
            keep(world, &transfer);
            world.note(&transfer, now);
            world.publish(refused(event, refusal));
        }
    }
}

/// Handles a request with a known id: a repeat, or another transfer.
fn repeat(world: &mut impl Surroundings, existing: &Transfer, event: allocated::Event) {
    let is_same_sender = event.requester_fsp == existing.payer_fsp;
    if !is_same_sender || event.request_hash != existing.request_hash {
        world.publish(Publication::PrepareDuplicateCheckFailed(
            duplicate_check_failed::Event {
                transfer_id: event.transfer_id,
                requester_fsp: event.requester_fsp,
                error: error("3106", "the transfer id is used already"),
                message: event.message,
            },
        ));
    } else if existing.state.is_final() {
        world.publish(Publication::QueryResponse(query_response::Event {
            transfer_id: event.transfer_id,
            requester_fsp: event.requester_fsp,
            outcome: query_response::TransferQueryResult::Found(status(existing)),
            answer: query_response::Answer::Put,
            message: event.message,
            answer_version: event.answer_version,
        }));
    } else {
        // The sender's callback is on its way.
        world.log(
            Level::Debug,
            "a repeated request for a running transfer is ignored",
        );
    }
}

/// Refuses a request in the name of another FSP without storing it: a stranger could use up the ids of others.
fn refuse_stranger(world: &mut impl Surroundings, event: allocated::Event) {
    let requester = std::slice::from_ref(&event.requester_fsp);
    let is_participant = world.participants(requester).iter().any(Option::is_some);
    let error = error("3100", "payerFsp is not FSPIOP-Source");
    world.publish(Publication::PrepareInvalidPayerCheckFailed(
        invalid_payer::Event {
            transfer_id: event.transfer_id,
            payer_fsp: event.payer_fsp,
            payee_fsp: event.payee_fsp,
            notify: is_participant.then_some(event.requester_fsp),
            error,
            message: event.message,
        },
    ));
}

/// Does all checks and the reservation. Returns the payer's liquidity account after it, and what the rules' check left.
fn reserve(
    world: &mut impl Surroundings,
    event: &allocated::Event,
    now: u64,
) -> Result<(AccountPosition, Checked), Refusal> {
    let participants = check_participants(world, event)?;
    if now >= event.expiration {
        let detail = "the transfer had expired when it arrived";
        return Err(Refusal::Expired(error("3303", detail)));
    }
    if let Err(detail) = world.settings().lifetime().check(now, event.expiration) {
        return Err(Refusal::Rule(error("3100", &detail)));
    }
    let payer_accounts = check_accounts(event, &participants)?;
    let checked = check_rules(world, event, now)?;
    world.create_reminder(&event.transfer_id, event.expiration);
    let request = ledger_prepare::Request {
        transfer_id: event.transfer_id.clone(),
        payer_fsp: event.payer_fsp.clone(),
        debit_account: payer_accounts.debit.clone(),
        credit_account: payer_accounts.credit.clone(),
        amount: event.amount.clone(),
        settlement: event.settlement.clone(),
    };
    match world.ledger_prepare(&request) {
        Ok(response) => {
            let (liquidity, position) = (&response.liquidity, &response.position);
            assert!(
                liquidity.account_id == request.debit_account
                    && position.account_id == request.credit_account,
                "the ledger was asked for {} and {}, and answers {} and {}",
                request.debit_account,
                request.credit_account,
                liquidity.account_id,
                position.account_id
            );
            if has_crossed_threshold(&response.liquidity, &event.amount) {
                world.threshold_exceeded(&threshold_exceeded::Request {
                    participant: event.payer_fsp.clone(),
                    currency: event.amount.currency.clone(),
                    position: response.liquidity.clone(),
                });
            }
            Ok((response.liquidity, checked))
        }
        Err(ledger_error) => {
            world.delete_reminder(&event.transfer_id);
            if matches!(ledger_error, LedgerError::ExceedsSettledFunds(_)) {
                // The event has only the liquidity, which may suffice.
                let (payer, model) = (&event.payer_fsp, &event.settlement_model);
                let currency = &event.amount.currency;
                world.log(
                    Level::Warn,
                    &format!("{payer} has too little settled funds of {model} in {currency}"),
                );
            }
            Err(ledger_refusal(&event.transfer_id, ledger_error))
        }
    }
}

/// Whether this amount has taken the available liquidity below the warning threshold (decision 9).
fn has_crossed_threshold(after: &AccountPosition, amount: &Money) -> bool {
    let Some(threshold) = &after.threshold else {
        return false;
    };
    assert!(
        threshold.currency == amount.currency && after.available.currency == amount.currency,
        "{} of {} and {} are compared with a threshold in {}",
        amount.currency,
        after.account_id,
        after.available.currency,
        threshold.currency
    );
    let threshold = minor_units(threshold);
    let available = minor_units(&after.available);
    available < threshold && available.saturating_add(minor_units(amount)) >= threshold
}

fn check_participants(
    world: &mut impl Surroundings,
    event: &allocated::Event,
) -> Result<Participants, Refusal> {
    let ids = [event.payer_fsp.clone(), event.payee_fsp.clone()];
    let participants = world.participants(&ids);
    assert_eq!(participants.len(), ids.len(), "both FSPs are answered for");
    let mut participants = participants.into_iter();
    let payer = match participants.next().flatten() {
        None => {
            return Err(Refusal::Payer {
                error: error("3202", ""),
                is_participant: false,
            });
        }
        Some(payer) if !payer.may_transact => return Err(barred_payer("may not transact")),
        Some(payer) => payer,
    };
    // This holds even if the scheme allows such quotes: nothing is owed between FSPs, and the batch entry would
    // have one account on both sides, which the ledger refuses.
    if event.payer_fsp == event.payee_fsp {
        let detail = "payer FSP and payee FSP are the same";
        return Err(Refusal::Payee(error("3100", detail)));
    }
    match participants.next().flatten() {
        None => Err(Refusal::Payee(error("3203", ""))),
        Some(payee) if !payee.may_transact => {
            let detail = "the payee FSP may not transact";
            Err(Refusal::Payee(error("3201", detail)))
        }
        Some(payee) => Ok(Participants { payer, payee }),
    }
}

fn barred_payer(why: &str) -> Refusal {
    Refusal::Payer {
        error: error("4400", &format!("the payer FSP {why}")),
        is_participant: true,
    }
}

/// Checks that both FSPs have enabled accounts in the currency. The accounts come from Settlements, which
/// learns of them by events that may be late. Whether they are enabled was asked in this turn. Returns the
/// payer's accounts.
fn check_accounts<'a>(
    event: &'a allocated::Event,
    participants: &Participants,
) -> Result<&'a allocated::ParticipantAccounts, Refusal> {
    let currency = &event.amount.currency;
    let Some(payer_accounts) = &event.payer_accounts else {
        return Err(Refusal::Payer {
            error: error(
                "4103",
                &format!("the payer FSP has no account in {currency}"),
            ),
            is_participant: true,
        });
    };
    if !participants.payer.currencies.contains(currency) {
        return Err(barred_payer("has a disabled account"));
    }
    if event.payee_accounts.is_none() {
        let detail = format!("the payee FSP has no account in {currency}");
        return Err(Refusal::Payee(error("5106", &detail)));
    }
    if !participants.payee.currencies.contains(currency) {
        let detail = format!("the account of the payee FSP in {currency} is disabled");
        return Err(Refusal::Payee(error("5106", &detail)));
    }
    Ok(payer_accounts)
}

/// The rules of an agreement, if they are to judge this transfer: it is the one that was agreed on, in time. Otherwise
/// an FSP could choose old rules by an old condition.
fn rules_of(agreed: &Agreed, transfer: &rules::Transfer, now: u64) -> Option<AgreedRules> {
    let is_agreed = is_agreed(&agreed.agreement, transfer, now);
    (is_agreed && agreed.release > 0).then_some(AgreedRules {
        release: agreed.release,
        at: agreed.agreed_at,
    })
}

/// Checks the scheme's rules, and that no other transfer uses the agreement.
fn check_rules(
    world: &mut impl Surroundings,
    event: &allocated::Event,
    now: u64,
) -> Result<Checked, Refusal> {
    if minor_units(&event.amount) == 0 {
        return Err(Refusal::Rule(error("3100", "the amount is 0")));
    }
    let agreed = world.agreement(&event.condition);
    let transfer = rules::Transfer {
        transfer_id: event.transfer_id.clone(),
        payer_fsp: event.payer_fsp.clone(),
        payee_fsp: event.payee_fsp.clone(),
        amount: event.amount.clone(),
        condition: event.condition.clone(),
        expiration: event.expiration,
    };
    let rules = agreed
        .as_ref()
        .and_then(|agreed| rules_of(agreed, &transfer, now));
    let agreement = agreed.map(|agreed| agreed.agreement);
    world.judge_as_agreed(rules);
    let needed = world.counters();
    let about = (&transfer, agreement.as_ref());
    let (counters, counts) = Counters::hold(world, needed, about, now);
    let input = transfer_prepare_check::Input {
        now,
        transfer,
        agreement,
        counts,
    };
    match world.judge_prepare(&event.transfer_id, &input) {
        // After the rules, so that a refused request learns nothing about other transfers.
        Verdict::Allow => {
            let agreement_use = claim(world, input.agreement.as_ref(), &input.transfer);
            Ok(Checked {
                agreement_use: agreement_use.map_err(Refusal::Rule)?,
                agreed: rules,
                counters,
            })
        }
        Verdict::Refuse(violations) => Err(Refusal::Rule(violation(&violations))),
    }
}

/// The first violation of a refusal, as the FSP gets it.
pub(crate) fn violation(violations: &[rules::Violation]) -> ErrorInformation {
    violations.first().map_or_else(
        || error("3100", "a rule refuses the transfer"),
        |first| error(&first.code, &first.message),
    )
}

fn ledger_refusal(transfer_id: &str, ledger_error: LedgerError) -> Refusal {
    match ledger_error {
        LedgerError::ExceedsLimits(position) => {
            Refusal::Liquidity(error("4001", ""), Box::new(position))
        }
        LedgerError::ExceedsSettledFunds(position) => {
            let detail = "the settled funds of the payer FSP cannot cover the amount";
            Refusal::Liquidity(error("4001", detail), Box::new(position))
        }
        LedgerError::ExceedsNetDebitCap(position) => {
            let detail = "the net debit cap of the payer FSP cannot cover the amount";
            Refusal::Liquidity(error("4200", detail), Box::new(position))
        }
        LedgerError::AccountDisabled(_) => barred_payer("has a disabled account"),
        LedgerError::UnknownAccount(_)
        | LedgerError::AccountClosed(_)
        | LedgerError::LimitBelowUse(_)
        | LedgerError::BalanceNotZero(_)
        | LedgerError::CurrencyMismatch
        | LedgerError::PostedOtherwise(_)
        | LedgerError::Malformed(_)
        | LedgerError::WrongState(_) => {
            // Settlements names the accounts, and the transfer's id is new. So this is a bug of the scheme's
            // contexts, or a release that changed a currency's scale.
            panic!("the ledger cannot reserve transfer {transfer_id}: {ledger_error:?}")
        }
    }
}

fn refused(event: allocated::Event, refusal: Refusal) -> Publication {
    let allocated::Event {
        transfer_id,
        payer_fsp,
        payee_fsp,
        amount,
        message,
        ..
    } = event;
    match refusal {
        Refusal::Payer {
            error,
            is_participant,
        } => Publication::PrepareInvalidPayerCheckFailed(invalid_payer::Event {
            transfer_id,
            notify: is_participant.then(|| payer_fsp.clone()),
            payer_fsp,
            payee_fsp,
            error,
            message,
        }),
        Refusal::Payee(error) => {
            Publication::PrepareInvalidPayeeCheckFailed(invalid_payee::Event {
                transfer_id,
                payer_fsp,
                payee_fsp,
                error,
                message,
            })
        }
        Refusal::Expired(error) => Publication::PrepareRequestTimedout(timedout::Event {
            transfer_id,
            payer_fsp,
            payee_fsp,
            error,
            message,
        }),
        Refusal::Rule(error) => Publication::PrepareRuleCheckFailed(rule_check_failed::Event {
            transfer_id,
            payer_fsp,
            payee_fsp,
            error,
            message,
        }),
        Refusal::Liquidity(error, payer_position) => {
            Publication::PrepareLiquidityCheckFailed(liquidity_check_failed::Event {
                transfer_id,
                payer_fsp,
                payee_fsp,
                amount,
                payer_position: *payer_position,
                error,
                message,
            })
        }
    }
}
