//! Authorization of calls, and statuses and details of refusals.

use std::time::Duration;

use prost::Message;
use rialto_grpc_client::api::rialto::accounts_and_balances::v0_1 as ab;
use rialto_grpc_client::api::rialto::scheduling::v0_1 as sch;
use rialto_grpc_client::tonic::{Code, Status};
use rialto_grpc_client::{Caller, Details, reflected};
use rialto_tests::RunningHost;
use rialto_tests::office::{OFFICE, Office};
use rialto_tests::waiting::until;
use serde_json::json;

use crate::grpc::raw;
use crate::grpc::support::{
    ALL, Clients, Order, add_friend, call, dollars, number, offering, order, token,
};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
/// A method that changes nothing.
const INFO: &str = "/rialto.participant_lifecycle_management.v0_1.\
                    ParticipantLifecycleManagementService/GetParticipantInfo";
/// The health check, which needs no token.
const HEALTH: &str = "/grpc.health.v1.Health/Check";
/// A method that there is not.
const NOTHING: &str = "/rialto.scheduling.v0_1.SchedulingService/NothingOfTheKind";

/// An answer of which only its being there matters.
#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(bytes = "vec", tag = "1")]
    first: Vec<u8>,
}

async fn asked(host: &RunningHost, caller: Caller, path: &'static str) -> Result<Any, Status> {
    asked_for(host, caller, path, "payerfsp").await
}

