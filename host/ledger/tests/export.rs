//! The exact bytes of exports.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_engine::store::{Collection, DocumentWrite, Group, Store as _};
use rialto_engine::{CollectionId, Lsn};
use rialto_ledger::export::{ExportKind, Format};
use rialto_ledger::{Ledger, LedgerError};
use rialto_store_sqlite::SqliteStore;

const ACCOUNT: &str = r#"{"id":"a:USD:LIQUIDITY","participant":"a","accountType":"LIQUIDITY","currency":"USD","scale":2,
    "state":"ENABLED","debitBalance":"5","creditBalance":"100000","debitLimit":"0","netDebitCap":"50000","unsettled":"0",
    "tail":{"count":2,"entries":"d:liquidity t:prepare","debitBefore":"0","creditBefore":"0","earliest":8,"latest":9},
    "createdAt":7}"#;
const ENTRY: &str = r#"{"id":"11436b17-c690-4a30-8505-42a2c4eafb9d:prepare","debitAccount":"a:USD:LIQUIDITY",
    "creditAccount":"a:USD:POSITION","amount":"5","currency":"USD","scale":2,"entryType":"TRANSFER_PREPARE",
    "correlationId":"11436b17-c690-4a30-8505-42a2c4eafb9d","postedAt":9}"#;
const RESERVATION: &str = r#"{"transferId":"t","payer":"a, \"the\" first","amount":"5","currency":"USD","scale":2,
    "accounts":{"payerLiquidity":"a:USD:LIQUIDITY","payerPosition":"a:USD:POSITION"},"state":"open","openedAt":9}"#;

fn store(documents: &[(&str, &str, &str)]) -> tempfile::TempDir {
    let folder = rialto_files::temporary_folder().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    store.recover().unwrap();
    let mut group = Group {
        lsn: Lsn(1),
        next_id: 2,
        ..Group::default()
    };
    for (n, (collection, id, body)) in (1_u32..).zip(documents) {
        group.collections.push(Collection {
            id: CollectionId(n),
            component: "accounts-and-balances".into(),
            name: (*collection).into(),
        });
        group.documents.push(DocumentWrite {
            collection: CollectionId(n),
            id: (*id).into(),
            version: 1,
            body: Some((*body).into()),
        });
    }
    store.write(&group).unwrap();
    folder
}

fn exported(ledger: &mut Ledger, what: ExportKind, format: Format) -> String {
    let mut out = Vec::new();
    ledger.export(what, format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn accounts_entries_and_reservations_are_written_as_they_are() {
    let folder = store(&[
        ("accounts", "a:USD:LIQUIDITY", ACCOUNT),
        (
            "entries",
            "11436b17-c690-4a30-8505-42a2c4eafb9d:prepare",
            ENTRY,
        ),
        ("reservations", "t", RESERVATION),
    ]);
    let mut ledger = Ledger::open(folder.path()).unwrap();
    assert_eq!(
        exported(&mut ledger, ExportKind::Accounts, Format::Csv),
        "id,participant,accountType,currency,scale,state,debits,debitsMinor,credits,creditsMinor,balance,balanceMinor,\
         netDebitCap,netDebitCapMinor,liquidityThreshold,liquidityThresholdMinor,unsettled,unsettledMinor,settlementModel,\
         batch,entries,createdAt,openingDebits,openingDebitsMinor,openingCredits,openingCreditsMinor,openingBalance,\
         openingBalanceMinor,archivedEntries,archivedUntil,archiveFile,archiveSha256\r\n\
         a:USD:LIQUIDITY,a,LIQUIDITY,USD,2,ENABLED,0.05,5,1000.00,100000,999.95,99995,500.00,50000,,,0.00,0,,,2,7,,,,,,,,,,\r\n"
    );
    assert_eq!(
        exported(&mut ledger, ExportKind::Entries, Format::Json),
        "{\"journalEntryId\":\"b9125ad1-5b84-5a29-acdd-d178dee70153\",\
         \"id\":\"11436b17-c690-4a30-8505-42a2c4eafb9d:prepare\",\"entryType\":\"TRANSFER_PREPARE\",\
         \"debitAccount\":\"a:USD:LIQUIDITY\",\"creditAccount\":\"a:USD:POSITION\",\"amount\":\"0.05\",\"amountMinor\":\"5\",\
         \"currency\":\"USD\",\"scale\":2,\"cause\":\"11436b17-c690-4a30-8505-42a2c4eafb9d\",\"postedAt\":9}\n"
    );
    assert_eq!(
        exported(&mut ledger, ExportKind::Reservations, Format::Csv),
        "transferId,state,payer,amount,amountMinor,currency,scale,payerLiquidity,payerPosition,payeeLiquidity,openedAt,closedAt\r\n\
         t,open,\"a, \"\"the\"\" first\",0.05,5,USD,2,a:USD:LIQUIDITY,a:USD:POSITION,,9,\r\n"
    );
}

#[test]
fn a_store_without_a_ledger_is_said_to_have_none() {
    let folder = store(&[("things", "a", "{}")]);
    let none = Ledger::open(folder.path()).err().unwrap();
    assert!(matches!(none, LedgerError::NoLedger { .. }), "{none}");
    let text = "this scheme keeps no ledger: its store has no documents `accounts` of `accounts-and-balances`";
    assert_eq!(none.to_string(), text);
}
