//! The bounds of the host's surfaces: the lines of a component's log, and the pages of a scan.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use std::collections::HashMap;
use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, MutexGuard, Once};

use crate::world::{PREPARE, World, asker, at, built, friend, release, rule_of, wide};
use rialto_components::{ComponentSpec, Digest, Failing, Limits};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Lines of a turn, or of a call that belongs to none, that are kept.
const LINES_MAX: usize = 256;
/// Bytes of a line that are kept.
const LINE_BYTES_MAX: usize = 1_024;
/// Lines that a component never gets to the end of.
const ENDLESS: u32 = u32::MAX;

/// Everything that was logged, by what its fields say in all: one test at a time.
static LINES: Mutex<Vec<HashMap<String, String>>> = Mutex::new(Vec::new());
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct Ears;

impl Subscriber for Ears {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        LINES.lock().unwrap().push(fields.0);
    }
}

#[derive(Default)]
struct Fields(HashMap<String, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = self.0.entry(field.name().to_owned()).or_default();
        write!(text, "{value:?}").unwrap();
    }
}

/// Hear what is logged from now on.
fn listen() -> MutexGuard<'static, ()> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Ears).unwrap());
    let alone = ONE_AT_A_TIME.lock();
    LINES.lock().unwrap().clear();
    alone.unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The lines whose message is like this.
fn heard(like: impl Fn(&str) -> bool) -> Vec<HashMap<String, String>> {
    let lines = LINES.lock().unwrap();
    let of = |line: &&HashMap<String, String>| line.get("message").is_some_and(|m| like(m));
    lines.iter().filter(of).cloned().collect()
}

fn context() -> World {
    let (mut context, mut friend) = (asker(), friend());
    context.limits.deadline_ms = 10_000;
    friend.limits.deadline_ms = 10_000;
    World::new(&release(vec![context, friend], Vec::new()), 32)
}

fn is_x(message: &str) -> bool {
    !message.is_empty() && message.bytes().all(|byte| byte == b'x')
}

#[test]
fn log_lines_beyond_the_limit_of_a_turn_are_counted() {
    let alone = listen();
    let world = context();
    assert_eq!(world.order("call log 300 10").unwrap(), "done");
    assert_eq!(heard(is_x).len(), LINES_MAX);
    let dropped = |message: &str| message.starts_with("a turn logged more than 256 lines");
    // A turn says it when it is over, which may be after its answer.
    world.wait_until("the line about lines", |_| heard(dropped).len() == 1);
    assert_eq!(heard(dropped)[0]["dropped"], "44");
    // The next turn has as many again, also when they come by several calls.
    assert_eq!(world.order("calls 30 log 10 10").unwrap(), "done");
    assert_eq!(heard(is_x).len(), 2 * LINES_MAX);
    world.wait_until("the next line about lines", |_| heard(dropped).len() == 2);
    drop(alone);
}

#[test]
fn a_long_line_is_cut() {
    let alone = listen();
    let world = context();
    world.order("call log 1 100000").unwrap();
    let lengths: Vec<usize> = heard(is_x).iter().map(|l| l["message"].len()).collect();
    assert_eq!(lengths, [LINE_BYTES_MAX]);
    drop(alone);
}

#[test]
fn endless_logging_ends_by_other_limits_and_fills_no_log() {
    let alone = listen();
    let (context, mut friend) = (asker(), friend());
    friend.limits.deadline_ms = 200;
    let world = World::new(&release(vec![context, friend], Vec::new()), 32);
    let failure = world.failure(&format!("call log {ENDLESS} 10"));
    let expected = (
        "friend".to_owned(),
        "ran past its deadline of 200 ms".to_owned(),
    );
    assert_eq!(failure, expected);
    assert_eq!(heard(is_x).len(), LINES_MAX);
    assert_eq!(world.order("nothing").unwrap(), "done");
    drop(alone);
}

/// The guest of other languages' tools as the context that serves orders.
fn foreign() -> World {
    let bytes = built("wasi-guest");
    let mut context = ComponentSpec {
        digest: Digest::of(&bytes),
        bytes,
        ..asker()
    };
    context.grants.host = ["configuration", "logging", "clock", "random"]
        .map(str::to_owned)
        .to_vec();
    context.limits.deadline_ms = 10_000;
    World::new(&release(vec![context], Vec::new()), 16)
}

