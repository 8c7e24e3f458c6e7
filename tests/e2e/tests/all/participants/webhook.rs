//! Notices go to the operators' webhook too.

use super::*;

/// A server that accepts JSON and answers 204, and the bodies that it got.
async fn webhook() -> (String, tokio::sync::mpsc::UnboundedReceiver<Value>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/notices", listener.local_addr().unwrap());
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                // One request after the other on one connection.
                while stream.read_buf(&mut bytes).await.unwrap_or_default() > 0 {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else {
                        continue;
                    };
                    let length = head.lines().find_map(|line| {
                        let (name, value) = line.split_once(':')?;
                        let is_length = name.eq_ignore_ascii_case("content-length");
                        is_length.then(|| value.trim().parse::<usize>().ok())?
                    });
                    if body.len() < length.unwrap_or_default() {
                        continue;
                    }
                    assert!(head.starts_with("POST /notices "), "{head}");
                    let _ = sender.send(serde_json::from_str(body).unwrap());
                    bytes.clear();
                    let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
                    stream.write_all(answer).await.unwrap();
                }
            });
        }
    });
    (url, receiver)
}

#[tokio::test(flavor = "multi_thread")]
async fn notices_go_to_the_operators_webhook_too() {
    let (url, mut notices) = webhook().await;
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(&PEOPLE).unwrap();
    let setting = format!("operatorsWebhook = \"{url}\"");
    scheme.set("notifications-and-alerts", &setting).unwrap();
    scheme.lock().unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let office = Office::of(&world.scheme, &world.host, &NAMES).unwrap();
    let path = format!("/participants/{PAYER}/state-updates");
    let body = json!({ "state": "DISABLED", "reason": "it asked for it" });
    let asked = office.post("anna", &path, &body).await.unwrap();
    let id = asked.body["id"].as_str().unwrap().to_owned();
    let mut next = async || {
        let notice = tokio::time::timeout(SOON, notices.recv()).await;
        notice.expect("a notice in time").unwrap()
    };
    let notice = next().await;
    assert_eq!(
        (&notice["audience"], &notice["request"]),
        (&json!("checkers"), &json!(id))
    );
    assert_eq!(notice["message"], "anna asks: it asked for it");
    let path = format!("{path}/{id}/approval");
    let decision = json!({ "decision": "APPROVE" });
    office.post("ben", &path, &decision).await.unwrap();
    let told: BTreeSet<String> = [next().await, next().await]
        .iter()
        .map(|notice| format!("{} {}", notice["audience"], notice["state"]))
        .collect();
    let expected = ["\"operator/anna\" \"APPROVED\"", "\"operators\" \"BARRED\""];
    assert!(told.iter().eq(expected.iter()), "{told:?}");
}
