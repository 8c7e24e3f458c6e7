//! The calls of Participant Lifecycle Management and of Scheduling. What each did is looked at in what
//! operators see over HTTP, in the events, and in what other contexts keep of them.

use rialto_grpc_client::api::rialto::accounts_and_balances::v0_1 as ab;
use rialto_grpc_client::api::rialto::participant_lifecycle_management::v0_1 as plm;
use rialto_grpc_client::api::rialto::scheduling::v0_1 as sch;
use rialto_grpc_client::tonic::Status;
use serde_json::json;

use super::shown::{agree, wrong};
use super::{Outcome, PAYER, Scene, there};
use crate::grpc::support::dollars;

/// The instant of the state change: no other notice has it.
const UPDATED_AT: u64 = 1;
/// Far in the future, in milliseconds since 1970.
const FAR: u64 = u64::MAX >> 12;

pub async fn warn(scene: &Scene<'_>) -> Outcome {
    let info = participant(scene, PAYER).await?;
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
    let mut client = scene.clients.participants.clone();
    let first = client
        .liquidity_threshold_exceeded(request.clone())
        .await?
        .into_inner();
    let again = client
        .liquidity_threshold_exceeded(request)
        .await?
        .into_inner();
    agree(
        "whether it warned",
        (true, false),
        (first.result, again.result),
    )?;
    // Operators have one alert, with the event's values.
    scene.shown.idle().await?;
    let alerts = scene.shown.documents("notifications-and-alerts", "alerts");
    let alerts = alerts.await?;
    let of_payer = alerts
        .values()
        .filter(|alert| alert["participant"] == PAYER);
    let told: Vec<_> = of_payer
        .map(|alert| (alert["alert"].clone(), alert["message"].clone()))
        .collect();
    let message = format!("{PAYER} has 1 USD left, less than its threshold of 10");
    let kind = json!("participant-liquidity-threshold-exceeded/threshold");
    agree("the alerts", vec![(kind, json!(message))], told)?;
    Ok("warned once".to_owned())
}

pub async fn transfers_data(scene: &Scene<'_>) -> Outcome {
    let request = plm::GetParticipantsTransfersDataRequest {
        participants: vec![PAYER.to_owned(), "nobody".to_owned()],
    };
    let mut client = scene.clients.participants.clone();
    let answer = client
        .get_participants_transfers_data(request)
        .await?
        .into_inner();
    let [known, unknown] = answer.result.as_slice() else {
        return Err(wrong(format!("{:?}", answer.result)));
    };
    agree("nobody", true, unknown.value.is_none())?;
    let known = there("the participant", known.value.clone())?;
    let shown = scene.shown.participant(PAYER).await?;
    agree("the state", plm::ParticipantState::Approved, known.state())?;
    agree("the state", &json!("APPROVED"), &shown["state"])?;
    agree("whether it may transact", true, known.may_transact)?;
    agree_on_currencies(scene, known.currencies).await?;
    Ok("may transact".to_owned())
}

/// The currencies of the payer are those in which operators see an enabled account.
async fn agree_on_currencies(scene: &Scene<'_>, mut called: Vec<String>) -> Result<(), Status> {
    called.sort();
    if called.is_empty() {
        return Err(wrong("it has no currency"));
    }
    agree("currencies", called, scene.shown.currencies(PAYER).await?)
}

pub async fn quote_data(scene: &Scene<'_>) -> Outcome {
    let request = plm::GetParticipantQuoteDataRequest {
        participants: vec![PAYER.to_owned()],
    };
    let mut client = scene.clients.participants.clone();
    let answer = client
        .get_participant_quote_data(request)
        .await?
        .into_inner();
    let known = answer
        .result
        .into_iter()
        .next()
        .and_then(|found| found.value);
    let known = there("the participant", known)?;
    agree("whether it may transact", true, known.may_transact)?;
    let currencies = known.currencies.join(" ");
    agree_on_currencies(scene, known.currencies).await?;
    Ok(currencies)
}

