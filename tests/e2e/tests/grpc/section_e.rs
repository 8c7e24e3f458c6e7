//! Every interface of section E is called by a generated client; a table says what came of each.

use std::collections::BTreeSet;

use rialto_grpc_client::Details;
use rialto_grpc_client::api::rialto::accounts_and_balances::v0_1 as ab;
use rialto_grpc_client::api::rialto::participant_lifecycle_management::v0_1 as plm;
use rialto_grpc_client::api::rialto::scheduling::v0_1 as sch;
use rialto_grpc_client::reflected;
use rialto_grpc_client::tonic::Status;
use rialto_tests::RunningHost;
use rialto_tests::catalogue::{self, Row};

use crate::support::{ALL, Clients, dollars, offering};

/// Who the calls are about: a participant of the demonstration scheme.
const PAYER: &str = "payerfsp";
/// A participant that the calls themselves make.
const NEW: &str = "grpcfsp";
/// The methods of a row, as reflection tells them.
fn methods(row: &str) -> &'static [&'static str] {
    match row {
        "E-LiquidityThresholdExceeded" => &["LiquidityThresholdExceeded"],
        "E-UpdateParticipantAccountThreshold" => &["UpdateParticipantAccountThreshold"],
        "E-GetParticipantsTransfersData" => &["GetParticipantsTransfersData"],
        "E-GetParticipantCallbackInfo" => &["GetParticipantCallbackInfo"],
        "E-GetParticipantQuoteData" => &["GetParticipantQuoteData"],
        "E-CreateParticipantAccountsWithLimits" => &["CreateParticipantAccountsWithLimits"],
        "E-ManageFundsCreditDebitPairInstruction" => &["ManageFundsCreditDebitPairInstruction"],
        "E-ParticipantStateUpdated" => &["ParticipantStateUpdated"],
        "E-CreateParticipantAccountWithLimits" => &["CreateParticipantAccountWithLimits"],
        "E-Enabled-DisabledParticipantAccount" => &["EnabledDisabledParticipantAccount"],
        "E-UpdateParticipantAccountLimit" => &["UpdateParticipantAccountLimit"],
        "E-GetParticipantInfo-gRPC" => &["GetParticipantInfo"],
        "E-GetCurrentLiquidityPosition" => &["GetCurrentLiquidityPosition"],
        "E-RecordLiquidityReservationEntries" => &["RecordLiquidityReservationEntries"],
        "E-RequestAccountsPositions" => &["RequestAccountsPositions"],
        "E-RequestAccountPositionHistory" => &["RequestAccountPositionHistory"],
        "E-RequestReservationAccounts" => &["RequestReservationAccounts"],
        "E-ProcessTransferPrepare" => &["ProcessTransferPrepare"],
        "E-ProcessTransferFulfil" => &["ProcessTransferFulfil"],
        "E-CreateScheduleReminder-DeleteScheduleReminder" => {
            &["CreateScheduleReminder", "DeleteScheduleReminder"]
        }
        row => panic!("{row} has no method here: say which, and call it"),
    }
}

/// What came of a row's calls, in words; or the status that is not what it should be.
type Outcome = Result<String, Status>;

fn wrong(what: impl Into<String>) -> Status {
    Status::internal(what)
}

/// What must be there.
fn there<T>(what: &str, found: Option<T>) -> Result<T, Status> {
    found.ok_or_else(|| wrong(format!("{what} is missing")))
}

