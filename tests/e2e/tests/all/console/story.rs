//! A payment's story: its messages, its lookup, and the bundle that names no people.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use rialto_tests::TestScheme;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use serde_json::Value;

use super::{SOON, Scene};

/// The setting with which the history keeps messages.
const MESSAGES: &str = "[history]\nmessages = true\n";

fn keeps(scheme: &TestScheme) {
    scheme.add_host_settings(MESSAGES).unwrap();
}

/// The messages in the history about something: each turn's function, with the message.
async fn messages(scene: &Scene, id: &str) -> Vec<(String, Value)> {
    let stories = scene.office.get("rita", &format!("/events/{id}")).await;
    let stories = stories.unwrap();
    let turns = stories.as_array().unwrap().iter();
    let turns = turns.flat_map(|story| story["turns"].as_array().unwrap().iter());
    turns
        .flat_map(|turn| {
            let function = turn["function"].as_str().unwrap().to_owned();
            let steps = turn["steps"].as_array().unwrap().iter();
            let messages = steps.filter_map(|step| step.get("Message").cloned());
            messages
                .map(move |message| (function.clone(), message))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn header<'m>(message: &'m Value, name: &str) -> Option<&'m str> {
    let headers = message["headers"].as_array().unwrap().iter();
    let mut found = headers.filter(|header| header[0] == name);
    found.next().and_then(|header| header[1].as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_kept_with_their_turns_where_the_operator_wants_them() {
    let scene = Scene::with(keeps).await;
    let payment = scene.world.pay("12.5", "USD").await;
    committed(&payment).unwrap();
    // The last is booked after the payer FSP was told: its answer to that.
    let told = format!("/transfers/{}", payment.transfer_id);
    let all = async || {
        let kept = messages(&scene, &payment.transfer_id).await;
        let sent = kept.iter().map(|(_, message)| message);
        let mut sent = sent.filter(|message| message["part"] == "Sent");
        let last = sent.find(|message| {
            let line = message["line"].as_str().unwrap();
            line.starts_with("PUT") && line.contains(&told)
        });
        let request = last.map(|message| message["request"].clone());
        let is_answered = kept.iter().any(|(_, message)| {
            message["part"] == "Response" && Some(&message["request"]) == request.as_ref()
        });
        Ok(if is_answered {
            Ok(kept)
        } else {
            Err(format!("{kept:#?}"))
        })
    };
    let kept = until("the payer FSP's answer is kept", SOON, all);
    let kept = kept.await.unwrap();
    let of = |part: &str, line: &str| {
        let found = kept.iter().find(|(_, message)| {
            message["part"] == part && message["line"].as_str().unwrap().contains(line)
        });
        let (_, message) = found.unwrap_or_else(|| panic!("no {part} {line}: {kept:#?}"));
        message.clone()
    };
    // From the payer FSP, to the payee FSP, back, and to the payer FSP.
    let came = of("Came", "POST /transfers");
    let body: Value = serde_json::from_str(came["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["transferId"], payment.transfer_id.as_str());
    assert_eq!(header(&came, "fspiop-source"), Some("payerfsp"));
    assert_eq!(came["body_bytes"], came["body"].as_str().unwrap().len());
    let sent = of("Sent", "/transfers");
    assert_eq!(header(&sent, "fspiop-destination"), Some("payeefsp"));
    assert_eq!(of("Response", "202")["request"], sent["request"]);
    let path = format!("PUT /transfers/{}", payment.transfer_id);
    let fulfilled = of("Came", &path);
    let fulfilled: Value = serde_json::from_str(fulfilled["body"].as_str().unwrap()).unwrap();
    assert_eq!(fulfilled["transferState"], "COMMITTED");
    assert_eq!(of("Answer", "202")["part"], "Answer");

    // An operator's request is not kept, whatever it changes.
    let asked = serde_json::json!({ "limit": null, "reason": "no cap" });
    let path = "/participants/payerfsp/accounts/USD/limit-updates";
    let said = scene.office.post("anna", path, &asked).await.unwrap();
    assert_eq!(said.status, 201, "{said:?}");
    let about = messages(&scene, "payerfsp").await;
    let of_operators = about.iter().filter(|(_, m)| m["part"] == "Came").count();
    assert_eq!(of_operators, 0, "{about:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_message_is_kept_unless_it_is_wanted_and_long_ones_are_cut() {
    let scene = Scene::begin().await;
    let payment = scene.world.pay("12.5", "USD").await;
    committed(&payment).unwrap();
    let kept = messages(&scene, &payment.transfer_id).await;
    assert!(kept.is_empty(), "{kept:#?}");

    let small = |scheme: &TestScheme| {
        let setting = format!("{MESSAGES}message-max = \"600 B\"\n");
        scheme.add_host_settings(&setting).unwrap();
    };
    let scene = Scene::with(small).await;
    let payment = scene.world.pay("12.5", "USD").await;
    committed(&payment).unwrap();
    let kept = messages(&scene, &payment.transfer_id).await;
    let cut = kept.iter().filter(|(_, message)| {
        let body = message["body"].as_str().map_or(0, str::len);
        assert!(body <= 600, "{message:#?}");
        body < message["body_bytes"].as_u64().unwrap() as usize
    });
    assert!(cut.count() > 0, "{kept:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn arrow_opens_its_message_and_the_lookup_is_there() {
    let scene = Scene::with(keeps).await;
    let payment = scene.world.pay("12.5", "USD").await;
    committed(&payment).unwrap();
    let desk = scene.signed_in("rita").await;
    desk.open(&format!("story/{}", payment.transfer_id)).await;
    desk.shows("The lookup of the payee is linked by").await;
    let party = scene.world.party(PAYEE);
    let lookup = format!("GET /parties/{}/{}", party.kind(), party.identifier());
    desk.shows(&lookup).await;
    let press = |label: &str| {
        format!(
            "(() => {{ const mark = [...document.querySelectorAll('button.mark.message')] \
             .find(m => m.innerText.startsWith({label:?})); mark?.click(); return mark !== undefined; }})()"
        )
    };
    assert_eq!(desk.0.value(&press("POST /transfers")).await, true);
    desk.shows("fspiop-source").await;
    desk.shows("\"transferId\": ").await;
    desk.shows("The answer to it").await;

    // The bundle tells the payment and names nobody, whatever an FSP has put where.
    let take = "(() => { navigator.clipboard.writeText = async t => { window.copied = t; }; \
         [...document.querySelectorAll('button')].find(b => b.innerText === 'Copy as a support bundle').click(); \
         return window.copied; })()";
    let bundle = desk.0.value(take).await;
    let bundle = bundle.as_str().unwrap();
    assert!(bundle.contains(&payment.transfer_id), "{bundle}");
    assert!(bundle.contains("fspiop-source"), "{bundle}");
    for id in ["payerfsp", "payeefsp"] {
        let identifier = scene.world.party(id).identifier();
        assert!(!bundle.contains(identifier), "{identifier}");
    }
    for word in bundle.split(|c: char| !(c.is_ascii_alphanumeric() || "+/_-".contains(c))) {
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let plain = engine.decode(word).unwrap_or_default();
            let plain = String::from_utf8_lossy(&plain);
            for id in ["payerfsp", "payeefsp"] {
                let identifier = scene.world.party(id).identifier();
                assert!(!plain.contains(identifier), "{plain}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn story_without_messages_says_how_to_have_them() {
    let scene = Scene::begin().await;
    let payment = scene.world.pay("12.5", "USD").await;
    committed(&payment).unwrap();
    let desk = scene.signed_in("rita").await;
    desk.open(&format!("story/{}", payment.transfer_id)).await;
    desk.has("button.mark.message").await;
    desk.0.click("button.mark.message").await;
    desk.shows("[history] in rialto.toml has it keep them")
        .await;
    desk.shows("What the hub has stored").await;
    desk.shows("quoting / quotes").await;
    desk.shows("transfers / transfers").await;
}
