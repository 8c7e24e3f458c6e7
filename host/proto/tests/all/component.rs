//! The files of a component's own exports equal those of its contracts, and a component with another contract than the
//! clients' is detected. The component is a real one (`cargo xtask build`); the lock differs.

use std::collections::BTreeSet;
use std::path::Path;

use rialto_proto::component::{Component, MergedFiles};
use rialto_proto::{Lock, own};

const CREATE: &str = "rialto:scheduling/create-schedule-reminder@0.1.0";
const DELETE: &str = "rialto:scheduling/delete-schedule-reminder@0.1.0";
const API: &str = "rialto:scheduling/create-reminder@0.1.0";
const EARLIER: &str = "rialto:scheduling/get-earlier-work@0.1.0";

fn component() -> Component {
    built("scheduling")
}

fn built(name: &str) -> Component {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/plugins");
    let bytes = std::fs::read(plugins.join(format!("{name}.wasm")));
    let bytes = bytes.expect("it is built: run `cargo xtask build`");
    Component::read(&bytes).expect("it is a component")
}

fn none() -> BTreeSet<String> {
    BTreeSet::new()
}

/// The host's own lock, changed as text.
fn lock(from: &str, to: &str) -> Lock {
    let text = own::lock().expect("it can be read").to_text();
    assert!(text.contains(from), "the lock has no `{from}`");
    Lock::parse(&text.replace(from, to)).expect("it can still be read")
}

/// Why an interface is not served under a lock.
fn unfit(interface: &str, lock: &Lock) -> String {
    let exported = component().exported(interface, &none(), lock);
    let files = exported.expect("it has calls").files;
    files.expect_err("it does not fit the lock").to_string()
}

#[test]
fn a_component_gives_the_files_of_its_contracts() {
    let own = own().expect("the contracts can be read");
    let component = component();
    let lock = own::lock().expect("it can be read");
    let mut together = MergedFiles::default();
    for interface in [CREATE, DELETE, API, EARLIER] {
        assert!(component.exports().contains(interface));
        let exported = component
            .exported(interface, &none(), &lock)
            .expect("calls");
        together
            .add(&exported.files.expect("it fits"))
            .expect("they fit together");
    }
    let mut files = together.files();
    rialto_proto::component::tell(&mut files, &own.files);
    let expected = own
        .files
        .iter()
        .find(|file| file.package == "rialto.scheduling.v0_1");
    assert_eq!(files.len(), 1);
    assert_eq!(Some(&files[0]), expected, "words, numbers and all");
}

/// A component's own type says that it is an alias: no contract is needed to know an id.
#[test]
fn a_component_says_which_of_its_texts_are_ids() {
    let component = built("participant-lifecycle-management");
    let interface = "rialto:participant-lifecycle-management/get-participant-info@0.1.0";
    let lock = own::lock().expect("it can be read");
    let exported = component.exported(interface, &none(), &lock);
    let files = exported.expect("it has a call").files;
    let files = files.expect("it fits the lock");
    let messages = files.iter().flat_map(|file| &file.messages);
    let fields = messages.flat_map(|message| &message.fields);
    let asked: Vec<bool> = fields
        .filter(|field| field.wit == "participant")
        .map(|field| field.is_id)
        .collect();
    // Of whoever is asked about, and of the answer.
    assert_eq!(asked, [true, true]);
}

#[test]
fn a_component_with_another_contract_is_detected() {
    let changed = lock("3 = \"due: u64\"", "3 = \"due: u32\"");
    let why = unfit(CREATE, &changed);
    assert!(why.contains("Reminder.due was `u32` and is `u64`"), "{why}");
    // A message that clients know with a field that they must be given, and the component has not.
    let fresh = lock("4 = \"payload: string\"\n", "");
    let why = unfit(CREATE, &fresh);
    assert!(
        why.contains("Reminder.payload is new and must be said"),
        "{why}"
    );
    let renamed = lock("CreateScheduleReminder = ", "CreateAnotherReminder = ");
    let why = unfit(CREATE, &renamed);
    assert!(
        why.contains("CreateScheduleReminder has no number"),
        "{why}"
    );
    let answers = lock("DELETION_DELETED", "DELETION_REMOVED");
    let why = unfit(DELETE, &answers);
    assert!(why.contains("DELETION_DELETED has no number"), "{why}");
    // What is wrong with one call does not keep the other from clients.
    let exported = component()
        .exported(CREATE, &none(), &answers)
        .expect("calls");
    assert!(exported.files.is_ok());
}

#[test]
fn what_has_no_number_is_given_one_and_keeps_it() {
    let component = component();
    let first = component.numbered([CREATE, DELETE], &none(), &Lock::default());
    let first = first.expect("nothing is locked yet");
    let again = component.numbered([CREATE, DELETE], &none(), &first.lock);
    let again = again.expect("it is what is locked");
    assert_eq!(
        (again.files, again.lock),
        (first.files.clone(), first.lock.clone())
    );
    // A part leaves the rest locked.
    let part = component
        .numbered([CREATE], &none(), &first.lock)
        .expect("a part");
    assert_eq!(part.lock, first.lock);
    let own = own::lock().expect("it can be read");
    assert_eq!(own.clone().with(first.lock.clone()), own, "the first wins");
    assert!(own.clone().without(&own).to_text() == Lock::default().to_text());
}

#[test]
fn bytes_that_say_nothing_of_themselves_are_refused() {
    for bytes in [&b""[..], b"text", b"\0asm"] {
        assert!(Component::read(bytes).is_err(), "{bytes:?}");
    }
    // A core module has no types of its own, so nothing for clients.
    let module = Component::read(b"\0asm\x01\0\0\0").expect("it is WebAssembly");
    assert!(module.exports().is_empty());
}
