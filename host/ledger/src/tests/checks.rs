//! Checks of a ledger with archived transfers: it is intact, and all damage is found.

use serde_json::json;

use super::{
    ACCOUNTS, ENTRIES, HUB, OWES, PAGES, PAYEE, PAYER, POSITION, RESERVATIONS, Scene, add,
    increase, transfer,
};
use crate::check::{Check, Report};
use crate::documents::page_id;

fn checked(scene: &Scene) -> Report {
    let (_folder, mut ledger) = scene.ledger();
    ledger.check(None).unwrap()
}

#[track_caller]
fn is_whole(scene: &Scene) {
    let report = checked(scene);
    assert_eq!(report.total(), 0, "{:#?}", report.breaches);
}

#[test]
fn a_ledger_without_archived_transfers_is_whole() {
    is_whole(&Scene::new());
    is_whole(&Scene::busy());
}

#[test]
fn a_ledger_with_archived_transfers_is_whole() {
    let mut scene = Scene::archived();
    // Deposits, gone, gone, partly gone, deposits: the scene is what the test is about.
    let has_page = |number: u64| {
        let key = (PAGES, page_id(PAYER, number));
        scene.documents.contains_key(&key)
    };
    let pages: Vec<bool> = (0..5).map(has_page).collect();
    assert_eq!(pages, [true, false, false, true, true]);
    assert_eq!(scene.opening(PAYER)["entries"], 38);
    assert_eq!(scene.opening(POSITION)["pages"], 4);
    is_whole(&scene);
    let (_folder, mut ledger) = scene.ledger();
    assert_eq!(ledger.check(Some("USD")).unwrap().total(), 0);
    // A second archive, and a third that takes the last entries of a page.
    scene.archive([transfer(37)]);
    is_whole(&scene);
    scene.archive([36, 38, 39].map(transfer));
    assert_eq!(scene.opening(POSITION)["pages"], 5);
    is_whole(&scene);
    // What comes behind them.
    scene.pay("next", 20);
    scene.settle("B1:settle-1");
    is_whole(&scene);
}

#[test]
fn transfers_in_any_order_may_be_archived() {
    for step in [2, 3, 7] {
        let mut scene = Scene::busy();
        scene.archive((0..40).step_by(step).map(transfer));
        is_whole(&scene);
        scene.archive((0..40).filter(|n| n % step as i128 != 0).map(transfer));
        is_whole(&scene);
    }
}

#[test]
fn pages_may_go_later_than_their_entries() {
    let mut scene = Scene::busy();
    scene.take_out((0..36).map(transfer));
    is_whole(&scene);
    // A page without entries is looked at, too.
    let page = page_id(PAYER, 2);
    let says = scene.document(PAGES, &page)["creditBefore"].clone();
    scene.document(PAGES, &page)["creditBefore"] = json!("1");
    assert!(!checked(&scene).holds(Check::Histories));
    scene.document(PAGES, &page)["creditBefore"] = says;
    scene.take_pages_out();
    is_whole(&scene);
}

