//! A browser with a virtual authenticator.

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{PARTY, Scene, named, payment, user};
use crate::webdriver::Chromium;

/// The page's answer to options: the browser's own JSON of it, or the name of an error.
async fn answer(browser: &Chromium, method: &str, options: &Value) -> Value {
    let parse = match method {
        "create" => "parseCreationOptionsFromJSON",
        _ => "parseRequestOptionsFromJSON",
    };
    let script = format!(
        "const [options, done] = arguments; \
         const publicKey = PublicKeyCredential.{parse}(options); \
         navigator.credentials.{method}({{ publicKey }}) \
             .then((credential) => done(credential.toJSON()), (error) => done(error.name));"
    );
    browser
        .command(
            "/execute/async",
            json!({ "script": script, "args": [options] }),
        )
        .await
}

/// Serves one empty page on a port of its own: its origin.
async fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = Vec::new();
                let mut bytes = [0; 4_096];
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut bytes).await {
                        Ok(read @ 1..) => head.extend_from_slice(&bytes[..read]),
                        _ => return,
                    }
                }
                let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 15\r\n\
                            connection: close\r\n\r\n<!doctype html>";
                let _ = stream.write_all(page.as_bytes()).await;
            });
        }
    });
    format!("http://{PARTY}:{port}")
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_registers_authenticates_and_authorizes() {
    let origin = page().await;
    let mut scene = Scene::start(&origin);
    let browser = Chromium::start(&origin).await;
    let device = browser.authenticator(true).await;

    let (id, options) = scene.begin("/fido-register", &user()).await;
    let credential = answer(&browser, "create", &options).await;
    let registered = scene.finish("/fido-register", &id, &credential).await;
    assert_eq!(registered["credential"], credential["id"]);
    // The same authenticator knows that it is excluded.
    let (_, options) = scene.begin("/fido-register", &user()).await;
    assert_eq!(
        answer(&browser, "create", &options).await,
        "InvalidStateError"
    );

    let (id, options) = scene.begin("/fido-authenticate", &named()).await;
    let credential = answer(&browser, "get", &options).await;
    let authenticated = scene.finish("/fido-authenticate", &id, &credential).await;
    assert_eq!(authenticated["userVerified"], true);

    let (id, options) = scene.begin("/fido-authorize", &payment("100.5")).await;
    let credential = answer(&browser, "get", &options).await;
    let transaction = &payment("100.5")["transaction"];
    let authorized = scene.authorize(&id, &credential, transaction).await;
    assert_eq!(&authorized["transaction"], transaction);

    // The response to one transaction authorizes no other.
    let (_, options) = scene.begin("/fido-authorize", &payment("1")).await;
    let (other, _) = scene.begin("/fido-authorize", &payment("1000")).await;
    let credential = answer(&browser, "get", &options).await;
    let transaction = &payment("1000")["transaction"];
    let body = json!({ "id": other, "credential": credential, "transaction": transaction });
    let said = scene.ask("/fido-authorize", &body).await;
    assert_eq!((said.status, said.problem()), (422, "fido-refused"));

    // A copy of the authenticator, whose counter begins anew.
    let credentials = format!("{device}/credentials");
    let (_, kept) = browser.send(Method::GET, &credentials, &Value::Null).await;
    let mut copied = kept[0].clone();
    assert!(copied["signCount"].as_u64().unwrap() > 1, "{copied}");
    copied["signCount"] = json!(0);
    let (status, _) = browser.send(Method::DELETE, &device, &Value::Null).await;
    assert_eq!(status, 200);
    let copy = browser.authenticator(true).await;
    browser.command(&format!("{copy}/credential"), copied).await;
    let (id, options) = scene.begin("/fido-authorize", &payment("1")).await;
    let credential = answer(&browser, "get", &options).await;
    let transaction = &payment("1")["transaction"];
    let body = json!({ "id": id, "credential": credential, "transaction": transaction });
    let said = scene.ask("/fido-authorize", &body).await;
    assert_eq!(
        (said.status, said.problem()),
        (409, "credential-suspect"),
        "{said:?}"
    );
    scene.end("fido/browser");
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_another_origin_registers_nobody() {
    let origin = page().await;
    let scene = Scene::start("http://localhost:1");
    let browser = Chromium::start(&origin).await;
    browser.authenticator(true).await;
    let (id, options) = scene.begin("/fido-register", &user()).await;
    let credential = answer(&browser, "create", &options).await;
    let body = json!({ "id": id, "credential": credential });
    let said = scene.ask("/fido-register", &body).await;
    assert_eq!((said.status, said.problem()), (422, "fido-refused"));
    assert!(
        said.body["detail"].as_str().unwrap().contains("origin"),
        "{said:?}"
    );
    // An authenticator that cannot verify its user does not take the options.
    let scene = Scene::start(&origin);
    let browser = Chromium::start(&origin).await;
    browser.authenticator(false).await;
    let (_, options) = scene.begin("/fido-register", &user()).await;
    let refused = answer(&browser, "create", &options).await;
    assert!(refused.is_string(), "{refused}");
}