pub async fn callback_info(scene: &Scene<'_>) -> Outcome {
    let request = plm::GetParticipantCallbackInfoRequest {
        participant: PAYER.to_owned(),
    };
    let mut client = scene.clients.participants.clone();
    let answer = client
        .get_participant_callback_info(request)
        .await?
        .into_inner();
    let found = there("the endpoint", answer.result)?;
    agree("the endpoint", found.base_url, scene.shown.callback(PAYER))?;
    Ok("the scheme's endpoint".to_owned())
}

pub async fn participant(scene: &Scene<'_>, id: &str) -> Result<plm::ParticipantInfo, Status> {
    let request = plm::GetParticipantInfoRequest {
        participant: id.to_owned(),
    };
    let mut client = scene.clients.participants.clone();
    let answer = client.get_participant_info(request).await?;
    there("the participant", answer.into_inner().result)
}

pub async fn info(scene: &Scene<'_>) -> Outcome {
    let called = participant(scene, PAYER).await?;
    let shown = scene.shown.participant(PAYER).await?;
    agree("the name", &json!(called.name), &shown["name"])?;
    agree("the state", plm::ParticipantState::Approved, called.state())?;
    agree("the state", &json!("APPROVED"), &shown["state"])?;
    let endpoints: Vec<&str> = called.endpoints.iter().map(|e| e.value.as_str()).collect();
    agree(
        "the endpoint",
        endpoints,
        vec![scene.shown.callback(PAYER).as_str()],
    )?;
    let enabled = called
        .accounts
        .into_iter()
        .filter(|account| account.enabled);
    agree_on_currencies(scene, enabled.map(|account| account.currency).collect()).await?;
    Ok(called.name)
}

pub async fn state_updated(scene: &Scene<'_>) -> Outcome {
    // A false event: its consumers check the facts themselves.
    let event = plm::ParticipantStateUpdatedEvent {
        participant: PAYER.to_owned(),
        before: plm::ParticipantState::Disabled.into(),
        after: plm::ParticipantState::Approved.into(),
        may_transact: true,
        updated_at: UPDATED_AT,
    };
    let mut client = scene.clients.participants.clone();
    client.participant_state_updated(event).await?;
    // Its consumer gets it with all members.
    scene.shown.idle().await?;
    let notices = scene.shown.documents("notifications-and-alerts", "notices");
    let notices = notices.await?;
    let of_event = notices.values().filter(|notice| notice["at"] == UPDATED_AT);
    let told: Vec<_> = of_event
        .map(|notice| (notice["participant"].clone(), notice["state"].clone()))
        .collect();
    agree("the notices", vec![(json!(PAYER), json!("ACTIVE"))], told)?;
    Ok("told, and noted".to_owned())
}

fn reminder(id: &str, due: u64) -> sch::CreateScheduleReminderRequest {
    let reminder = sch::Reminder {
        id: id.to_owned(),
        client: "switch".to_owned(),
        due,
        payload: "remember".to_owned(),
    };
    sch::CreateScheduleReminderRequest {
        reminder: Some(reminder),
    }
}

pub async fn remind(scene: &Scene<'_>) -> Outcome {
    let mut client = scene.clients.scheduling.clone();
    let before = scene.shown.reminders().await?;
    client
        .create_schedule_reminder(reminder("far", FAR))
        .await?;
    agree("reminders", before + 1, scene.shown.reminders().await?)?;
    let request = sch::DeleteScheduleReminderRequest {
        client: "switch".to_owned(),
        id: "far".to_owned(),
    };
    let mut said = Vec::new();
    for _ in 0..2 {
        let deleted = client.delete_schedule_reminder(request.clone()).await?;
        said.push(deleted.into_inner().result());
        agree("reminders", before, scene.shown.reminders().await?)?;
    }
    let deletions = [sch::Deletion::Deleted, sch::Deletion::AlreadyElapsed];
    agree("the deletions", said.as_slice(), &deletions)?;
    // One that is due reminds, once.
    client.create_schedule_reminder(reminder("due", 1)).await?;
    scene
        .shown
        .until_event("reminder:program:switch/due")
        .await?;
    let events = scene.shown.events("reminder:program:switch/due").await?;
    agree(
        "events",
        vec!["schedule-reminder-elapsed".to_owned()],
        events,
    )?;
    agree("reminders", before, scene.shown.reminders().await?)?;
    Ok("created, deleted, and elapsed when due".to_owned())
}
