//! Records of people whose key was destroyed: nobody reads them any more, and the log stays whole.

use rialto_engine::store::Receipt;
use rialto_store_sqlite::HistoryStore as _;
use rialto_tests::kept;

use super::*;

const PERSONAL_DATA: &str = r#"
[personal-data]
subjects = ["party"]
keys = "people/people.keys"
"#;

async fn scene() -> Scene {
    Scene::with(|scheme| scheme.add_host_settings(PERSONAL_DATA).unwrap()).await
}

impl Scene {
    fn told(&self, command: &[&str]) -> Vec<Value> {
        let said = self.world.host.cli(command).unwrap();
        said.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The turns about an id, and the receipts.
    fn read(&self, id: &str) -> (Vec<Value>, Vec<Value>) {
        let turns = self.told(&["events", id, "--json"]);
        (turns, self.told(&["receipts", id, "--json"]))
    }

    fn shred(&self, person: &str) -> Vec<Value> {
        let command = [
            "personal-data",
            "shred",
            person,
            "--json",
            "--note",
            "request 17",
        ];
        self.told(&command)
    }

    fn keys(&self) -> std::path::PathBuf {
        self.folder().join("people/people.keys")
    }

    /// Whether a host starts on what is there now; otherwise what it says.
    fn refusal(&mut self) -> String {
        format!("{:#}", self.world.host.restart().unwrap_err())
    }
}

/// Whether turns have encrypted parts.
fn is_sealed(turns: &[Value]) -> bool {
    Value::from(turns).to_string().contains("\"Sealed\"")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destroyed_key_makes_records_unreadable_in_store_and_backup() {
    let mut scene = scene().await;
    let outcome = scene.world.pay("5", "USD").await;
    committed(&outcome).unwrap();
    rialto_tests::metrics::idle(&scene.world.host)
        .await
        .unwrap();
    let payee = scene.world.party("payeefsp").clone();
    let number = payee.identifier().to_owned();
    let person = format!("party:{}/{number}", payee.kind());
    let quote = outcome.quote_id.clone();

    // With the keys, people are found and read as ever.
    let (turns, _) = scene.read(&person);
    assert!(!turns.is_empty());
    let paths = Value::from(turns.as_slice()).to_string();
    assert!(
        paths.contains(&format!("/parties/{}/{number}", payee.kind())),
        "{paths}"
    );
    assert!(!is_sealed(&turns));
    let (turns, receipts) = scene.read(&quote);
    let (turns_of_quote, receipts_of_quote) = (turns.len(), receipts.len());
    assert!(turns_of_quote > 3 && receipts_of_quote > 0);
    let readable = Value::from(receipts.as_slice()).to_string();
    assert!(readable.contains(&number), "{readable}");
    // A search for a person has an entry, which names the person.
    let of_anna = json!({ "action": "audit.read", "actor": "anna" });
    scene.search(json!({ "about": person })).await;
    let reads = scene.matching(of_anna.clone(), 1).await;
    let opened = &reads[0]["opened"]["details"]["query"]["about"];
    assert_eq!(*opened, json!(person), "{reads:?}");
    let place = tempfile::tempdir().unwrap();
    let backup = place.path().join("backup");
    let backup = backup.to_str().unwrap();
    scene
        .world
        .host
        .cli(&["backup", backup])
        .unwrap()
        .success()
        .unwrap();
    let earlier_keys = fs::read(scene.keys()).unwrap();

    // In the store they have pseudonyms.
    let ids = [outcome.transfer_id.clone(), quote.clone()];
    scene.world.host.kill().unwrap();
    let kept = kept::with_store(&scene.world, move |store| {
        store.recover()?;
        let mut kept = String::new();
        for id in &ids {
            for subject in store.subjects_of(id)? {
                let receipts: Vec<Receipt> = store.receipts(&subject)?;
                kept += &format!("{:?} {receipts:?}", store.history(&subject)?);
            }
        }
        Ok(kept)
    })
    .await
    .unwrap();
    assert!(kept.contains("party:pseudonym-"), "{kept}");
    assert!(!kept.contains(&number), "{kept}");
    scene.world.host.restart().unwrap();

    let shredded = scene.shred(&person);
    let pseudonym = shredded[0]["pseudonyms"][0].as_str().unwrap().to_owned();
    let mut restored = false;
    loop {
        let (turns, receipts) = scene.read(&quote);
        assert_eq!(
            (turns.len(), receipts.len()),
            (turns_of_quote, receipts_of_quote)
        );
        let told = Value::from([turns, receipts].concat()).to_string();
        assert!(!told.contains(&number), "{told}");
        assert!(
            told.contains(&pseudonym) && told.contains("\"Judged\""),
            "{told}"
        );
        assert_eq!(scene.read(&person).0, Vec::<Value>::new());
        if restored {
            break;
        }
        let entries = scene.about(&pseudonym, 2).await;
        assert_eq!(actions(&entries), ["personal-data-shred"; 2]);
        assert_eq!(entries[0]["entry"]["note"], "request 17");
        let reads = scene.matching(of_anna.clone(), 1).await;
        assert!(reads[0].get("opened").is_none(), "{reads:?}");
        let lines = scene.audit(&["export", "--format", "json"]);
        assert_eq!(lines.code, 0, "{lines}");
        assert!(!lines.stdout.contains(&number), "{lines}");
        let said = scene.signed().await;
        assert_eq!(said["findings"], json!([]), "{said}");
        // The person pays again, under another pseudonym.
        let again = scene.world.pay("5", "USD").await;
        committed(&again).unwrap();
        let (turns, _) = scene.read(&again.quote_id);
        let told = Value::from(turns).to_string();
        assert!(
            told.contains(&person) && !told.contains(&pseudonym),
            "{told}"
        );

        scene.world.host.kill().unwrap();
        fs::rename(scene.folder().join("state"), place.path().join("lost")).unwrap();
        let back = scene.world.host.cli(&["restore", backup]).unwrap();
        back.success().unwrap();
        scene.world.host.restart().unwrap();
        restored = true;
    }

    // Other files of keys are refused.
    scene.world.host.stop().unwrap();
    let last = place.path().join("last.keys");
    fs::copy(scene.keys(), &last).unwrap();
    fs::write(scene.keys(), &earlier_keys).unwrap();
    let refused = scene.refusal();
    assert!(refused.contains("is an older copy"), "{refused}");
    fs::remove_file(scene.keys()).unwrap();
    let refused = scene.refusal();
    assert!(refused.contains("is missing: bring back"), "{refused}");
    let lost = refused.split("lost = \"").nth(1).unwrap()[..32].to_owned();
    // With its mode.
    fs::copy(&last, scene.keys()).unwrap();
    let settings = |text: &str| {
        let scheme = &scene.world.scheme;
        scheme
            .replace("rialto.toml", "keys = \"people/", text)
            .unwrap();
    };
    settings(&format!("lost = \"{lost}\"\nkeys = \"people/"));
    let refused = scene.refusal();
    assert!(refused.contains("remove `lost`"), "{refused}");
    fs::remove_file(scene.keys()).unwrap();
    scene.world.host.restart().unwrap();
    let shown = scene.told(&["personal-data", "show", "--json"]);
    assert_eq!(shown[0]["shreddings"], 0, "{shown:?}");
    assert_ne!(shown[0]["id"], json!(lost));
    committed(&scene.world.pay("5", "USD").await).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_destroy_nothing_are_refused() {
    let mut scene = scene().await;
    let shred = |name: &'static str, body: Value| {
        let office = &scene.office;
        async move {
            office
                .post(name, "/personal-data/shred", &body)
                .await
                .unwrap()
        }
    };
    let person = "party:MSISDN/1";
    for (name, body, status, kind) in [
        ("anna", json!({ "subjects": [person] }), 403, "role-missing"),
        (
            "chris",
            json!({ "subjects": [person] }),
            403,
            "role-missing",
        ),
        ("ada", json!({ "subjects": [] }), 400, "malformed"),
        (
            "ada",
            json!({ "subjects": ["transfer:1"] }),
            400,
            "malformed",
        ),
        (
            "ada",
            json!({ "subjects": [person, "party"] }),
            400,
            "malformed",
        ),
        (
            "ada",
            json!({ "subjects": ["party:a\u{7}"] }),
            400,
            "malformed",
        ),
        (
            "ada",
            json!({ "subjects": [format!("party:{}", "a".repeat(2043))] }),
            400,
            "malformed",
        ),
        (
            "ada",
            json!({ "subjects": vec![person; 21] }),
            400,
            "malformed",
        ),
        (
            "ada",
            json!({ "subjects": [person], "force": true }),
            400,
            "malformed",
        ),
    ] {
        let said = shred(name, body.clone()).await;
        assert_eq!(
            (said.status, said.problem()),
            (status, kind),
            "{body} {said:?}"
        );
    }
    let shown = scene.told(&["personal-data", "show", "--json"]);
    assert_eq!(shown[0]["shreddings"], 0, "{shown:?}");
    assert_eq!(shown[0]["subjects"], json!(["party"]));

    // A store with encrypted records needs its table, and the file is not in the store.
    scene.world.host.stop().unwrap();
    let scheme = &scene.world.scheme;
    scheme
        .replace("rialto.toml", "people/people.keys", "state/people.keys")
        .unwrap();
    let refused = scene.refusal();
    assert!(refused.contains("is in the store's folder"), "{refused}");
    let scheme = &scene.world.scheme;
    let table = PERSONAL_DATA.replace("people/people.keys", "state/people.keys");
    scheme.replace("rialto.toml", table.trim(), "").unwrap();
    let refused = scene.refusal();
    assert!(
        refused.contains("has no table [personal-data]"),
        "{refused}"
    );
}

#[tokio::test]
async fn receipts_about_people_are_proven_until_their_key_is_destroyed() {
    let scene = scene().await;
    let outcome = scene.world.pay("5", "USD").await;
    committed(&outcome).unwrap();
    let place = tempfile::tempdir().unwrap();
    let export = |file: &str| {
        let file = place.path().join(file);
        let command = [
            "receipts",
            &outcome.quote_id,
            "--out",
            file.to_str().unwrap(),
        ];
        scene.world.host.cli(&command).unwrap()
    };
    export("before.json").success().unwrap();
    let payee = scene.world.party("payeefsp").clone();
    scene.shred(&format!("party:{}/{}", payee.kind(), payee.identifier()));
    let refused = export("after.json");
    assert!(
        refused.code == 1 && refused.stderr.contains("was destroyed"),
        "{refused}"
    );
    // What somebody has is still proven.
    let key = scene.folder().join("secrets/audit.reference.pem");
    let verified = CliOutput::of(binaries::rialto().unwrap(), |of| {
        of.args(["receipts", "verify"]);
        of.arg(place.path().join("before.json"));
        of.arg("--key").arg(key);
    });
    verified.unwrap().success().unwrap();
}