async fn call(row: &str, clients: &Clients) -> Outcome {
    match row {
        "E-CreateParticipantAccountsWithLimits" => create_accounts(clients).await,
        "E-CreateParticipantAccountWithLimits" => create_account(clients).await,
        "E-ManageFundsCreditDebitPairInstruction" => manage_funds(clients).await,
        "E-ProcessTransferPrepare" => prepare(clients).await,
        "E-ProcessTransferFulfil" => fulfil(clients).await,
        "E-Enabled-DisabledParticipantAccount" => enable(clients).await,
        "E-UpdateParticipantAccountLimit" => limit(clients).await,
        "E-UpdateParticipantAccountThreshold" => threshold(clients).await,
        "E-GetCurrentLiquidityPosition" => position(clients).await,
        "E-RecordLiquidityReservationEntries" => reserve(clients).await,
        "E-RequestAccountsPositions" => positions(clients).await,
        "E-RequestAccountPositionHistory" => history(clients).await,
        "E-RequestReservationAccounts" => reservations(clients).await,
        "E-LiquidityThresholdExceeded" => warn(clients).await,
        "E-GetParticipantsTransfersData" => transfers_data(clients).await,
        "E-GetParticipantQuoteData" => quote_data(clients).await,
        "E-GetParticipantCallbackInfo" => callback_info(clients).await,
        "E-GetParticipantInfo-gRPC" => info(clients).await,
        "E-ParticipantStateUpdated" => state_updated(clients).await,
        "E-CreateScheduleReminder-DeleteScheduleReminder" => remind(clients).await,
        row => panic!("{row} is called by nothing here"),
    }
}

fn with_limit(currency: &str, scale: u32) -> ab::AccountWithLimit {
    ab::AccountWithLimit {
        currency: currency.to_owned(),
        scale,
        net_debit_cap: None,
        liquidity_threshold: None,
    }
}

async fn create_accounts(clients: &Clients) -> Outcome {
    let request = ab::CreateParticipantAccountsWithLimitsRequest {
        participant: NEW.to_owned(),
        accounts: vec![with_limit("USD", 2)],
    };
    let mut client = clients.ledger.clone();
    let answer = client
        .create_participant_accounts_with_limits(request)
        .await?;
    let ids = answer.into_inner().result;
    match ids.as_slice() {
        [ids] if ids.participant == NEW && ids.currency == "USD" => Ok(ids.liquidity.clone()),
        _ => Err(wrong(format!("{ids:?}"))),
    }
}

async fn create_account(clients: &Clients) -> Outcome {
    let request = ab::CreateParticipantAccountWithLimitsRequest {
        participant: NEW.to_owned(),
        account: Some(with_limit("RWF", 0)),
    };
    let mut client = clients.ledger.clone();
    let answer = client
        .create_participant_account_with_limits(request)
        .await?;
    let ids = there("the ids", answer.into_inner().result)?;
    Ok(ids.liquidity)
}

