//! Entries of the audit log in archives: they are read and proven as those in the store, and a thief who changes a file is
//! found.

use std::io::BufWriter;
use std::path::PathBuf;

use rialto_archive::{ArchiveError, Head, Writer};
use serde_json::value::RawValue;

use super::collected::{arrived, without_repeats};
use super::*;
use crate::telemetry::Collector;

/// Entries of a bundle, which are archived together.
const BUNDLE: u64 = 256;

/// What `rialto archive` says.
fn archive(scene: &Scene, arguments: &[&str]) -> CliOutput {
    CliOutput::of(binaries::rialto().unwrap(), |c| {
        c.arg("archive").args(arguments).arg("--at");
        c.arg(scene.folder());
    })
    .unwrap()
}

/// The archives of the audit log.
fn archives(scene: &Scene) -> Vec<Value> {
    let said = archive(scene, &["list", "--json"]).success().unwrap();
    let all = said.lines().map(|line| serde_json::from_str(line).unwrap());
    all.filter(|one: &Value| one["class"] == "audit").collect()
}

/// What a check says.
fn verified(scene: &Scene) -> (i32, Value) {
    let output = scene.audit(&["verify", "--json"]);
    let said = serde_json::from_str(&output.stdout).unwrap();
    (output.code, said)
}

/// A file of entries, as a thief reads and writes it.
struct Thief {
    file: PathBuf,
    name: String,
    before: Vec<u8>,
    head: Head,
    items: Vec<String>,
}

impl Thief {
    fn of(file: PathBuf) -> Self {
        let mut lines = Vec::new();
        rialto_archive::lines::<ArchiveError>(&file, &mut |line| {
            lines.push(line.to_owned());
            Ok(())
        })
        .unwrap();
        let items = lines.iter().filter(|line| line.starts_with("{\"about\":"));
        Self {
            name: file.file_name().unwrap().to_str().unwrap().to_owned(),
            before: fs::read(&file).unwrap(),
            head: serde_json::from_str(&lines[0]).unwrap(),
            items: items.cloned().collect(),
            file,
        }
    }

    /// Write these items in a good file, and give its digest.
    fn write(&self, items: &[String]) -> String {
        fs::remove_file(&self.file).unwrap();
        let out = BufWriter::new(fs::File::create(&self.file).unwrap());
        let mut writer = Writer::new(out, &self.head).unwrap();
        for item in items {
            let value: Value = serde_json::from_str(item).unwrap();
            let about = value["about"].as_array().unwrap().iter();
            let about: Vec<&str> = about.map(|text| text.as_str().unwrap()).collect();
            let raw: &RawValue = serde_json::from_str(item).unwrap();
            writer
                .item(&raw, &about, value["at"].as_u64().unwrap())
                .unwrap();
        }
        writer.finish().unwrap().1.sha256
    }

    fn put_back(&self) {
        fs::write(&self.file, &self.before).unwrap();
    }

    /// The items with the entries of two of them exchanged.
    fn exchanged(&self, one: usize, other: usize) -> Vec<String> {
        let parts = |n: usize| self.items[n].split_once("\"entry\":").unwrap();
        let (first, second) = (parts(one), parts(other));
        let mut items = self.items.clone();
        items[one] = [first.0, "\"entry\":", second.1].concat();
        items[other] = [second.0, "\"entry\":", first.1].concat();
        items
    }
}

fn keeps_a_second(scheme: &TestScheme) {
    let kept = "path = \"state\"\nkeep = { audit = \"1 s\" }";
    let kept = scheme.replace("rialto.toml", "path = \"state\"", kept);
    kept.unwrap();
}

