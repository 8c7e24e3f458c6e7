//! Personal tokens and the list of sessions.

use http::Method;
use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use super::browser::Browser;
use super::provider::Provider;
use super::{Scene, problem, roles, scheme};

/// A host with a certified provider, anna and ben.
async fn scene() -> (Scene, Provider, Browser, Browser) {
    let (scheme, address) = scheme();
    let provider = Provider::start(&address);
    let scene = Scene::of(scheme, &address, &provider.issuer);
    let (mut anna, mut ben) = (Browser::new(), Browser::new());
    anna.sign_in(&scene.url("/sign-in"), "anna").await;
    ben.sign_in(&scene.url("/sign-in"), "b-7").await;
    (scene, provider, anna, ben)
}

/// Make a token: its id and its text.
async fn made(scene: &Scene, browser: &mut Browser, body: &str) -> (String, String) {
    let made = scene.act(browser, Method::POST, "/tokens", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let made = made.json();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("id"), text("token"))
}

#[tokio::test(flavor = "multi_thread")]
async fn personal_token_has_its_roles_and_makes_no_tokens() {
    let (scene, _provider, mut anna, _) = scene().await;
    let narrow = r#"{"label":"export","roles":["reader"]}"#;
    let (id, token) = made(&scene, &mut anna, narrow).await;
    assert!(
        token.starts_with("rialto_pat_") && token.len() == 75,
        "{token}"
    );
    let who = scene.with(&token, Method::GET, "/session", "").await;
    assert_eq!(
        (&who.json()["kind"], &who.json()["id"]),
        (&"token".into(), &id.into())
    );
    assert_eq!(roles(&who), ["reader"]);
    assert_eq!(
        scene
            .with(&token, Method::GET, "/releases", "")
            .await
            .status,
        200
    );
    assert_eq!(
        scene
            .with(&token, Method::GET, "/participants", "")
            .await
            .status,
        200
    );
    let refused = scene
        .with(&token, Method::POST, "/dead-letters/retry", "{}")
        .await;
    assert_eq!(
        (refused.status, problem(&refused)),
        (403, "role-missing".into())
    );
    let refused = scene
        .with(&token, Method::POST, "/tokens", r#"{"label":"b"}"#)
        .await;
    assert_eq!(
        (refused.status, problem(&refused)),
        (403, "token-by-token".into())
    );

    let (_, all) = made(&scene, &mut anna, r#"{"label":"all"}"#).await;
    let retried = scene
        .with(&all, Method::POST, "/dead-letters/retry", "{}")
        .await;
    assert_eq!(retried.status, 200, "{}", retried.text);
    assert_eq!(
        scene.audited("dead-letters-retry").await.last().unwrap().0,
        "anna"
    );

    let too_much = r#"{"label":"c","roles":["checker"]}"#;
    let refused = scene
        .act(&mut anna, Method::POST, "/tokens", too_much)
        .await;
    assert_eq!(
        (refused.status, problem(&refused)),
        (403, "role-missing".into())
    );
    for malformed in [
        "{}",
        r#"{"label":""}"#,
        r#"{"label":"a","roles":[]}"#,
        r#"{"label":"a","roles":["king"]}"#,
        r#"{"label":"a","expires":1}"#,
        r#"{"label":"a","expires":99999999999999}"#,
        r#"{"label":"a\u001b[2J"}"#,
        r#"{"label":"a","more":1}"#,
    ] {
        let refused = scene
            .act(&mut anna, Method::POST, "/tokens", malformed)
            .await;
        assert_eq!(
            (refused.status, problem(&refused)),
            (400, "malformed".into()),
            "{malformed}"
        );
    }
    assert_eq!(scene.audited("token-new").await.len(), 2);

    // A session's secret is no token, and a token is no session.
    let session = anna.cookies[&scene.address]["rialto-session"].clone();
    for wrong in [session.clone(), format!("rialto_pat_{session}")] {
        assert_eq!(
            scene.with(&wrong, Method::GET, "/session", "").await.status,
            401
        );
    }
    for wrong in [all.as_str(), all.trim_start_matches("rialto_pat_")] {
        let cookie = format!("rialto-session={wrong}");
        let headers = [("cookie", cookie.as_str())];
        let page = Browser::new()
            .send(Method::GET, &scene.url("/session"), &headers, "")
            .await;
        assert_eq!(page.status, 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn token_or_session_ends_at_once() {
    let (mut scene, _provider, mut anna, mut ben) = scene().await;
    let (annas, _) = made(&scene, &mut anna, r#"{"label":"a"}"#).await;
    let (id, token) = made(&scene, &mut ben, r#"{"label":"b"}"#).await;
    // Ben sees and ends his own; anna, who is admin, all.
    let listed = |page: &Value| -> Vec<String> {
        let all = page.as_array().unwrap().iter();
        all.map(|one| format!("{} {}", one["kind"], one["operator"]).replace('"', ""))
            .collect()
    };
    let bens = ben.get(&scene.url("/tokens")).await.json();
    assert_eq!(listed(&bens), ["session ben", "token ben"]);
    let all = anna.get(&scene.url("/tokens")).await.json();
    assert_eq!(
        listed(&all),
        ["session anna", "session ben", "token anna", "token ben"]
    );
    assert!(!all.to_string().contains(&token[11..]), "{all}");
    let foreign = scene
        .act(&mut ben, Method::DELETE, &format!("/tokens/{annas}"), "")
        .await;
    assert_eq!(
        (foreign.status, problem(&foreign)),
        (404, "token-unknown".into())
    );

    assert_eq!(
        scene
            .with(&token, Method::GET, "/releases", "")
            .await
            .status,
        200
    );
    let ended = scene
        .act(&mut ben, Method::DELETE, &format!("/tokens/{id}"), "")
        .await;
    assert_eq!(ended.status, 204, "{}", ended.text);
    assert_eq!(
        scene
            .with(&token, Method::GET, "/releases", "")
            .await
            .status,
        401
    );
    let session = bens[0]["id"].as_str().unwrap();
    let ended = scene
        .act(&mut anna, Method::DELETE, &format!("/tokens/{session}"), "")
        .await;
    assert_eq!(ended.status, 204, "{}", ended.text);
    assert_eq!(ben.get(&scene.url("/session")).await.status, 401);
    let people: Vec<String> = scene
        .audited("token-end")
        .await
        .into_iter()
        .map(|e| e.0)
        .collect();
    assert_eq!(people, ["ben", "anna"]);
    // Neither is back after a restart.
    scene.host.restart().unwrap();
    assert_eq!(
        scene
            .with(&token, Method::GET, "/releases", "")
            .await
            .status,
        401
    );
    assert_eq!(ben.get(&scene.url("/session")).await.status, 401);
    assert_eq!(anna.get(&scene.url("/session")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_tokens_and_sessions_are_removed() {
    let (mut scene, _provider, mut anna, mut ben) = scene().await;
    let (_, token) = made(&scene, &mut anna, r#"{"label":"a"}"#).await;
    let (_, other) = made(&scene, &mut anna, r#"{"label":"b"}"#).await;
    let log = scene.host.log();
    scene.host.kill().unwrap();
    let path = scene.scheme.state().join("rialto.db");
    let options = SqliteConnectOptions::new().filename(&path);
    let mut store = options.connect().await.unwrap();
    let expire = "UPDATE credentials SET expires = 1 WHERE label = 'a' OR operator = 'ben'";
    store.execute(expire).await.unwrap();
    store.close().await.unwrap();
    scene.host.restart().unwrap();
    assert_eq!(
        scene.with(&token, Method::GET, "/session", "").await.status,
        401,
        "{log}"
    );
    assert_eq!(ben.get(&scene.url("/session")).await.status, 401);
    assert_eq!(
        scene.with(&other, Method::GET, "/session", "").await.status,
        200
    );
    let left = anna.get(&scene.url("/tokens")).await.json();
    assert_eq!(left.as_array().unwrap().len(), 2, "{left}");
    scene.host.kill().unwrap();
    let mut store = SqliteConnectOptions::new()
        .filename(&path)
        .connect()
        .await
        .unwrap();
    let rows = store.fetch_all("SELECT id FROM credentials").await.unwrap();
    assert_eq!(rows.len(), 2);
}
