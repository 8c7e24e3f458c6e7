//! Calls every interface of section E with a generated client, and checks the effect in another way: ledger
//! documents, operators' HTTP, events. Prints a table of the results.

mod ledger;
mod participants;
mod shown;

use std::collections::BTreeSet;

use rialto_grpc_client::Details;
use rialto_grpc_client::reflected;
use rialto_grpc_client::tonic::Status;
use rialto_tests::RunningHost;
use rialto_tests::catalogue::{self, Row};
use rialto_tests::office::{OFFICE, Office};
use serde_json::json;

use self::shown::{Shown, wrong};
use crate::audited_refusals::entries;
use crate::grpc::support::{ALL, Clients, offering};

/// The participant of the calls, from the demonstration scheme.
const PAYER: &str = "payerfsp";
/// A participant that the calls themselves make.
const NEW: &str = "grpcfsp";
/// The payee.
const PAYEE: &str = "payeefsp";

/// Clients of a host, and what it shows by other ways.
struct Scene<'a> {
    clients: Clients,
    shown: Shown<'a>,
}

/// The methods of a row, from reflection.
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

/// The result of a row's calls as text, or an unexpected status.
type Outcome = Result<String, Status>;

/// What must be there.
fn there<T>(what: &str, found: Option<T>) -> Result<T, Status> {
    found.ok_or_else(|| wrong(format!("{what} is missing")))
}

async fn call(row: &str, scene: &Scene<'_>) -> Outcome {
    match row {
        "E-CreateParticipantAccountsWithLimits" => ledger::create_accounts(scene).await,
        "E-CreateParticipantAccountWithLimits" => ledger::create_account(scene).await,
        "E-ManageFundsCreditDebitPairInstruction" => ledger::manage_funds(scene).await,
        "E-ProcessTransferPrepare" => ledger::prepare(scene).await,
        "E-ProcessTransferFulfil" => ledger::fulfil(scene).await,
        "E-Enabled-DisabledParticipantAccount" => ledger::enable(scene).await,
        "E-UpdateParticipantAccountLimit" => ledger::limit(scene).await,
        "E-UpdateParticipantAccountThreshold" => ledger::threshold(scene).await,
        "E-GetCurrentLiquidityPosition" => ledger::position(scene).await,
        "E-RecordLiquidityReservationEntries" => ledger::reserve(scene).await,
        "E-RequestAccountsPositions" => ledger::positions(scene).await,
        "E-RequestAccountPositionHistory" => ledger::history(scene).await,
        "E-RequestReservationAccounts" => ledger::reservations(scene).await,
        "E-LiquidityThresholdExceeded" => participants::warn(scene).await,
        "E-GetParticipantsTransfersData" => participants::transfers_data(scene).await,
        "E-GetParticipantQuoteData" => participants::quote_data(scene).await,
        "E-GetParticipantCallbackInfo" => participants::callback_info(scene).await,
        "E-GetParticipantInfo-gRPC" => participants::info(scene).await,
        "E-ParticipantStateUpdated" => participants::state_updated(scene).await,
        "E-CreateScheduleReminder-DeleteScheduleReminder" => participants::remind(scene).await,
        row => panic!("{row} is called by nothing here"),
    }
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
    let mut failed = Vec::new();
    let shown = Shown::of(&host, &scheme).unwrap();
    let scene = Scene { clients, shown };
    for row in in_order(rows) {
        let is_listed = methods(&row.id).iter().all(|method| names.contains(method));
        let outcome = match call(&row.id, &scene).await {
            Ok(outcome) if is_listed => {
                seen.push(row.id.clone());
                format!("OK: {outcome}")
            }
            other => {
                let outcome = told(other);
                failed.push(format!("{}: {outcome}, listed: {is_listed}", row.id));
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
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    // What has moved money has an entry with the program that asked for it; what only reads has none.
    let office = Office::of(&scheme, &host, &[]).unwrap();
    let moved = entries(&office, "call.process-transfer-fulfil", 1).await;
    assert_eq!(
        (
            &moved[0]["actor"],
            &moved[0]["outcome"],
            &moved[0]["writer"]
        ),
        (
            &json!({ "kind": "operator", "name": "switch" }),
            &json!("done"),
            &json!("accounts-and-balances")
        )
    );
    let query = json!({ "action": "call.get-current-liquidity-position", "limit": 1 });
    let said = office.post(OFFICE, "/read-audit-log", &query).await;
    assert_eq!(said.unwrap().body["items"], json!([]));
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
