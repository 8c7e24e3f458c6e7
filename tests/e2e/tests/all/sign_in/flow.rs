//! From the provider's form to an operation, and to the end of the session.

use std::path::Path;

use http::Method;
use rialto_simulator::ports;

use super::browser::Browser;
use super::provider::{Provider, SECRET};
use super::{Scene, problem, roles, scheme};

/// A host with a certified provider.
fn scene() -> (Scene, Provider) {
    let (scheme, address) = scheme();
    let provider = Provider::start(&address);
    let issuer = provider.issuer.clone();
    (Scene::of(scheme, &address, &issuer), provider)
}

#[tokio::test(flavor = "multi_thread")]
async fn person_signs_in_acts_and_signs_out() {
    let (scene, _provider) = scene();
    let mut browser = Browser::new();
    let nobody = browser.get(&scene.url("/session")).await;
    assert_eq!(
        (nobody.status, problem(&nobody)),
        (401, "unauthorized".into())
    );

    let landed = browser.sign_in(&scene.url("/sign-in"), "anna").await;
    assert_eq!(
        (landed.status, landed.header("location")),
        (303, "/session")
    );
    let set: Vec<&str> = landed
        .headers
        .get_all("set-cookie")
        .iter()
        .map(|v| v.to_str().unwrap())
        .collect();
    let session = set
        .iter()
        .find(|set| set.starts_with("rialto-session="))
        .unwrap();
    let attributes = "; Path=/; Max-Age=28800; HttpOnly; SameSite=Lax";
    assert!(session.ends_with(attributes), "{session}");
    assert_eq!(
        session.len(),
        "rialto-session=".len() + 64 + attributes.len()
    );

    let who = browser.get(&scene.url("/session")).await;
    let said = who.json();
    assert_eq!(
        (&said["operator"], &said["person"]),
        (&"anna".into(), &"anna".into())
    );
    assert_eq!(said["kind"], "session");
    assert_eq!(roles(&who), ["reader", "maker", "admin"]);
    let page = browser
        .send(
            Method::GET,
            &scene.url("/session"),
            &[("accept", "text/html")],
            "",
        )
        .await;
    assert!(page.text.contains("<dd>anna</dd>"), "{}", page.text);
    let policy = page.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );

    // The host's own API and a component's, with the cookie alone.
    let releases = browser.get(&scene.url("/releases")).await;
    assert_eq!(releases.status, 200, "{}", releases.text);
    let retried = scene
        .act(&mut browser, Method::POST, "/dead-letters/retry", "{}")
        .await;
    assert_eq!(retried.json()["retried"], 0);
    assert_eq!(scene.audited("dead-letters-retry").await[0].0, "anna");
    let participants = browser.get(&scene.url("/participants")).await;
    assert_eq!(participants.status, 200, "{}", participants.text);
    assert_eq!(participants.header("content-security-policy"), "sandbox");

    // The token counts if there is one, whoever's the cookie is.
    let robot = scene.robot();
    let both = browser
        .send(
            Method::GET,
            &scene.url("/session"),
            &[("authorization", &robot)],
            "",
        )
        .await;
    assert_eq!(both.json()["operator"], "robot");
    let wrong = [("authorization", "Bearer wrong")];
    let wrong = browser
        .send(Method::GET, &scene.url("/session"), &wrong, "")
        .await;
    assert_eq!(wrong.status, 401);

    let old = browser.clone();
    let out = scene.act(&mut browser, Method::POST, "/sign-out", "").await;
    assert_eq!(out.status, 204, "{}", out.text);
    for mut browser in [browser, old] {
        assert_eq!(browser.get(&scene.url("/session")).await.status, 401);
    }
    for action in ["sign-in", "sign-out"] {
        let entries = scene.audited(action).await;
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!((&*entries[0].0, &*entries[0].1), ("anna", "done"));
    }
    let robot = robot.trim_start_matches("Bearer ").to_owned();
    let none = scene.with(&robot, Method::POST, "/sign-out", "").await;
    assert_eq!((none.status, problem(&none)), (409, "no-session".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_another_origin_changes_nothing() {
    let (scene, _provider) = scene();
    let mut browser = Browser::new();
    browser.sign_in(&scene.url("/sign-in"), "anna").await;
    let form = ("content-type", "application/json");
    for path in [
        "/dead-letters/retry",
        "/sign-out",
        "/tokens",
        "/participants",
    ] {
        for headers in [
            vec![form, ("origin", "http://other.example")],
            vec![form, ("origin", "null")],
            vec![
                form,
                ("origin", "http://other.example"),
                ("sec-fetch-site", "same-origin"),
            ],
            vec![form, ("sec-fetch-site", "same-site")],
            vec![form],
        ] {
            let url = scene.url(path);
            let refused = browser.send(Method::POST, &url, &headers, "{}").await;
            let said = (refused.status, problem(&refused));
            assert_eq!(said, (403, "foreign-origin".into()), "{path} {headers:?}");
        }
    }
    assert_eq!(scene.audited("dead-letters-retry").await, []);
    assert_eq!(scene.audited("token-new").await, []);
    assert_eq!(browser.get(&scene.url("/session")).await.status, 200);
    let same = [form, ("sec-fetch-site", "same-origin")];
    let url = scene.url("/dead-letters/retry");
    let taken = browser.send(Method::POST, &url, &same, "{}").await;
    assert_eq!(taken.status, 200, "{}", taken.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn stranger_whom_the_provider_knows_is_no_operator() {
    let (scene, _provider) = scene();
    let mut browser = Browser::new();
    // The name of an operator is not his subject.
    for name in ["stranger", "ben", "robot"] {
        let mut browser = Browser::new();
        let refused = browser.sign_in(&scene.url("/sign-in"), name).await;
        assert_eq!(refused.status, 403);
        assert!(
            refused.text.contains("You are no operator here"),
            "{}",
            refused.text
        );
        for leaked in ["anna", "b-7", "robot"] {
            assert!(!refused.text.contains(leaked), "{}", refused.text);
        }
        assert_eq!(browser.get(&scene.url("/session")).await.status, 401);
    }
    let entries = scene.audited("sign-in").await;
    assert_eq!(entries.len(), 3, "{entries:?}");
    assert!(
        entries.iter().all(|entry| entry.1 == "refused"),
        "{entries:?}"
    );
    let in_time = browser.sign_in(&scene.url("/sign-in"), "b-7").await;
    assert_eq!(in_time.status, 303);
    let who = browser.get(&scene.url("/session")).await.json();
    assert_eq!(who["operator"], "ben");
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_belongs_to_one_browser_and_one_code() {
    let (scene, _provider) = scene();
    let mut browser = Browser::new();
    let back = browser.authenticate(&scene.url("/sign-in"), "anna").await;
    // Another browser, and one that has begun a sign-in of its own.
    let mut other = Browser::new();
    let foreign = other.get(&back.url).await;
    assert_eq!(foreign.status, 400, "{}", foreign.text);
    other.get(&scene.url("/sign-in")).await;
    let foreign = other.get(&back.url).await;
    assert_eq!(foreign.status, 400, "{}", foreign.text);
    // A forged state.
    let forged = back.url.replace("state=", "state=x");
    assert_eq!(browser.get(&forged).await.status, 400);
    let twice = format!("{}&state=x", back.url);
    assert_eq!(browser.get(&twice).await.status, 400);
    // Nothing of this has used up the code. It counts once.
    let mut again = browser.clone();
    assert_eq!(browser.get(&back.url).await.status, 303);
    let replayed = again.get(&back.url).await;
    assert_eq!(replayed.status, 403, "{}", replayed.text);
    assert_eq!(again.get(&scene.url("/session")).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_returns_to_this_host_alone() {
    let (scene, _provider) = scene();
    for elsewhere in [
        "http://other.example",
        "//other.example",
        "/%5Cother.example",
        "other",
        "/a%0d%0ab",
        "/a&return=/b",
    ] {
        let url = scene.url(&format!("/sign-in?return={elsewhere}"));
        let refused = Browser::new().get(&url).await;
        assert_eq!(refused.status, 400, "{elsewhere}");
    }
    let url = scene.url("/sign-in?return=%2Freleases%3Fa%3Db");
    let landed = Browser::new().sign_in(&url, "anna").await;
    assert_eq!(landed.header("location"), "/releases?a=b");
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_that_is_away_hinders_new_sign_ins_alone() {
    let (scheme, address) = scheme();
    let nowhere = format!("http://127.0.0.1:{}", ports::free().unwrap());
    let mut scene = Scene::of(scheme, &address, &nowhere);
    let away = Browser::new().get(&scene.url("/sign-in")).await;
    assert_eq!(away.status, 503, "{}", away.text);
    assert_eq!(away.header("retry-after"), "5");
    let robot = scene.robot();
    let robot = robot.trim_start_matches("Bearer ");
    let page = scene.with(robot, Method::GET, "/releases", "").await;
    assert_eq!(page.status, 200);

    let provider = Provider::start(&address);
    scene
        .scheme
        .replace("rialto.toml", &nowhere, &provider.issuer)
        .unwrap();
    scene.host.restart().unwrap();
    let mut browser = Browser::new();
    browser.sign_in(&scene.url("/sign-in"), "anna").await;
    let begun = browser.authenticate(&scene.url("/sign-in"), "anna").await;
    drop(provider);
    let away = browser.clone().get(&begun.url).await;
    assert_eq!(away.status, 503, "{}", away.text);
    // The session goes on, also after a restart without the provider.
    assert_eq!(browser.get(&scene.url("/session")).await.status, 200);
    scene.host.restart().unwrap();
    assert_eq!(browser.get(&scene.url("/session")).await.status, 200);
    assert_eq!(Browser::new().get(&scene.url("/sign-in")).await.status, 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_who_is_gone_or_somebody_else_has_no_session() {
    let (mut scene, _provider) = scene();
    let (mut anna, mut ben) = (Browser::new(), Browser::new());
    anna.sign_in(&scene.url("/sign-in"), "anna").await;
    ben.sign_in(&scene.url("/sign-in"), "b-7").await;
    let token = scene
        .act(&mut anna, Method::POST, "/tokens", r#"{"label":"a"}"#)
        .await;
    let token = token.json()["token"].as_str().unwrap().to_owned();
    let document = std::fs::read_to_string(scene.scheme.path().join("rialto.toml")).unwrap();
    // Anna has fewer roles, and ben is somebody else.
    let roles_now = "roles = [\"reader\"]\nsubject = \"anna\"";
    let all = "roles = [\"reader\", \"maker\", \"admin\"]\nsubject = \"anna\"";
    scene.scheme.replace("rialto.toml", all, roles_now).unwrap();
    scene
        .scheme
        .replace("rialto.toml", "\"b-7\"", "\"b-8\"")
        .unwrap();
    scene.host.restart().unwrap();
    assert_eq!(roles(&anna.get(&scene.url("/session")).await), ["reader"]);
    let with_token = scene.with(&token, Method::GET, "/session", "").await;
    assert_eq!(roles(&with_token), ["reader"]);
    assert_eq!(ben.get(&scene.url("/session")).await.status, 401);
    // Anna is gone.
    let path = scene.scheme.path().join("rialto.toml");
    let gone = document.replace("[operators.anna]", "[operators.dora]");
    std::fs::write(&path, gone).unwrap();
    scene.host.restart().unwrap();
    assert_eq!(anna.get(&scene.url("/session")).await.status, 401);
    let with_token = scene.with(&token, Method::GET, "/session", "").await;
    assert_eq!(with_token.status, 401);
    // Nothing comes back with the operator.
    std::fs::write(&path, document).unwrap();
    scene.host.restart().unwrap();
    assert_eq!(anna.get(&scene.url("/session")).await.status, 401);
    let with_token = scene.with(&token, Method::GET, "/session", "").await;
    assert_eq!(with_token.status, 401);
    let ended = scene.audited("token-end").await;
    assert_eq!(ended.len(), 3, "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_a_sign_in_is_written() {
    let (mut scene, _provider) = scene();
    let mut browser = Browser::new();
    let back = browser.authenticate(&scene.url("/sign-in"), "anna").await;
    let pending = browser.cookies[&scene.address]["rialto-sign-in"].clone();
    browser.get(&back.url).await;
    let session = browser.cookies[&scene.address]["rialto-session"].clone();
    let made = scene
        .act(
            &mut browser,
            Method::POST,
            "/tokens",
            r#"{"label":"visible"}"#,
        )
        .await;
    let token = made.json()["token"].as_str().unwrap().to_owned();
    let bare = token.trim_start_matches("rialto_pat_").to_owned();
    let query = back.url.split_once('?').unwrap().1;
    let codes = query.split('&').filter_map(|pair| pair.split_once('='));
    let codes = codes.filter(|(name, _)| ["code", "state"].contains(name));
    let mut secrets = vec![pending, session.clone(), bare, SECRET.to_owned()];
    secrets.extend(codes.map(|(_, value)| value.to_owned()));
    assert_eq!(secrets.len(), 6);
    // A request that is kept in a history.
    let page = browser.get(&scene.url("/participants")).await;
    assert_eq!(page.status, 200);
    let log = scene.host.log();
    scene.host.restart().unwrap();
    assert_eq!(browser.get(&scene.url("/session")).await.status, 200);
    let mut seen = vec![("the log".to_owned(), log.into_bytes())];
    files(&scene.scheme.state(), &mut seen);
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(
        seen.iter().any(|(_, bytes)| has(bytes, "visible")),
        "the label is kept"
    );
    for (name, bytes) in &seen {
        for secret in &secrets {
            assert!(!has(bytes, secret), "{name} has {secret}");
        }
    }
}

/// All files below a folder, but for compiled components.
fn files(folder: &Path, seen: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("compiled") {
            files(&path, seen);
        } else if path.is_file() {
            seen.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}