#[test]
fn standard_output_has_the_limit_of_other_log_lines() {
    let alone = listen();
    let world = foreign();
    let of_guest = |message: &str| ["words", "of", "the", "guest", "scrap"].contains(&message);
    let dropped = |message: &str| message.starts_with("a turn logged more than 256 lines");
    for (turns, order) in ["chatter", "scraps"].iter().enumerate() {
        assert_eq!(world.order(order).unwrap(), "chattered");
        assert_eq!(heard(of_guest).len(), (turns + 1) * LINES_MAX, "{order}");
        world.wait_until("the line about lines", |_| {
            heard(dropped).len() == turns + 1
        });
    }
    let lines = heard(dropped);
    assert_eq!(lines[0]["dropped"], (4 * 1_000 - LINES_MAX).to_string());
    assert_eq!(lines[1]["dropped"], (1_000 - LINES_MAX).to_string());
    drop(alone);
}

#[test]
fn a_rule_that_logs_endlessly_runs_out_of_fuel() {
    let alone = listen();
    let limits = Limits {
        fuel: Some(5_000_000),
        ..wide()
    };
    let chatterer = rule_of("hostile-rule", built("hostile-rule"), limits);
    let step = at(
        PREPARE,
        "hostile-rule",
        r#"{"do":"chatter"}"#,
        Failing::Allow,
    );
    let world = World::new(&release(vec![asker(), chatterer], vec![step]), 32);
    let chatter = |message: &str| message == "the rule chatters, as it was told";
    // Each verdict is a call of its own: what one used up, the next one has.
    for calls in 1..=2 {
        assert_eq!(world.order("prepare 1").unwrap(), "allow");
        assert_eq!(heard(chatter).len(), calls * LINES_MAX);
    }
    let dropped = heard(|m| m.starts_with("a call logged more than 256 lines"));
    assert_eq!(dropped.len(), 2, "{dropped:?}");
    assert_eq!(dropped[0]["component"], "hostile-rule");
    drop(alone);
}

#[test]
fn a_scan_refuses_an_empty_or_too_long_page() {
    let world = context();
    world.order("call fill 0 3 10").unwrap();
    for limit in [0, 1_001, u32::MAX] {
        let (component, reason) = world.failure(&format!("call scan {limit} * *"));
        assert_eq!(component, "friend");
        assert_eq!(
            reason,
            format!("a scan takes 1 to 1000 documents, not {limit}")
        );
    }
    assert_eq!(world.order("call scan 1000 * *").unwrap(), "3 0000 0002 *");
}

#[test]
fn pages_end_at_their_limit_and_continue_by_cursor() {
    let world = context();
    world.order("call fill 0 1200 10").unwrap();
    let mut pages = Vec::new();
    let mut cursor = "*".to_owned();
    loop {
        let page = world.order(&format!("call scan 500 * {cursor}")).unwrap();
        let (about, next) = page.rsplit_once(' ').unwrap();
        pages.push(about.to_owned());
        if next == "*" {
            break;
        }
        next.clone_into(&mut cursor);
    }
    assert_eq!(pages, ["500 0000 0499", "500 0500 0999", "200 1000 1199"]);
    // A limit that is met exactly may have a page without documents behind it.
    let exact = world.order("call scan 10 119 *").unwrap();
    let (about, cursor) = exact.rsplit_once(' ').unwrap();
    assert_eq!(about, "10 1190 1199");
    let last = world.order(&format!("call scan 10 119 {cursor}")).unwrap();
    assert_eq!(last, "0 - - *");
}

#[test]
fn a_cursor_from_elsewhere_shows_nothing_outside_the_range() {
    let world = context();
    world.order("call fill 0 40 10").unwrap();
    let page = world.order("call scan 100 002 0005").unwrap();
    assert_eq!(page, "10 0020 0029 *");
    let page = world.order("call scan 100 002 0035").unwrap();
    assert_eq!(page, "0 - - *");
}

#[test]
fn a_page_ends_at_its_limit_of_bytes() {
    let world = context();
    // Each turn stages and reads no more than its budget.
    for from in [0, 5] {
        let fill = format!("call fill {from} {} 1000000", from + 5);
        world.order(&fill).unwrap();
    }
    let first = world.order("call scan 1000 * *").unwrap();
    let (about, cursor) = first.rsplit_once(' ').unwrap();
    assert_eq!(about, "5 0000 0004");
    let second = world.order(&format!("call scan 1000 * {cursor}")).unwrap();
    assert!(second.starts_with("5 0005 0009 "), "{second}");
}
