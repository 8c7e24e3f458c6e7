//! The calls of Accounts & Balances. What each did is looked at in the ledger's documents and entries.

use rialto_grpc_client::api::rialto::accounts_and_balances::v0_1 as ab;
use rialto_grpc_client::tonic::Status;
use serde_json::json;

use super::shown::{agree, wrong};
use super::{NEW, Outcome, PAYEE, Scene, participants, there};
use crate::grpc::support::dollars;

/// The accounts that the calls make and use.
const LIQUIDITY: &str = "grpcfsp:USD:LIQUIDITY";
const POSITION: &str = "grpcfsp:USD:POSITION";
const COVER: &str = "grpcfsp:USD:LIQUIDITY_COVER";

fn with_limit(currency: &str, scale: u32) -> ab::AccountWithLimit {
    ab::AccountWithLimit {
        currency: currency.to_owned(),
        scale,
        net_debit_cap: None,
        liquidity_threshold: None,
    }
}

/// A new account is in the ledger, enabled and empty.
async fn is_new(scene: &Scene<'_>, id: &str) -> Result<(), Status> {
    let account = scene.shown.account(id).await?;
    let found = ["participant", "state", "debitBalance", "creditBalance"].map(|m| &account[m]);
    let expected = [&json!(NEW), &json!("ENABLED"), &json!("0"), &json!("0")];
    agree(id, expected, found)
}

pub async fn create_accounts(scene: &Scene<'_>) -> Outcome {
    agree("before", json!(null), scene.shown.account(LIQUIDITY).await?)?;
    let ids = account_ids(scene).await?;
    for id in [&ids.liquidity, &ids.position, &ids.liquidity_cover] {
        is_new(scene, id).await?;
    }
    agree("liquidity", LIQUIDITY, &ids.liquidity)?;
    Ok(ids.liquidity)
}

pub async fn create_account(scene: &Scene<'_>) -> Outcome {
    let request = ab::CreateParticipantAccountWithLimitsRequest {
        participant: NEW.to_owned(),
        account: Some(with_limit("RWF", 0)),
    };
    let mut client = scene.clients.ledger.clone();
    let answer = client
        .create_participant_account_with_limits(request)
        .await?;
    let ids = there("the ids", answer.into_inner().result)?;
    is_new(scene, &ids.liquidity).await?;
    is_new(scene, &ids.position).await?;
    agree("liquidity", "grpcfsp:RWF:LIQUIDITY", &ids.liquidity)?;
    Ok(ids.liquidity)
}

pub async fn manage_funds(scene: &Scene<'_>) -> Outcome {
    let request = ab::ManageFundsCreditDebitPairInstructionRequest {
        instruction_id: "grpc-deposit".to_owned(),
        participant: NEW.to_owned(),
        direction: ab::Direction::Deposit.into(),
        amount: Some(dollars(50_000)),
        settlement_model: None,
    };
    let mut client = scene.clients.ledger.clone();
    let first = client
        .manage_funds_credit_debit_pair_instruction(request.clone())
        .await?
        .into_inner();
    let again = client
        .manage_funds_credit_debit_pair_instruction(request)
        .await?;
    if again.into_inner() != first {
        return Err(wrong("the same instruction has another answer"));
    }
    // Once in each book, independently of the answer.
    let entries = scene.shown.entries("grpc-deposit").await?;
    let kinds: Vec<&str> = entries.iter().filter_map(|e| e.split(' ').next()).collect();
    agree(
        "entries",
        vec!["DEPOSIT_LIQUIDITY", "DEPOSIT_SETTLEMENT"],
        kinds,
    )?;
    let all = entries.iter().all(|entry| entry.ends_with(" 50000"));
    agree("amounts", true, all)?;
    agree("balance", 50_000, scene.shown.balance(LIQUIDITY).await?)?;
    available(first.liquidity, 50_000)
}

fn available(position: Option<ab::AccountPosition>, cents: u64) -> Outcome {
    let position = there("the position", position)?;
    if position.available != Some(dollars(cents)) {
        return Err(wrong(format!("{cents} are available, not {position:?}")));
    }
    Ok(format!("{cents} cents in {}", position.account_id))
}

/// The accounts of a participant, as the ledger names them: created again they are the same.
async fn account_ids(scene: &Scene<'_>) -> Result<ab::ParticipantAccountIds, Status> {
    let request = ab::CreateParticipantAccountsWithLimitsRequest {
        participant: NEW.to_owned(),
        accounts: vec![with_limit("USD", 2)],
    };
    let mut client = scene.clients.ledger.clone();
    let answer = client
        .create_participant_accounts_with_limits(request)
        .await?;
    there("the account", answer.into_inner().result.pop())
}

