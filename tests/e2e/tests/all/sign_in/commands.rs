//! `rialto token`, and commands with a personal token from elsewhere.

use std::path::Path;
use std::time::Duration;

use http::Method;
use rialto_tests::waiting::until;
use rialto_tests::{CliOutput, binaries};
use serde_json::Value;

use super::Scene;
use super::browser::Browser;
use super::provider::Provider;
use super::scheme;

/// Longer than it takes until an entry is in the tables of the store.
const SOON: Duration = Duration::from_secs(30);

/// A command of somebody on another machine: in a folder without a scheme.
fn elsewhere(folder: &Path, command: &[&str], variables: &[(&str, &str)]) -> CliOutput {
    CliOutput::of(binaries::rialto().unwrap(), |c| {
        c.args(command).current_dir(folder);
        c.envs(variables.iter().copied());
    })
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_make_use_and_end_personal_tokens() {
    let (scheme, address) = scheme();
    let provider = Provider::start(&address);
    let scene = Scene::of(scheme, &address, &provider.issuer);
    let by_robot = |command: &[&str]| {
        let command: Vec<&str> = command.iter().copied().chain(["--as", "robot"]).collect();
        scene.host.cli(&command).unwrap()
    };
    let new = [
        "token",
        "new",
        "--label",
        "export",
        "--role",
        "reader",
        "--expires",
        "30 days",
    ];
    let made = by_robot(&new);
    let token = made.clone().success().unwrap();
    let token = token.trim();
    assert!(
        token.starts_with("rialto_pat_") && !token.contains('\n'),
        "{made}"
    );
    assert!(
        made.stderr.contains(" token of robot (reader) until "),
        "{made}"
    );

    let folder = tempfile::tempdir().unwrap();
    let variables = [("RIALTO_HOST", address.as_str()), ("RIALTO_TOKEN", token)];
    let listed = elsewhere(folder.path(), &["release", "list"], &variables);
    assert!(
        listed.clone().success().unwrap().contains(" current, by "),
        "{listed}"
    );
    let refused = elsewhere(folder.path(), &new, &variables);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(
        refused.said().contains("a personal token makes no tokens"),
        "{refused}"
    );
    // Without a token, and where the network would see it.
    let without = elsewhere(folder.path(), &["release", "list"], &variables[..1]);
    assert!(
        without
            .said()
            .contains("put one into the variable RIALTO_TOKEN"),
        "{without}"
    );
    let seen = [("RIALTO_HOST", "http://hub.example"), variables[1]];
    let seen = elsewhere(folder.path(), &["release", "list"], &seen);
    assert!(
        seen.said().contains("`http` would show the token"),
        "{seen}"
    );
    // On the host's machine, the folder says where the host is.
    let here = [
        ("RIALTO_SCHEME", scene.scheme.path().to_str().unwrap()),
        variables[1],
    ];
    let listed = elsewhere(folder.path(), &["release", "list"], &here);
    listed.success().unwrap();

    let listed = by_robot(&["token", "list", "--json"]).success().unwrap();
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(listed["label"], "export");
    assert!(!listed.to_string().contains(&token["rialto_pat_".len()..]));
    let id = listed["id"].as_str().unwrap();
    let ended = by_robot(&["token", "end", id]);
    assert!(ended.stderr.contains(&format!("{id} has ended")), "{ended}");
    let refused = elsewhere(folder.path(), &["release", "list"], &variables);
    assert_eq!(refused.code, 1, "{refused}");

    // Anna has no token in a file, and one who has signed in makes one.
    let none = scene
        .host
        .cli(&["release", "list", "--as", "anna"])
        .unwrap();
    assert!(
        none.said().contains("a personal one: RIALTO_TOKEN"),
        "{none}"
    );
    let mut anna = Browser::new();
    anna.sign_in(&scene.url("/sign-in"), "anna").await;
    let made = scene
        .act(&mut anna, Method::POST, "/tokens", r#"{"label":"a"}"#)
        .await;
    let token = made.json()["token"].as_str().unwrap().to_owned();
    let variables = [variables[0], ("RIALTO_TOKEN", token.as_str())];
    let retry = ["dead-letters", "retry", "--all", "--note", "from elsewhere"];
    elsewhere(folder.path(), &retry, &variables)
        .success()
        .unwrap();
    let entries = scene.audited("dead-letters-retry").await;
    assert_eq!(entries[0].0, "anna", "{entries:?}");
    // The log that cannot be changed names the token too, for the host's API and for that of a component.
    let deposit = [
        "funds",
        "deposit",
        "payerfsp",
        "USD",
        "5",
        "--reference",
        "B-1",
        "--reason",
        "wire of Monday",
    ];
    let asked = elsewhere(folder.path(), &deposit, &variables);
    asked.success().unwrap();
    let shown = Value::from(format!("token {}", made.json()["id"].as_str().unwrap()));
    let used = async |action: &str| {
        let lines = scene.host.cli(&["audit", "export", "--format", "json"]);
        let lines = lines.unwrap().success().unwrap();
        let entries = lines.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["entry"].clone()
        });
        let mut of_action = entries.filter(|entry| entry["action"] == action);
        of_action.next().map(|entry| entry["actor"].clone())
    };
    for action in ["dead-letters-retry", "manage-funds"] {
        let actor = until(action, SOON, async || {
            Ok(used(action).await.ok_or("it is not there".to_owned()))
        });
        let actor = actor.await.unwrap();
        assert_eq!(
            (&actor["name"], &actor["credential"]),
            (&"anna".into(), &shown)
        );
    }
}