/// Call a method whose request has one text.
async fn asked_for(
    host: &RunningHost,
    caller: Caller,
    path: &'static str,
    text: &str,
) -> Result<Any, Status> {
    let clients = Clients::by(host, caller).await;
    let request = Order {
        text: text.to_owned(),
    };
    call(&clients.connection, path, request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn personal_token_calls_until_it_ends() {
    let scheme = offering(ALL);
    let host = RunningHost::start(&scheme).unwrap();
    let made = |role: &str| {
        let command = [
            "token", "new", "--label", "calls", "--role", role, "--as", "switch",
        ];
        host.cli(&command).unwrap().success().unwrap()
    };
    let (calls, reads) = (made("context"), made("reader"));
    let caller = || Caller::with_token(calls.trim());
    asked(&host, caller(), INFO).await.unwrap();
    let reader = Caller::with_token(reads.trim());
    let refused = asked(&host, reader, INFO).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
    let listed = host.cli(&["token", "list", "--as", "switch"]).unwrap();
    let listed = listed.success().unwrap();
    let line = listed
        .lines()
        .find(|line| line.contains("(context)"))
        .unwrap();
    let id = line.split(' ').next().unwrap();
    let ended = host.cli(&["token", "end", id, "--as", "switch"]).unwrap();
    ended.success().unwrap();
    let refused = asked(&host, caller(), INFO).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_reflection_need_their_roles() {
    let scheme = offering(ALL);
    let host = RunningHost::start(&scheme).unwrap();
    let first =
        std::fs::read_to_string(scheme.path().join("state/operators/office.token")).unwrap();
    let first = first.trim();
    let right = token(&scheme);
    let shorter = &right[..right.len() - 1];
    for (caller, expected) in [
        (Caller::nobody(), Code::Unauthenticated),
        (Caller::with_token(""), Code::Unauthenticated),
        (Caller::with_token(shorter), Code::Unauthenticated),
        (
            Caller::with_token(&format!("{right}0")),
            Code::Unauthenticated,
        ),
        // This operator has all roles but this one.
        (Caller::with_token(first), Code::PermissionDenied),
    ] {
        for path in [INFO, NOTHING] {
            let refused = asked(&host, caller.clone(), path).await.unwrap_err();
            assert_eq!(refused.code(), expected, "{path}: {refused:?}");
        }
    }
    let office = Office::of(&scheme, &host, &[]).unwrap();
    for action in ["authentication.refused", "authorization.refused"] {
        let query = json!({ "action": action, "limit": 10 });
        until(action, SOON, async || {
            let said = office.post(OFFICE, "/read-audit-log", &query).await?;
            let about = &said.body["items"][0]["entry"]["about"];
            let is_it = about
                .as_str()
                .is_some_and(|about| about == format!("gRPC {INFO}"));
            Ok(is_it.then_some(()).ok_or(said.body.to_string()))
        })
        .await
        .unwrap();
    }
    let refused = asked(&host, Caller::with_token(first), INFO)
        .await
        .unwrap_err();
    assert!(
        refused.message().contains("the role `context`"),
        "{refused:?}"
    );
    let answer = asked(&host, Caller::with_token(&right), INFO)
        .await
        .unwrap();
    assert!(!answer.first.is_empty());

    let reflected = async |caller: Caller| {
        let connection = Clients::by(&host, caller).await.connection;
        reflected::methods(connection).await
    };
    let refused = reflected(Caller::nobody()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(
        !reflected(Caller::with_token(first))
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn open_reflection_shows_methods_and_nothing_else() {
    let serve = "serve = [\"participant-lifecycle-management/*\"]";
    let scheme = offering(&format!("{serve}\nreflection = \"open\"\n"));
    let host = RunningHost::start(&scheme).unwrap();
    let nobody = Clients::by(&host, Caller::nobody()).await;
    let methods = reflected::methods(nobody.connection.clone()).await.unwrap();
    assert!(methods.iter().any(|method| INFO.ends_with(method.as_str())));
    // All of a package is all of its calls: an event is listed by itself or not at all.
    assert!(
        !methods
            .iter()
            .any(|method| method.ends_with("ParticipantStateUpdated"))
    );
    let refused = asked(&host, Caller::nobody(), INFO).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);

    // A client without a token may not send large messages either.
    let url = host.url("grpc").unwrap();
    let mut headers = raw::headers("");
    headers.remove("authorization");
    let long = [&[0x0a, 0x80, 0x40][..], &[b'x'; 8192]].concat();
    let answer = raw::send(url, "POST", HEALTH, &headers, raw::framed(&long));
    let answer = answer.await.unwrap();
    assert_eq!(answer.status(), Code::OutOfRange as i32, "{answer:?}");
    let answer = raw::send(url, "POST", HEALTH, &headers, raw::framed(b""));
    assert_eq!(answer.await.unwrap().status(), 0);
}

fn prepare(debit: &str, cents: u64) -> ab::ProcessTransferPrepareRequest {
    ab::ProcessTransferPrepareRequest {
        transfer_id: "t".to_owned(),
        payer_fsp: "payerfsp".to_owned(),
        debit_account: debit.to_owned(),
        credit_account: "payerfsp:USD:POSITION".to_owned(),
        amount: Some(dollars(cents)),
        settlement: Some(ab::SettlementTiming {
            kind: Some(ab::settlement_timing::Kind::Deferred(())),
        }),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn component_refusal_has_a_status_and_its_typed_error() {
    let scheme = offering(ALL);
    let host = RunningHost::start(&scheme).unwrap();
    let mut clients = Clients::of(&host, &scheme).await;
    let error = "rialto.accounts_and_balances.v0_1.LedgerError";

    let too_much = prepare("payerfsp:USD:LIQUIDITY", u64::MAX);
    let refused = clients
        .ledger
        .process_transfer_prepare(too_much)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused:?}");
    assert_eq!(refused.message(), "exceeds-limits");
    let details = Details::of(&refused);
    let info = details.error_info().unwrap();
    assert_eq!(info.reason, "EXCEEDS_LIMITS");
    assert_eq!(info.domain, "rialto:accounts-and-balances");
    let ledger: ab::LedgerError = details.find(error).unwrap();
    match ledger.kind.unwrap() {
        ab::ledger_error::Kind::ExceedsLimits(position) => {
            assert_eq!(position.account_id, "payerfsp:USD:LIQUIDITY");
            assert!(position.available.is_some());
        }
        other => panic!("{other:?}"),
    }

    let unknown = prepare("nobody:USD:LIQUIDITY", 1);
    let refused = clients
        .ledger
        .process_transfer_prepare(unknown)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::NotFound, "{refused:?}");
    let ledger: ab::LedgerError = Details::of(&refused).find(error).unwrap();
    let account = "nobody:USD:LIQUIDITY".to_owned();
    assert_eq!(
        ledger.kind,
        Some(ab::ledger_error::Kind::UnknownAccount(account))
    );

    let request = sch::CreateScheduleReminderRequest {
        reminder: Some(sch::Reminder {
            client: "Not In Kebab Case".to_owned(),
            id: "1".to_owned(),
            due: 1,
            payload: String::new(),
        }),
    };
    let refused = clients
        .scheduling
        .create_schedule_reminder(request)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    let details = Details::of(&refused);
    assert_eq!(details.error_info().unwrap().reason, "MALFORMED");
    assert!(details.violations().is_empty());

    // An account is no id by its name: the ledger itself says what is wrong with it.
    let no_account = prepare("", 1);
    let ledger = &mut clients.ledger;
    let refused = ledger.process_transfer_prepare(no_account).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    assert_eq!(
        Details::of(&refused).error_info().unwrap().reason,
        "MALFORMED"
    );

    let story = host
        .cli(&["documents", "accounts-and-balances", "accounts"])
        .unwrap();
    assert!(!story.success().unwrap().contains("nobody"));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_message_is_refused_with_its_field() {
    let scheme = offering(ALL);
    let host = RunningHost::start(&scheme).unwrap();
    let mut clients = Clients::of(&host, &scheme).await;
    let good = ab::ManageFundsCreditDebitPairInstructionRequest {
        instruction_id: "i".to_owned(),
        participant: "payerfsp".to_owned(),
        direction: ab::Direction::Deposit.into(),
        amount: Some(dollars(1)),
        settlement_model: None,
    };
    let mut no_amount = good.clone();
    no_amount.amount = None;
    let mut no_direction = good.clone();
    no_direction.direction = 0;
    let mut unknown_direction = good.clone();
    unknown_direction.direction = 77;
    let mut scale = good;
    scale.amount.as_mut().unwrap().scale = 256;
    for (request, field) in [
        (no_amount, "amount"),
        (no_direction, "direction"),
        (unknown_direction, "direction"),
        (scale, "amount.scale"),
    ] {
        let ledger = &mut clients.ledger;
        let answer = ledger
            .manage_funds_credit_debit_pair_instruction(request)
            .await;
        let refused = answer.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
        let violations = Details::of(&refused).violations();
        let fields: Vec<&str> = violations.iter().map(|v| v.field.as_str()).collect();
        assert_eq!(fields, [field], "{refused:?}");
    }
    let no_id = prepare("payerfsp:USD:LIQUIDITY", 1);
    let no_id = ab::ProcessTransferPrepareRequest {
        transfer_id: String::new(),
        ..no_id
    };
    let answer = clients.ledger.process_transfer_prepare(no_id).await;
    let refused = answer.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    assert_eq!(Details::of(&refused).violations()[0].field, "transfer_id");
    // Nothing said at all: `participant` is of the type `fsp-id`.
    let nobody = asked_for(&host, Caller::with_token(&token(&scheme)), INFO, "").await;
    let refused = nobody.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    assert_eq!(Details::of(&refused).violations()[0].field, "participant");

    let url = host.url("grpc").unwrap();
    let headers = raw::headers(&token(&scheme));
    for bad in [&[0x08_u8][..], &[0x08, 1], &[0x0a, 9, b'x'], &[0xff; 12]] {
        let answer = raw::send(url, "POST", INFO, &headers, raw::framed(bad))
            .await
            .unwrap();
        assert_eq!(
            answer.status(),
            Code::InvalidArgument as i32,
            "{bad:?}: {answer:?}"
        );
    }
    // No message, a part of one, one with a flag that there is not.
    for bad in [&[][..], &[0, 0], &[0, 0, 0, 0, 9, b'x'], &[9, 0, 0, 0, 0]] {
        let body = bytes::Bytes::copy_from_slice(bad);
        let answer = raw::send(url, "POST", INFO, &headers, body).await.unwrap();
        let status = answer.status();
        assert_eq!(status, Code::InvalidArgument as i32, "{bad:?}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unserved_method_and_non_grpc_request_differ() {
    let scheme = offering("serve = [\"scheduling/create-schedule-reminder\"]\n");
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    for path in [INFO, NOTHING, "/no.such.Service/Method"] {
        let refused = asked(&host, Caller::with_token(&token(&scheme)), path).await;
        assert_eq!(refused.unwrap_err().code(), Code::Unimplemented, "{path}");
    }
    let methods = reflected::methods(clients.connection.clone())
        .await
        .unwrap();
    let ours: Vec<&String> = methods.iter().filter(|m| m.starts_with("rialto")).collect();
    assert_eq!(
        ours,
        ["rialto.scheduling.v0_1.SchedulingService/CreateScheduleReminder"]
    );

    let url = host.url("grpc").unwrap();
    let headers = raw::headers(&token(&scheme));
    let get = raw::send(url, "GET", INFO, &headers, raw::framed(b""))
        .await
        .unwrap();
    assert_eq!(get.http, 405);
    let mut json = headers.clone();
    json.insert("content-type", "application/json".to_owned());
    let answer = raw::send(url, "POST", INFO, &json, raw::framed(b""))
        .await
        .unwrap();
    assert_eq!(answer.http, 415);
    let mut timeout = headers;
    timeout.insert("grpc-timeout", "soon".to_owned());
    let path = "/rialto.scheduling.v0_1.SchedulingService/CreateScheduleReminder";
    let answer = raw::send(url, "POST", path, &timeout, raw::framed(b""))
        .await
        .unwrap();
    assert_eq!(answer.status(), Code::InvalidArgument as i32, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_component_has_a_trace_and_long_messages_are_refused() {
    let scheme = offering(ALL);
    add_friend(&scheme, "memory = \"8 MiB\"");
    number(&scheme);
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    assert_eq!(order(&clients.connection, "nothing").await.unwrap(), "done");

    let trace = "0af7651916cd43dd8448eb211c80319c";
    let url = host.url("grpc").unwrap();
    let mut headers = raw::headers(&token(&scheme));
    headers.insert("traceparent", format!("00-{trace}-b7ad6b7169203331-01"));
    let trap = Order {
        text: "write-then trap".to_owned(),
    };
    let trap = raw::framed(&trap.encode_to_vec());
    let answer = raw::send(url, "POST", crate::grpc::support::ECHO, &headers, trap)
        .await
        .unwrap();
    assert_eq!(answer.status(), Code::Internal as i32);
    assert_eq!(answer.get("trace-id"), Some(trace));
    let message = answer.get("grpc-message").unwrap();
    assert!(!message.contains("friend"), "no inner words: {message}");
    let left = host.cli(&["documents", "hostile-friend", "marks"]).unwrap();
    assert!(
        !left.success().unwrap().contains("written"),
        "a failed call left something"
    );

    let long = "x".repeat(1 << 20);
    let refused = order(&clients.connection, &long).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nearly_full_disk_refuses_calls_as_retryable() {
    let scheme = offering(ALL);
    // More than any disk has.
    let not_enough = "path = \"state\"\nfree-min = \"1000000000 GiB\"";
    scheme
        .replace("rialto.toml", "path = \"state\"", not_enough)
        .unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let caller = || Caller::with_token(&token(&scheme));
    let refused = asked(&host, caller(), INFO).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    let words = refused.message();
    assert!(words.contains("too little disk space"), "{refused:?}");
    // Authorization is checked first, and health is open to everybody.
    let stranger = asked(&host, Caller::nobody(), INFO).await.unwrap_err();
    assert_eq!(stranger.code(), Code::Unauthenticated, "{stranger:?}");
    let health = asked(&host, Caller::nobody(), HEALTH).await.unwrap_err();
    // An answer: a participant is no service.
    assert_eq!(health.code(), Code::NotFound, "{health:?}");
}