pub async fn prepare(scene: &Scene<'_>) -> Outcome {
    let ids = account_ids(scene).await?;
    let request = ab::ProcessTransferPrepareRequest {
        transfer_id: "grpc-transfer".to_owned(),
        payer_fsp: NEW.to_owned(),
        debit_account: ids.liquidity,
        credit_account: ids.position,
        amount: Some(dollars(10_000)),
        settlement: Some(ab::SettlementTiming {
            kind: Some(ab::settlement_timing::Kind::Deferred(())),
        }),
    };
    let mut client = scene.clients.ledger.clone();
    let answer = client.process_transfer_prepare(request).await?.into_inner();
    let posted = format!("TRANSFER_PREPARE {LIQUIDITY} {POSITION} 10000");
    agree(
        "entries",
        vec![posted],
        scene.shown.entries("grpc-transfer").await?,
    )?;
    agree("balance", 40_000, scene.shown.balance(LIQUIDITY).await?)?;
    agree("reserved", 10_000, scene.shown.balance(POSITION).await?)?;
    let state = scene.shown.reservation("grpc-transfer").await?;
    agree("reservation", "open", state.as_str())?;
    available(answer.liquidity, 40_000)
}

pub async fn fulfil(scene: &Scene<'_>) -> Outcome {
    let info = participants::participant(scene, PAYEE).await?;
    let mut accounts = info.accounts.into_iter();
    let account = accounts.rfind(|account| account.currency == "USD");
    let credited = there("the account", account)?.liquidity_account;
    let before = scene.shown.balance(&credited).await?;
    let request = ab::ProcessTransferFulfilRequest {
        transfer_id: "grpc-transfer".to_owned(),
        credit_account: credited.clone(),
    };
    let mut client = scene.clients.ledger.clone();
    let answer = client.process_transfer_fulfil(request).await?.into_inner();
    let posted = vec![
        format!("TRANSFER_FULFIL {POSITION} {credited} 10000"),
        format!("TRANSFER_PREPARE {LIQUIDITY} {POSITION} 10000"),
    ];
    agree(
        "entries",
        posted,
        scene.shown.entries("grpc-transfer").await?,
    )?;
    agree("reserved", 0, scene.shown.balance(POSITION).await?)?;
    agree(
        "paid",
        before + 10_000,
        scene.shown.balance(&credited).await?,
    )?;
    let state = scene.shown.reservation("grpc-transfer").await?;
    agree("reservation", "fulfilled", state.as_str())?;
    let paid = there("the payee's", answer.payee_liquidity)?.account_id;
    agree("account", &credited, &paid)?;
    Ok(paid)
}

pub async fn enable(scene: &Scene<'_>) -> Outcome {
    let mut client = scene.clients.ledger.clone();
    for (status, called, shown) in [
        (ab::Status::Disabled, ab::AccountState::Disabled, "DISABLED"),
        (ab::Status::Enabled, ab::AccountState::Enabled, "ENABLED"),
    ] {
        let request = ab::EnabledDisabledParticipantAccountRequest {
            participant: NEW.to_owned(),
            currency: "USD".to_owned(),
            status: status.into(),
        };
        let answer = client.enabled_disabled_participant_account(request).await?;
        let all = answer.into_inner().result;
        let own = there("the account", all.iter().find(|a| a.owner == NEW))?;
        agree("state", called, own.state())?;
        let account = scene.shown.account(LIQUIDITY).await?;
        agree("state", &json!(shown), &account["state"])?;
    }
    Ok("disabled, then enabled".to_owned())
}

pub async fn limit(scene: &Scene<'_>) -> Outcome {
    let request = ab::UpdateParticipantAccountLimitRequest {
        participant: NEW.to_owned(),
        currency: "USD".to_owned(),
        net_debit_cap: Some(dollars(100_000)),
    };
    let mut client = scene.clients.ledger.clone();
    let answer = client.update_participant_account_limit(request).await?;
    let position = there("the position", answer.into_inner().result)?;
    let account = scene.shown.account(LIQUIDITY).await?;
    agree("the cap", &json!("100000"), &account["netDebitCap"])?;
    Ok(format!("100000 cents for {}", position.account_id))
}

pub async fn threshold(scene: &Scene<'_>) -> Outcome {
    let request = ab::UpdateParticipantAccountThresholdRequest {
        participant: NEW.to_owned(),
        accounts: vec![ab::AccountThreshold {
            currency: "USD".to_owned(),
            threshold: Some(dollars(1_000)),
        }],
    };
    let mut client = scene.clients.ledger.clone();
    let answer = client.update_participant_account_threshold(request).await?;
    let positions = answer.into_inner().result;
    let kept = positions
        .first()
        .and_then(|position| position.threshold.clone());
    agree("the threshold", Some(dollars(1_000)), kept)?;
    let account = scene.shown.account(LIQUIDITY).await?;
    agree(
        "the threshold",
        &json!("1000"),
        &account["liquidityThreshold"],
    )?;
    Ok("1000 cents".to_owned())
}