/// What is done, how, and what must be found.
type Damage = (&'static str, fn(&mut Scene), Check);

const DAMAGES: &[Damage] = &[
    (
        "archived credits are wrong by one",
        |scene| add(&mut scene.opening(PAYEE)["credits"], 1),
        Check::Entries,
    ),
    (
        "archived credits are wrong by one, seen from the other side",
        |scene| add(&mut scene.opening(PAYEE)["credits"], 1),
        Check::DebitsAreCredits,
    ),
    (
        "archived debits are wrong by one",
        |scene| add(&mut scene.opening(OWES)["debits"], -1),
        Check::Entries,
    ),
    (
        "archived sums are not zero-sum, and every balance is right",
        |scene| {
            add(&mut scene.opening(PAYEE)["credits"], 5);
            let deposit = scene.document(ENTRIES, "first:funds-liquidity");
            add(&mut deposit["amount"], -5);
        },
        Check::DebitsAreCredits,
    ),
    (
        "archived unsettled amounts are wrong by one",
        |scene| add(&mut scene.opening(POSITION)["unsettled"], 1),
        Check::Unsettled,
    ),
    (
        "archived unsettled amounts have one side",
        |scene| {
            add(&mut scene.opening(PAYEE)["unsettled"], 5);
            add(&mut scene.account(PAYEE)["unsettled"], 5);
        },
        Check::Unsettled,
    ),
    (
        "one entry too many is counted",
        |scene| increase(&mut scene.opening(PAYER)["entries"]),
        Check::Histories,
    ),
    (
        "one page too many is counted",
        |scene| increase(&mut scene.opening(POSITION)["pages"]),
        Check::Histories,
    ),
    (
        "an opening balance is gone",
        |scene| scene.account(PAYEE)["archived"] = json!(null),
        Check::Entries,
    ),
    (
        "an opening balance is gone, seen from the pages",
        |scene| scene.account(PAYEE)["archived"] = json!(null),
        Check::Histories,
    ),
    (
        "an opening balance cannot be read",
        |scene| scene.opening(PAYEE)["credits"] = json!("-1"),
        Check::Readable,
    ),
    (
        "an entry is gone that is not counted",
        |scene| _ = scene.remove(ENTRIES, "t39:fulfil"),
        Check::Entries,
    ),
    (
        "an entry is gone that is not counted, seen from its page",
        |scene| _ = scene.remove(ENTRIES, "t39:fulfil"),
        Check::Histories,
    ),
    (
        "an entry is gone that is not counted, seen from its transfer",
        |scene| _ = scene.remove(ENTRIES, "t39:fulfil"),
        Check::Reservations,
    ),
    (
        "an entry of an account without an opening balance is gone",
        |scene| _ = scene.remove(ENTRIES, "late7:funds-settlement"),
        Check::Histories,
    ),
    (
        "an archived entry is there again",
        |scene| {
            let entry = json!({
                "id": "t00:prepare", "debitAccount": PAYER, "creditAccount": POSITION, "amount": "10",
                "currency": "USD", "scale": 2, "entryType": "TRANSFER_PREPARE", "correlationId": "t00",
                "postedAt": 1_100,
            });
            scene
                .documents
                .insert((ENTRIES, "t00:prepare".to_owned()), entry);
        },
        Check::Entries,
    ),
    (
        "a whole page is gone that is not counted",
        |scene| _ = scene.remove(PAGES, "a:USD:LIQUIDITY/0000000004"),
        Check::Histories,
    ),
    (
        "a page with gaps is gone that is not counted",
        |scene| _ = scene.remove(PAGES, "a:USD:LIQUIDITY/0000000003"),
        Check::Histories,
    ),
    (
        "a page behind a gap has smaller sums",
        |scene| {
            let page = scene.document(PAGES, "a:USD:LIQUIDITY/0000000003");
            page["creditBefore"] = json!("1");
        },
        Check::Histories,
    ),
    (
        "a tail has less before it than what is left of the pages",
        |scene| scene.account(PAYEE)["tail"]["creditBefore"] = json!("499"),
        Check::Histories,
    ),
    (
        "a whole page does not meet the next one",
        |scene| {
            let page = scene.document(PAGES, "a:USD:LIQUIDITY/0000000004");
            add(&mut page["creditBefore"], 1);
        },
        Check::Histories,
    ),
    (
        "a page with gaps lists another entry",
        |scene| {
            let page = scene.document(PAGES, "a:USD:LIQUIDITY/0000000003");
            let listed = page["entries"].as_str().unwrap_or_default();
            page["entries"] = listed.replace("t36:prepare", "other:prepare").into();
        },
        Check::Histories,
    ),
    (
        "what is left of a page is from another time",
        |scene| scene.document(ENTRIES, "t36:prepare")["postedAt"] = json!(7),
        Check::Histories,
    ),
    (
        "a reservation is gone alone",
        |scene| _ = scene.remove(RESERVATIONS, "t39"),
        Check::Reservations,
    ),
    (
        "an open reservation is gone alone",
        |scene| _ = scene.remove(RESERVATIONS, "open"),
        Check::Reserved,
    ),
    (
        "a balance is wrong by one",
        |scene| add(&mut scene.account(PAYEE)["creditBalance"], 1),
        Check::Entries,
    ),
    (
        "an account is gone",
        |scene| _ = scene.remove(ACCOUNTS, HUB),
        Check::Entries,
    ),
];

#[test]
fn each_damage_beside_archived_transfers_is_found() {
    for (what, damage, wanted) in DAMAGES {
        let mut scene = Scene::archived();
        damage(&mut scene);
        let report = checked(&scene);
        assert!(!report.holds(*wanted), "{what}: {:#?}", report.breaches);
    }
}

#[test]
fn a_breach_says_where_a_sum_begins() {
    let mut scene = Scene::archived();
    add(&mut scene.opening(PAYEE)["credits"], 1);
    increase(&mut scene.opening(PAYEE)["entries"]);
    let report = checked(&scene);
    let texts: Vec<&str> = report.breaches.iter().map(|b| b.text.as_str()).collect();
    // The transfers t00 to t35 are of 0.10 to 0.45, those that are there of 0.46 to 0.49.
    assert_eq!(
        texts,
        [
            "b:USD:LIQUIDITY has debits of 0.00 and credits of 16.80, its opening balance (debits of 0.00, \
             credits of 9.91) and its entries sum to 0.00 and 16.81",
            "USD, liquidity book: opening balances have debits of 19.94, credits of 19.95",
            "36 entries of b:USD:LIQUIDITY are not there (20 that are listed, the others on missing pages), \
             its opening balance stands for 37",
        ]
    );
}

#[test]
fn archived_entries_from_before_an_account_kept_a_history() {
    let mut scene = Scene::new();
    scene.keeps_history = false;
    scene.deposit("a", "first", 1_000);
    for id in ["old0", "old1"] {
        scene.pay(id, 10);
    }
    scene.keeps_history = true;
    for n in 0..20 {
        scene.pay(&transfer(n), 10);
    }
    scene.settle("B1:settle-0");
    is_whole(&scene);
    scene.archive(["old0".to_owned(), transfer(3)]);
    is_whole(&scene);
    // The sums tell, where the number of listed entries does not.
    let mut other = Scene {
        documents: scene.documents.clone(),
        ..Scene::new()
    };
    other.remove(ENTRIES, "old1:prepare");
    assert!(!checked(&other).holds(Check::Entries));
    // No more are counted than what was before the first page leaves room for.
    scene.archive(["old1".to_owned()]);
    is_whole(&scene);
    scene.opening(PAYER)["entries"] = json!(1);
    assert!(!checked(&scene).holds(Check::Histories));
}
