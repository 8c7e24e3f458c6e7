//! Receipts that prove themselves: whoever has the log's public key verifies them without the host, asks their rules again,
//! and finds what was changed, by the owner of the database too.

use std::path::PathBuf;

use sqlx::SqliteConnection;

use super::*;

/// The public key of the log.
fn key(scene: &Scene) -> PathBuf {
    scene.folder().join("secrets/audit.reference.pem")
}

/// Writes the receipts about an id to a new file.
fn export(scene: &Scene, id: &str, file: &Path) -> CliOutput {
    let file = file.to_str().unwrap();
    scene
        .world
        .host
        .cli(&["receipts", id, "--out", file])
        .unwrap()
}

fn verify(file: &Path, key: &Path, more: &[&str]) -> CliOutput {
    CliOutput::of(binaries::rialto().unwrap(), |of| {
        of.args(["receipts", "verify"]).arg(file);
        of.arg("--key").arg(key).args(more);
    })
    .unwrap()
}

/// What a check says of each receipt.
fn verified(file: &Path, key: &Path, more: &[&str]) -> Vec<Value> {
    let more = [&["--json"], more].concat();
    let lines = verify(file, key, &more).success().unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn redact(file: &Path, fields: &[&str], out: &Path) -> CliOutput {
    CliOutput::of(binaries::rialto().unwrap(), |of| {
        of.args(["receipts", "redact"]).arg(file);
        for field in fields {
            of.args(["--field", field]);
        }
        of.arg("--out").arg(out);
    })
    .unwrap()
}

/// The rules of receipts, as arguments.
fn components(scene: &Scene, receipts: &[Value]) -> Vec<String> {
    let mut rules: Vec<&str> = receipts
        .iter()
        .map(|one| one["fields"]["rule"].as_str().unwrap())
        .collect();
    rules.sort_unstable();
    rules.dedup();
    let files = rules.iter().map(|rule| scene.world.scheme.component(rule));
    files
        .flat_map(|file| ["--component".to_owned(), file.to_str().unwrap().to_owned()])
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receipts_are_verified_and_judged_again_without_the_host() {
    let mut scene = Scene::start().await;
    let outcome = scene.world.pay("5", "USD").await;
    committed(&outcome).unwrap();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("receipts.json");
    export(&scene, &outcome.transfer_id, &file)
        .success()
        .unwrap();
    let again = export(&scene, &outcome.transfer_id, &file);
    assert!(
        again.code != 0 && again.stderr.contains("exists"),
        "{again}"
    );
    // A key that somebody has handed over is all that is needed.
    let known = place.path().join("log.pem");
    fs::copy(key(&scene), &known).unwrap();
    let found = verified(&file, &known, &[]);
    assert!(found.len() >= 2, "{found:?}");
    let rules = components(&scene, &found);
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    tokio::task::block_in_place(|| scene.world.host.kill()).unwrap();

    for one in verified(&file, &known, &rules) {
        assert_eq!(one["again"]["outcome"], "same", "{one:#}");
        assert_eq!(one["again"]["fuel"], one["again"]["before"], "{one:#}");
        assert_eq!(one["proof"]["log"], "hub.example/audit");
        assert_eq!(one["proof"]["redacted"], 0);
    }
    let said = verify(&file, &known, &rules).success().unwrap();
    assert!(said.contains("asked again: the same verdict"), "{said}");

    // Without the payer, it is proven and cannot be asked again.
    let redacted = place.path().join("redacted.json");
    let wrong = redact(&file, &["input.pyer"], &redacted);
    assert!(
        wrong.code != 0 && wrong.stderr.contains("input."),
        "{wrong}"
    );
    let one = found
        .iter()
        .find(|one| one["fields"]["input.transfer"].is_object());
    assert!(one.is_some(), "{found:#?}");
    redact(&file, &["input.transfer"], &redacted)
        .success()
        .unwrap();
    let text = fs::read_to_string(&redacted).unwrap();
    for one in verified(&redacted, &known, &[]) {
        // With it go its digest, the fuel and the time.
        assert_eq!(one["proof"]["redacted"], 4, "{one:#}");
        assert!(
            one["fields"]["input.transfer"].is_null() && one["fields"]["inputDigest"].is_null()
        );
        assert!(text.contains(one["id"].to_string().as_str()));
    }
    let refused = verify(&redacted, &known, &rules);
    assert!(
        refused.code == 1 && refused.stdout.contains("inputDigest"),
        "{refused}"
    );

    // Other bytes, a key of somebody else, and a changed field.
    let other = scene.world.scheme.component("scheduling");
    let other = ["--component", other.to_str().unwrap()];
    let unused = verify(&file, &known, &other);
    assert!(
        unused.code == 1 && unused.stderr.contains("no receipt"),
        "{unused}"
    );
    let stranger = place.path().join("stranger.pem");
    let (private, public) = (
        place.path().join("stranger.key"),
        stranger.to_str().unwrap(),
    );
    let curve = "ec_paramgen_curve:P-256";
    openssl(
        place.path(),
        &[
            "genpkey",
            "-algorithm",
            "EC",
            "-pkeyopt",
            curve,
            "-out",
            private.to_str().unwrap(),
        ],
    );
    openssl(
        place.path(),
        &[
            "pkey",
            "-in",
            private.to_str().unwrap(),
            "-pubout",
            "-out",
            public,
        ],
    );
    let foreign = verify(&file, &stranger, &[]);
    assert!(
        foreign.code == 1 && foreign.stdout.contains("not proven"),
        "{foreign}"
    );
    let mut changed: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let field = &mut changed["receipts"][0]["disclosures"][3];
    let forged = URL_SAFE_NO_PAD.decode(field.as_str().unwrap()).unwrap();
    let mut forged: Value = serde_json::from_slice(&forged).unwrap();
    forged[2] = json!("forged");
    *field = json!(URL_SAFE_NO_PAD.encode(forged.to_string()));
    fs::write(&redacted, changed.to_string()).unwrap();
    let forged = verify(&redacted, &known, &[]);
    assert!(
        forged.code == 1 && forged.stdout.contains("was changed"),
        "{forged}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receipts_of_a_killed_host_are_proven_and_changed_ones_are_not() {
    let mut scene = Scene::start().await;
    let outcome = scene.world.pay("5", "USD").await;
    committed(&outcome).unwrap();
    let ids = (outcome.transfer_id.clone(), outcome.quote_id.clone());
    tokio::task::block_in_place(|| {
        scene.world.host.kill()?;
        scene.world.host.restart()
    })
    .unwrap();
    rialto_tests::metrics::idle(&scene.world.host)
        .await
        .unwrap();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("receipts.json");
    export(&scene, &ids.0, &file).success().unwrap();
    assert!(!verified(&file, &key(&scene), &[]).is_empty());

    // Whoever owns the database makes an approval of another amount.
    scene.signed().await;
    tokio::task::block_in_place(|| scene.world.host.stop()).unwrap();
    let options =
        SqliteConnectOptions::new().filename(scene.world.scheme.state().join("rialto.db"));
    let mut database = options.connect().await.unwrap();
    forge(&mut database, &ids.0).await;
    database.close().await.unwrap();
    tokio::task::block_in_place(|| scene.world.host.restart()).unwrap();
    let file = place.path().join("forged.json");
    let refused = export(&scene, &ids.0, &file);
    assert!(
        refused.code == 1 && refused.stderr.contains("no entry with its hash"),
        "{refused}"
    );
    assert!(!file.exists());
}

/// Change the limits of fuel in all receipts of the pages that have those about an id.
async fn forge(database: &mut SqliteConnection, id: &str) {
    let pages = "SELECT page, bodies FROM receipt_pages
                 WHERE page IN (SELECT page FROM receipts WHERE subject LIKE '%' || ?)";
    let pages: Vec<(i64, Vec<u8>)> = sqlx::query_as(pages)
        .bind(id)
        .fetch_all(&mut *database)
        .await
        .unwrap();
    assert!(!pages.is_empty());
    for (page, bodies) in pages {
        let mut bodies = zstd::decode_all(&*bodies).unwrap();
        let limit = br#""fuelLimit":5"#;
        let found: Vec<usize> = (0..bodies.len())
            .filter(|at| bodies[*at..].starts_with(limit))
            .collect();
        assert!(!found.is_empty());
        for at in found {
            bodies[at + limit.len() - 1] = b'9';
        }
        sqlx::query("UPDATE receipt_pages SET bodies = ? WHERE page = ?")
            .bind(zstd::bulk::compress(&bodies, 1).unwrap())
            .bind(page)
            .execute(&mut *database)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn entries_about_receipts_are_left_out_of_what_people_read() {
    let scene = Scene::start().await;
    let outcome = scene.world.pay("5", "USD").await;
    committed(&outcome).unwrap();
    let made = json!({ "action": "receipts.made" });
    let asked = scene.matching(made, 1).await;
    let exported = |more: &[&str]| {
        let said = scene.audit(&[&["export", "--format", "json"], more].concat());
        said.success().unwrap()
    };
    let made = r#""writer":"host","action":"receipts.made""#;
    assert!(!exported(&[]).contains(made));
    assert!(exported(&["--receipts"]).contains(made));
    let found = scene.search(json!({ "since": 0 })).await;
    let has_receipts = |entry: &Value| entry["entry"]["action"] == "receipts.made";
    assert!(
        !found.is_empty() && !found.iter().any(has_receipts),
        "{found:#?}"
    );
    assert!(
        !asked.is_empty() && asked.iter().all(has_receipts),
        "{asked:#?}"
    );
}

#[tokio::test]
async fn receipts_of_a_host_without_a_key_have_no_proof() {
    let scene = Scene::without_signatures(|_| {}).await;
    let outcome = scene.world.pay("5", "USD").await;
    committed(&outcome).unwrap();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("receipts.json");
    let refused = export(&scene, &outcome.transfer_id, &file);
    assert!(
        refused.code == 1 && refused.stderr.contains("[audit]"),
        "{refused}"
    );
    assert!(!file.exists());
    let receipts = scene
        .world
        .host
        .cli(&["receipts", &outcome.transfer_id, "--json"]);
    let receipts = receipts.unwrap().success().unwrap();
    assert!(!receipts.contains("\"salt\""), "{receipts}");
}
