//! Effects of a new release for clients: methods follow their components, and no call is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rialto_grpc_client::api::rialto::participant_lifecycle_management::v0_1::GetParticipantInfoRequest;
use rialto_grpc_client::tonic::Code;
use rialto_grpc_client::tonic_health::pb::HealthCheckRequest;
use rialto_grpc_client::tonic_health::pb::health_check_response::ServingStatus;
use rialto_grpc_client::tonic_health::pb::health_client::HealthClient;
use rialto_grpc_client::{details::Details, reflected};
use rialto_tests::waiting::until;
use rialto_tests::{RunningHost, TestScheme};

use crate::grpc::support::{ALL, Clients, ECHO, add_friend, number, offering, order};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(40);
/// How often a release is made current under load.
const CHANGES: usize = 6;
/// A concurrent caller.
const CALLERS: usize = 4;

/// A scheme whose numbers are those of its other release, which has the friend.
fn two_releases() -> (TestScheme, TestScheme) {
    let scheme = offering(ALL);
    let with_friend = scheme.twin().unwrap();
    add_friend(&with_friend, "memory = \"8 MiB\"");
    number(&with_friend);
    let lock = "proto.lock.toml";
    std::fs::copy(with_friend.path().join(lock), scheme.path().join(lock)).unwrap();
    (scheme, with_friend)
}

fn apply(host: &RunningHost, folder: &TestScheme) {
    let path = folder.path().display().to_string();
    let applied = host.cli(&["release", "apply", &path]).unwrap();
    applied.success().unwrap();
}

async fn friend_is_listed(clients: &Clients) -> bool {
    let methods = reflected::methods(clients.connection.clone())
        .await
        .unwrap();
    methods.contains(ECHO.trim_start_matches('/'))
}

async fn health(clients: &Clients, service: &str) -> Result<ServingStatus, Code> {
    let mut client = HealthClient::new(clients.connection.clone());
    let request = HealthCheckRequest {
        service: service.to_owned(),
    };
    let checked = client.check(request).await;
    checked
        .map(|response| response.into_inner().status())
        .map_err(|status| status.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn methods_follow_the_release_of_their_component() {
    let (scheme, with_friend) = two_releases();
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    let service = "rialto.hostile_context.v0_1.HostileContextService";
    assert_eq!(health(&clients, "").await, Ok(ServingStatus::Serving));
    for _ in 0..2 {
        let gone = order(&clients.connection, "nothing").await.unwrap_err();
        assert_eq!(gone.code(), Code::Unimplemented);
        assert!(!friend_is_listed(&clients).await);
        until("its health is gone", SOON, async || {
            let health = health(&clients, service).await;
            Ok(if health == Err(Code::NotFound) {
                Ok(())
            } else {
                Err(format!("{health:?}"))
            })
        })
        .await
        .unwrap();
        apply(&host, &with_friend);
        assert_eq!(order(&clients.connection, "nothing").await.unwrap(), "done");
        assert!(friend_is_listed(&clients).await);
        until("it is healthy", SOON, async || {
            let health = health(&clients, service).await;
            Ok(if health == Ok(ServingStatus::Serving) {
                Ok(())
            } else {
                Err(format!("{health:?}"))
            })
        })
        .await
        .unwrap();
        apply(&host, &scheme);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn new_release_fails_only_retryable_calls() {
    let (scheme, with_friend) = two_releases();
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    let stop = Arc::new(AtomicBool::new(false));
    // Only calls that were answered count as load.
    let answered = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let mut client = clients.participants.clone();
            let (stop, answered) = (stop.clone(), answered.clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let request = GetParticipantInfoRequest {
                        participant: "payerfsp".to_owned(),
                    };
                    match client.get_participant_info(request).await {
                        Ok(answer) => {
                            assert!(answer.into_inner().result.is_some());
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(status) => {
                            assert_eq!(status.code(), Code::Unavailable, "{status:?}");
                            assert_eq!(Details::of(&status).retry_seconds(), Some(1));
                        }
                    }
                }
            })
        })
        .collect();
    for change in 0..CHANGES {
        let wanted = answered.load(Ordering::Relaxed) + 10 * CALLERS;
        until("calls under way", SOON, async || {
            let now = answered.load(Ordering::Relaxed);
            Ok(if now >= wanted {
                Ok(())
            } else {
                Err(format!("{now} of {wanted}"))
            })
        })
        .await
        .unwrap();
        apply(
            &host,
            if change % 2 == 0 {
                &with_friend
            } else {
                &scheme
            },
        );
    }
    stop.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_listener_tells_watchers_and_ends_their_streams() {
    let scheme = offering(ALL);
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    let service = "rialto.scheduling.v0_1.SchedulingService";
    let mut streams = Vec::new();
    for service in ["", service] {
        let mut client = HealthClient::new(clients.connection.clone());
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        let mut stream = client.watch(request).await.unwrap().into_inner();
        let now = stream.message().await.unwrap().unwrap();
        assert_eq!(now.status(), ServingStatus::Serving);
        streams.push(stream);
    }
    let mut held = reflected::held_open(clients.connection.clone())
        .await
        .unwrap();
    host.terminate().unwrap();
    // A reflection stream that stays open is ended, and does not delay the host.
    let ended = tokio::time::timeout(SOON, held.message()).await.unwrap();
    assert!(ended.unwrap().is_none(), "the stream ends");
    for mut stream in streams {
        let told = tokio::time::timeout(SOON, stream.message()).await.unwrap();
        assert_eq!(told.unwrap().unwrap().status(), ServingStatus::NotServing);
        let ended = tokio::time::timeout(SOON, stream.message()).await.unwrap();
        assert!(ended.unwrap().is_none(), "the stream ends");
    }
}