/// Have so much happen that there are two archives.
async fn fill_two_archives(scene: &Scene) {
    // Each search has an entry.
    for _ in 0..=2 * BUNDLE {
        scene.search(json!({ "since": 0, "limit": 1 })).await;
    }
    until("archives", SOON, async || {
        let all = archives(scene);
        let is_done = all.len() >= 2 && all.iter().all(|one| one["done"] == true);
        Ok(is_done.then_some(()).ok_or(format!("{all:?}")))
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_archived_before_is_signed_and_sent_too() {
    let mut scene = Scene::without_signatures(keeps_a_second).await;
    fill_two_archives(&scene).await;
    scene.world.host.stop().unwrap();
    let (collector, address) = Collector::start().await;
    let settings =
        format!("{AUDIT}\n[telemetry]\nendpoint = \"http://{address}\"\naudit = \"json\"\n");
    scene.world.scheme.add_host_settings(&settings).unwrap();
    scene.world.host.restart().unwrap();
    let said = scene.signed().await;
    assert_eq!(said["findings"], json!([]), "{said}");
    let archived = said["archived"].as_u64().unwrap();
    assert!(archived >= 2 * BUNDLE, "{said}");
    let names: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).collect();
    scene.office = Office::of(&scene.world.scheme, &scene.world.host, &names).unwrap();
    let first = scene.matching(json!({ "action": "host-start" }), 2).await;
    assert!(first[0]["index"].as_u64().unwrap() < BUNDLE, "{first:?}");
    until("entries at the collector", SOON, async || {
        let count = arrived(&collector).len() as u64;
        Ok((count > archived).then_some(()).ok_or(count.to_string()))
    })
    .await
    .unwrap();
    let sent = without_repeats(&arrived(&collector));
    let lines = scene.audit(&["export", "--format", "json"]);
    let exported = lines.stdout.lines().take(sent.len());
    assert_eq!(exported.collect::<Vec<_>>(), sent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archived_entries_stay_provable_and_a_changed_archive_is_named() {
    let mut scene = Scene::with(keeps_a_second).await;
    let outcome = scene.world.pay("1", "USD").await;
    committed(&outcome).unwrap();
    let about = format!("transfer:{}", outcome.transfer_id);
    scene.about(&about, 2).await;
    fill_two_archives(&scene).await;

    // Whoever reads the log reads archives too.
    let said = scene.signed().await;
    assert_eq!(said["findings"], json!([]), "{said}");
    let archived = said["archived"].as_u64().unwrap();
    assert!(
        archived >= 2 * BUNDLE && archived.is_multiple_of(BUNDLE),
        "{said}"
    );
    let found = scene.about(&about, 2).await;
    assert!(found[1]["index"].as_u64().unwrap() < BUNDLE, "{found:?}");
    let lines = scene.audit(&["export", "--format", "json", "--receipts"]);
    assert_eq!(lines.code, 0, "{lines}");
    assert_eq!(lines.stderr, "");
    let indexes = lines.stdout.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["index"].as_u64().unwrap()
    });
    let indexes: Vec<u64> = indexes.collect();
    assert!(indexes.len() as u64 >= archived);
    assert_eq!(indexes, (0..).take(indexes.len()).collect::<Vec<_>>());
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("log");
    let to = to.to_str().unwrap();
    assert_eq!(scene.audit(&["export", to]).code, 0);
    let key = scene.folder().join("secrets/audit.reference.pem");
    let again = ["verify", "--log", to, "--key", key.to_str().unwrap()];
    let again = audit(&again, &[]);
    assert_eq!(again.code, 0, "{again}");
    assert!(again.stdout.contains("0 of them behind"), "{again}");

    // The host goes on from the tree, whose first entries are no longer in the store.
    scene.world.host.stop().unwrap();
    scene.world.host.restart().unwrap();
    committed(&scene.world.pay("1", "USD").await).unwrap();
    let said = scene.signed().await;
    assert_eq!(said["findings"], json!([]), "{said}");
    let told = scene.audit(&["verify"]);
    assert!(told.stdout.contains(" of them in archives, "), "{told}");
    scene.world.host.stop().unwrap();
    let checked = archive(&scene, &["verify"]);
    assert_eq!(checked.code, 0, "{checked}");

    // A thief has the archives.
    let state = scene.world.scheme.state();
    let files = archives(&scene);
    let name = files[1]["file"].as_str().unwrap();
    let thief = Thief::of(state.join("archives").join(name));
    let first = files[1]["era"].as_u64().unwrap() * BUNDLE;
    let finds = |finding: &str| {
        let (code, said) = verified(&scene);
        assert_eq!(code, 1, "{said}");
        let all = said["findings"].as_array().unwrap();
        let is_found = all
            .iter()
            .any(|one| one.as_str().unwrap().contains(finding));
        assert!(is_found, "{finding}: {said}");
    };
    let mut changed = thief.items.clone();
    changed[5] = changed[5].replace("\"outcome\":\"done\"", "\"outcome\":\"gone\"");
    assert_ne!(changed[5], thief.items[5]);
    let entry = first + 5;
    let digest = thief.write(&changed);
    finds(&format!("entry {entry} was changed"));
    finds("is not the one that was written");
    // One who has the store too makes its digest anew.
    let mut connection = database(&state).await;
    let told = sqlx::query("UPDATE archives SET sha256 = ? WHERE file = ?")
        .bind(digest)
        .bind(&thief.name);
    told.execute(&mut connection).await.unwrap();
    let (code, said) = verified(&scene);
    let only = format!("entry {entry} was changed after it was signed");
    assert_eq!((code, &said["findings"]), (1, &json!([only])));
    let digest = files[1]["sha256"].as_str().unwrap();
    let told = sqlx::query("UPDATE archives SET sha256 = ? WHERE file = ?")
        .bind(digest)
        .bind(&thief.name);
    told.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();

    let mut fewer = thief.items.clone();
    fewer.remove(5);
    thief.write(&fewer);
    finds(&format!("entry {entry} is missing"));
    thief.write(&thief.exchanged(5, 6));
    finds(&format!(
        "entry {} was moved: it stands at {entry}",
        entry + 1
    ));
    fs::write(&thief.file, &thief.before[..thief.before.len() / 2]).unwrap();
    finds("cannot be read");
    fs::remove_file(&thief.file).unwrap();
    finds("it is missing in the folder of archives: put it back");
    finds(&format!("entries {first} to "));
    let refused = scene.audit(&["export", folder.path().join("other").to_str().unwrap()]);
    assert!(
        refused.code != 0 && refused.said().contains(name),
        "{refused}"
    );

    // A search that would need the file does not pretend that there was nothing.
    scene.world.host.restart().unwrap();
    let office = Office::of(&scene.world.scheme, &scene.world.host, &["anna"]).unwrap();
    let read = async |query: Value| {
        office
            .post("anna", "/read-audit-log", &query)
            .await
            .unwrap()
    };
    let found = read(json!({ "about": about, "limit": 2 })).await;
    let items = found.body["items"].as_array().map(Vec::len);
    assert_eq!((found.status, items), (200, Some(2)), "{found:?}");
    let unread = read(json!({ "since": 0, "limit": 1_000 })).await;
    assert_eq!(unread.status, 503, "{unread:?}");
    assert!(unread.body.to_string().contains(name), "{unread:?}");
    thief.put_back();
    let (code, said) = verified(&scene);
    assert_eq!((code, &said["findings"]), (0, &json!([])));
}