/// An amount in cents as the ledger's balance has it.
fn cents(amount: Option<&rialto_grpc_client::api::rialto::common::v0_1::Money>) -> Option<i64> {
    i64::try_from(amount?.minor_units.as_ref()?.low).ok()
}

pub async fn position(scene: &Scene<'_>) -> Outcome {
    let request = ab::GetCurrentLiquidityPositionRequest {
        participant: NEW.to_owned(),
        currency: "USD".to_owned(),
    };
    let mut client = scene.clients.ledger.clone();
    let answer = client.get_current_liquidity_position(request).await?;
    let position = there("liquidity", answer.into_inner().liquidity)?;
    let balance = scene.shown.balance(LIQUIDITY).await?;
    agree(
        "available",
        cents(position.available.as_ref()),
        Some(balance),
    )?;
    if balance == 0 {
        return Err(wrong("there is nothing that could be seen"));
    }
    Ok(format!("{balance} cents"))
}

pub async fn reserve(scene: &Scene<'_>) -> Outcome {
    let request = ab::RecordLiquidityReservationEntriesRequest {
        instruction_id: "grpc-cover".to_owned(),
        participant: NEW.to_owned(),
        total: Some(dollars(5_000)),
    };
    let mut client = scene.clients.ledger.clone();
    let answer = client.record_liquidity_reservation_entries(request).await?;
    let posted = format!("COVER_RESERVE {LIQUIDITY} {COVER} 5000");
    agree(
        "entries",
        vec![posted],
        scene.shown.entries("grpc-cover").await?,
    )?;
    agree("cover", 5_000, scene.shown.balance(COVER).await?)?;
    available(answer.into_inner().liquidity_cover, 5_000)
}

pub async fn positions(scene: &Scene<'_>) -> Outcome {
    let request = ab::RequestAccountsPositionsRequest {
        participant: NEW.to_owned(),
        currency: None,
    };
    let mut client = scene.clients.ledger.clone();
    let answer = client.request_accounts_positions(request).await?;
    let accounts = answer.into_inner().result;
    let all = scene
        .shown
        .documents("accounts-and-balances", "accounts")
        .await?;
    let own = all.values().filter(|account| account["participant"] == NEW);
    let mut kept: Vec<&str> = own.filter_map(|account| account["id"].as_str()).collect();
    let positions = accounts.iter().filter(|account| account.owner == NEW);
    let positions = positions.filter_map(|account| account.position.as_ref());
    let mut called: Vec<&str> = positions
        .map(|position| position.account_id.as_str())
        .collect();
    kept.sort_unstable();
    called.sort_unstable();
    agree("the accounts", called, kept)?;
    for account in accounts.iter().filter(|account| account.owner == NEW) {
        let position = there("the position", account.position.as_ref())?;
        let (credits, debits) = (
            cents(position.credit_balance.as_ref()),
            cents(position.debit_balance.as_ref()),
        );
        let balance = credits
            .zip(debits)
            .map(|(credits, debits)| credits - debits);
        let kept = scene.shown.balance(&position.account_id).await?;
        agree(&position.account_id, balance, Some(kept))?;
    }
    Ok(format!("{} accounts", accounts.len()))
}

pub async fn history(scene: &Scene<'_>) -> Outcome {
    let request = ab::RequestAccountPositionHistoryRequest {
        account: LIQUIDITY.to_owned(),
        from: None,
        to: None,
        cursor: None,
        limit: 100,
    };
    let mut client = scene.clients.ledger.clone();
    let answer = client.request_account_position_history(request).await?;
    let postings = answer.into_inner().postings.len();
    let all = scene
        .shown
        .documents("accounts-and-balances", "entries")
        .await?;
    let touching = all
        .values()
        .filter(|entry| entry["debitAccount"] == LIQUIDITY || entry["creditAccount"] == LIQUIDITY);
    let kept = touching.count();
    agree("how many postings", postings, kept)?;
    if kept == 0 {
        return Err(wrong("no posting, and there was a deposit"));
    }
    Ok(format!("{postings} postings"))
}

pub async fn reservations(scene: &Scene<'_>) -> Outcome {
    // Done before or not: an instruction is done once.
    reserve(scene).await?;
    let request = ab::RequestReservationAccountsRequest {
        participant: NEW.to_owned(),
    };
    let mut client = scene.clients.ledger.clone();
    let answer = client.request_reservation_accounts(request).await?;
    let accounts = answer.into_inner().result;
    let of_dollars = accounts.iter().find(|account| account.currency == "USD");
    let cover = there("the account", of_dollars)?.liquidity_cover.clone();
    let kept = scene.shown.balance(COVER).await?;
    let called = cover
        .as_ref()
        .and_then(|cover| cents(cover.available.as_ref()));
    agree("cover", called, Some(kept))?;
    available(cover, 5_000)?;
    Ok(format!("{} currencies", accounts.len()))
}
