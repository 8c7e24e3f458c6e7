//! An event from outside: all consumers get it, and none trusts it.

use std::time::Duration;

use http::Method;
use rialto_grpc_client::api::rialto::participant_lifecycle_management::v0_1 as plm;
use rialto_tests::barred::bar;
use rialto_tests::messages::transfer;
use rialto_tests::world::PAYEE;
use rialto_tests::{World, WorldOptions};

use crate::grpc::support::{ALL, Clients, offering};

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_lie_about_a_participants_state_lets_nobody_trade() {
    let options = WorldOptions::default();
    let mut world = World::of(offering(ALL), &options).await.unwrap();
    world.host.kill().unwrap();
    bar(&world.scheme, PAYEE).await.unwrap();
    world.host.restart().unwrap();

    let mut clients = Clients::of(&world.host, &world.scheme).await;
    let lie = plm::ParticipantStateUpdatedEvent {
        participant: PAYEE.to_owned(),
        before: plm::ParticipantState::Disabled.into(),
        after: plm::ParticipantState::Approved.into(),
        may_transact: true,
        updated_at: 1,
    };
    clients
        .participants
        .participant_state_updated(lie)
        .await
        .unwrap();
    // All subscribers take it.
    world.host.nothing_failed().await.unwrap();

    let payer = world.payer();
    let id = payer.new_id();
    let body = transfer(&id, |_| {}).to_string();
    let answer = payer
        .raw(Method::POST, "/transfers")
        .to(PAYEE)
        .body(body)
        .send()
        .await;
    assert_eq!(answer.unwrap().status, 202);
    let path = format!("/transfers/{id}/error");
    let refused = payer
        .expect_callback(Method::PUT, &path, SOON)
        .await
        .unwrap();
    let told = refused.json();
    assert_eq!(told["errorInformation"]["errorCode"], "3201", "{told}");
    let state = clients
        .participants
        .get_participant_info(plm::GetParticipantInfoRequest {
            participant: PAYEE.to_owned(),
        })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        state.result.unwrap().state(),
        plm::ParticipantState::Disabled
    );
}