async fn manage_funds(clients: &Clients) -> Outcome {
    let request = ab::ManageFundsCreditDebitPairInstructionRequest {
        instruction_id: "grpc-deposit".to_owned(),
        participant: NEW.to_owned(),
        direction: ab::Direction::Deposit.into(),
        amount: Some(dollars(50_000)),
        settlement_model: None,
    };
    let mut client = clients.ledger.clone();
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
async fn account_ids(clients: &Clients) -> Result<ab::ParticipantAccountIds, Status> {
    let request = ab::CreateParticipantAccountsWithLimitsRequest {
        participant: NEW.to_owned(),
        accounts: vec![with_limit("USD", 2)],
    };
    let mut client = clients.ledger.clone();
    let answer = client
        .create_participant_accounts_with_limits(request)
        .await?;
    there("the account", answer.into_inner().result.pop())
}

async fn prepare(clients: &Clients) -> Outcome {
    let ids = account_ids(clients).await?;
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
    let mut client = clients.ledger.clone();
    let answer = client.process_transfer_prepare(request).await?.into_inner();
    available(answer.liquidity, 40_000)
}

async fn fulfil(clients: &Clients) -> Outcome {
    let info = participant(clients, "payeefsp").await?;
    let mut accounts = info.accounts.into_iter();
    let account = accounts.rfind(|account| account.currency == "USD");
    let request = ab::ProcessTransferFulfilRequest {
        transfer_id: "grpc-transfer".to_owned(),
        credit_account: there("the account", account)?.liquidity_account,
    };
    let mut client = clients.ledger.clone();
    let answer = client.process_transfer_fulfil(request).await?.into_inner();
    Ok(there("the payee's", answer.payee_liquidity)?.account_id)
}

async fn enable(clients: &Clients) -> Outcome {
    let mut client = clients.ledger.clone();
    let mut states = Vec::new();
    for status in [ab::Status::Disabled, ab::Status::Enabled] {
        let request = ab::EnabledDisabledParticipantAccountRequest {
            participant: NEW.to_owned(),
            currency: "USD".to_owned(),
            status: status.into(),
        };
        let answer = client.enabled_disabled_participant_account(request).await?;
        let all = answer.into_inner().result;
        let own = all.iter().find(|account| account.owner == NEW);
        states.push(there("the account", own)?.state());
    }
    if states != [ab::AccountState::Disabled, ab::AccountState::Enabled] {
        return Err(wrong(format!("{states:?}")));
    }
    Ok("disabled, then enabled".to_owned())
}

async fn limit(clients: &Clients) -> Outcome {
    let request = ab::UpdateParticipantAccountLimitRequest {
        participant: NEW.to_owned(),
        currency: "USD".to_owned(),
        net_debit_cap: Some(dollars(100_000)),
    };
    let mut client = clients.ledger.clone();
    let answer = client.update_participant_account_limit(request).await?;
    let position = there("the position", answer.into_inner().result)?;
    let cap = liquidity(clients).await?.net_debit_cap;
    if cap != Some(dollars(100_000)) {
        return Err(wrong(format!("the cap is {cap:?}")));
    }
    Ok(format!("100000 cents for {}", position.account_id))
}

async fn threshold(clients: &Clients) -> Outcome {
    let request = ab::UpdateParticipantAccountThresholdRequest {
        participant: NEW.to_owned(),
        accounts: vec![ab::AccountThreshold {
            currency: "USD".to_owned(),
            threshold: Some(dollars(1_000)),
        }],
    };
    let mut client = clients.ledger.clone();
    let answer = client.update_participant_account_threshold(request).await?;
    let positions = answer.into_inner().result;
    let kept = positions
        .first()
        .and_then(|position| position.threshold.clone());
    if kept != Some(dollars(1_000)) {
        return Err(wrong(format!("{positions:?}")));
    }
    Ok("1000 cents".to_owned())
}

async fn position(clients: &Clients) -> Outcome {
    let request = ab::GetCurrentLiquidityPositionRequest {
        participant: NEW.to_owned(),
        currency: "USD".to_owned(),
    };
    let mut client = clients.ledger.clone();
    let answer = client.get_current_liquidity_position(request).await?;
    let position = there("liquidity", answer.into_inner().liquidity)?;
    let known = liquidity(clients).await?.position;
    if known.as_ref() != Some(&position) || position.available == Some(dollars(0)) {
        return Err(wrong(format!("{position:?}, not {known:?}")));
    }
    Ok(format!(
        "{:?}",
        there("an amount", position.available)?.minor_units
    ))
}

/// The new participant's liquidity, as the list of its accounts has it.
async fn liquidity(clients: &Clients) -> Result<ab::AccountStatus, Status> {
    let request = ab::RequestAccountsPositionsRequest {
        participant: NEW.to_owned(),
        currency: Some("USD".to_owned()),
    };
    let mut client = clients.ledger.clone();
    let answer = client.request_accounts_positions(request).await?;
    let mut accounts = answer.into_inner().result.into_iter();
    let found = accounts.find(|a| a.account_type() == ab::LedgerAccountType::Liquidity);
    there("the account", found)
}

async fn reserve(clients: &Clients) -> Outcome {
    let request = ab::RecordLiquidityReservationEntriesRequest {
        instruction_id: "grpc-cover".to_owned(),
        participant: NEW.to_owned(),
        total: Some(dollars(5_000)),
    };
    let mut client = clients.ledger.clone();
    let answer = client.record_liquidity_reservation_entries(request).await?;
    available(answer.into_inner().liquidity_cover, 5_000)
}

async fn positions(clients: &Clients) -> Outcome {
    let request = ab::RequestAccountsPositionsRequest {
        participant: NEW.to_owned(),
        currency: None,
    };
    let mut client = clients.ledger.clone();
    let answer = client.request_accounts_positions(request).await?;
    let accounts = answer.into_inner().result;
    if accounts.iter().all(|account| account.owner != NEW) {
        return Err(wrong(format!("none of its own: {accounts:?}")));
    }
    Ok(format!("{} accounts", accounts.len()))
}

async fn history(clients: &Clients) -> Outcome {
    let ids = account_ids(clients).await?;
    let request = ab::RequestAccountPositionHistoryRequest {
        account: ids.liquidity,
        from: None,
        to: None,
        cursor: None,
        limit: 100,
    };
    let mut client = clients.ledger.clone();
    let answer = client.request_account_position_history(request).await?;
    let postings = answer.into_inner().postings;
    if postings.is_empty() {
        return Err(wrong("no posting, and there was a deposit"));
    }
    Ok(format!("{} postings", postings.len()))
}

async fn reservations(clients: &Clients) -> Outcome {
    // Done before or not: an instruction is done once.
    reserve(clients).await?;
    let request = ab::RequestReservationAccountsRequest {
        participant: NEW.to_owned(),
    };
    let mut client = clients.ledger.clone();
    let answer = client.request_reservation_accounts(request).await?;
    let accounts = answer.into_inner().result;
    let dollars_of = accounts.iter().find(|account| account.currency == "USD");
    available(
        there("the account", dollars_of)?.liquidity_cover.clone(),
        5_000,
    )?;
    Ok(format!("{} currencies", accounts.len()))
}

async fn warn(clients: &Clients) -> Outcome {
    let info = participant(clients, PAYER).await?;
    let mut accounts = info.accounts.into_iter();
    let account = there("an account", accounts.rfind(|a| a.currency == "USD"))?;
    let request = plm::LiquidityThresholdExceededRequest {
        participant: PAYER.to_owned(),
        currency: "USD".to_owned(),
        position: Some(ab::AccountPosition {
            account_id: account.liquidity_account,
            debit_balance: Some(dollars(0)),
            credit_balance: Some(dollars(100)),
            available: Some(dollars(100)),
            threshold: Some(dollars(1_000)),
        }),
    };
    let mut client = clients.participants.clone();
    let first = client
        .liquidity_threshold_exceeded(request.clone())
        .await?
        .into_inner();
    let again = client
        .liquidity_threshold_exceeded(request)
        .await?
        .into_inner();
    match (first.result, again.result) {
        (true, false) => Ok("warned once".to_owned()),
        both => Err(wrong(format!("{both:?}"))),
    }
}

async fn transfers_data(clients: &Clients) -> Outcome {
    let request = plm::GetParticipantsTransfersDataRequest {
        participants: vec![PAYER.to_owned(), "nobody".to_owned()],
    };
    let mut client = clients.participants.clone();
    let answer = client
        .get_participants_transfers_data(request)
        .await?
        .into_inner();
    match answer.result.as_slice() {
        [known, unknown] if unknown.value.is_none() => {
            let known = there("the participant", known.value.clone())?;
            if !known.may_transact {
                return Err(wrong(format!("{known:?}")));
            }
            Ok("may transact".to_owned())
        }
        all => Err(wrong(format!("{all:?}"))),
    }
}

async fn quote_data(clients: &Clients) -> Outcome {
    let request = plm::GetParticipantQuoteDataRequest {
        participants: vec![PAYER.to_owned()],
    };
    let mut client = clients.participants.clone();
    let answer = client
        .get_participant_quote_data(request)
        .await?
        .into_inner();
    let known = answer
        .result
        .into_iter()
        .next()
        .and_then(|found| found.value);
    Ok(there("the participant", known)?.currencies.join(" "))
}

async fn callback_info(clients: &Clients) -> Outcome {
    let request = plm::GetParticipantCallbackInfoRequest {
        participant: PAYER.to_owned(),
    };
    let mut client = clients.participants.clone();
    let answer = client
        .get_participant_callback_info(request)
        .await?
        .into_inner();
    let found = there("the endpoint", answer.result)?;
    if !found.base_url.starts_with("http://127.0.0.1:") {
        return Err(wrong(found.base_url));
    }
    Ok("an endpoint".to_owned())
}

async fn participant(clients: &Clients, id: &str) -> Result<plm::ParticipantInfo, Status> {
    let request = plm::GetParticipantInfoRequest {
        participant: id.to_owned(),
    };
    let mut client = clients.participants.clone();
    let answer = client.get_participant_info(request).await?;
    there("the participant", answer.into_inner().result)
}

async fn info(clients: &Clients) -> Outcome {
    Ok(participant(clients, PAYER).await?.name)
}

async fn state_updated(clients: &Clients) -> Outcome {
    // A lie: whoever takes the event asks anew what is true.
    let event = plm::ParticipantStateUpdatedEvent {
        participant: PAYER.to_owned(),
        before: plm::ParticipantState::Disabled.into(),
        after: plm::ParticipantState::Approved.into(),
        may_transact: true,
        updated_at: 1,
    };
    let mut client = clients.participants.clone();
    client.participant_state_updated(event).await?;
    Ok("told".to_owned())
}

async fn remind(clients: &Clients) -> Outcome {
    let reminder = sch::Reminder {
        id: "grpc".to_owned(),
        client: "somebody".to_owned(),
        due: u64::MAX >> 12,
        payload: String::new(),
    };
    let mut client = clients.scheduling.clone();
    let request = sch::CreateScheduleReminderRequest {
        reminder: Some(reminder),
    };
    client.create_schedule_reminder(request).await?;
    let request = sch::DeleteScheduleReminderRequest {
        client: "somebody".to_owned(),
        id: "grpc".to_owned(),
    };
    let mut said = Vec::new();
    for _ in 0..2 {
        let deleted = client.delete_schedule_reminder(request.clone()).await?;
        said.push(deleted.into_inner().result());
    }
    if said != [sch::Deletion::Deleted, sch::Deletion::AlreadyElapsed] {
        return Err(wrong(format!("{said:?}")));
    }
    Ok("created, deleted, and not there any more".to_owned())
}

/// Money must be there before it moves, so some rows come before others.
fn in_order(rows: Vec<Row>) -> Vec<Row> {
    let first = [
        "E-CreateParticipantAccountsWithLimits",
        "E-ManageFundsCreditDebitPairInstruction",
        "E-ProcessTransferPrepare",
    ];
    let place = |row: &Row| {
        first
            .iter()
            .position(|id| *id == row.id)
            .unwrap_or(first.len())
    };
    let mut rows = rows;
    rows.sort_by_key(place);
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn every_interface_of_section_e_is_called_and_listed() {
    let scheme = offering(ALL);
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    let listed = reflected::methods(clients.connection.clone())
        .await
        .unwrap();
    let alpha = reflected::methods_v1alpha(clients.connection.clone())
        .await
        .unwrap();
    assert_eq!(
        listed
            .iter()
            .filter(|m| m.starts_with("rialto."))
            .collect::<Vec<_>>(),
        alpha
            .iter()
            .filter(|m| m.starts_with("rialto."))
            .collect::<Vec<_>>()
    );
    let names: BTreeSet<&str> = listed.iter().filter_map(|m| m.split('/').nth(1)).collect();
    let rows = catalogue::rows().unwrap().into_iter();
    let rows: Vec<Row> = rows.filter(|row| row.section == "E").collect();
    let count = rows.len();
    let mut seen = Vec::new();
    let mut table = Vec::new();
    let mut wrong = Vec::new();
    for row in in_order(rows) {
        let is_listed = methods(&row.id).iter().all(|method| names.contains(method));
        let outcome = match call(&row.id, &clients).await {
            Ok(outcome) if is_listed => {
                seen.push(row.id.clone());
                format!("OK: {outcome}")
            }
            other => {
                let outcome = told(other);
                wrong.push(format!("{}: {outcome}, listed: {is_listed}", row.id));
                outcome
            }
        };
        let listed = if is_listed { "listed" } else { "-" };
        table.push(format!("{:<46} {listed:<7} {outcome}", row.name));
    }
    println!("section E by gRPC:\n{}", table.join("\n"));
    println!("{} of {count} rows seen", seen.len());
    let case = "grpc/every-interface-of-section-e";
    catalogue::seen(case, seen.iter().map(String::as_str)).unwrap();
    assert_eq!(count, 20, "the catalogue has as many");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An outcome that is not what it should be.
fn told(outcome: Outcome) -> String {
    match outcome {
        Ok(outcome) => format!("OK: {outcome}"),
        Err(status) => {
            let info = Details::of(&status).error_info();
            let reason = info.map(|info| format!(" ({})", info.reason));
            let reason = reason.unwrap_or_default();
            format!("{:?}{reason}: {}", status.code(), status.message())
        }
    }
}
