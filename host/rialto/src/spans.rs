//! Makes spans of the turns' records.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rialto_engine::history::{Ended, Kind as Started, Record};
use rialto_engine::{Clock, Entropy, Spans as EngineSpans, TurnId, TurnSpan};
use rialto_telemetry::Spans;
use rialto_telemetry::spans::{Kind, Span, Value};

/// The engine's tracing system.
pub struct TurnSpans {
    spans: Spans,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// Random for each start, so that turns of other stores and of earlier starts have other span ids.
    salt: u64,
}

impl TurnSpans {
    /// Adds the spans of turns to `spans`.
    pub fn new(spans: Spans, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        let salt = draw(&*entropy);
        Self {
            spans,
            clock,
            entropy,
            salt,
        }
    }
}

impl EngineSpans for TurnSpans {
    fn records(&self, trace: u128) -> bool {
        self.spans.records(trace)
    }

    fn id(&self, turn: TurnId) -> u64 {
        mixed(self.salt.wrapping_add(turn.0)).max(1)
    }

    fn ended(&self, span: &TurnSpan) {
        let record = &span.record;
        let took = Duration::from_micros(record.took_us.into());
        let since = self.clock.monotonic_us().saturating_sub(span.ended_us);
        let ended = SystemTime::now() - Duration::from_micros(since);
        // Failed runs have no effects, so no span names them as a parent. Attempts of one turn get different ids.
        let (id, error) = match &record.ended {
            Ended::Executed => (self.id(record.turn), None),
            Ended::Failed(reason) | Ended::Parked(reason) => {
                (draw(&*self.entropy).max(1), Some(reason.clone()))
            }
        };
        self.spans.add(Span {
            trace: span.cause.id,
            id,
            parent: span.cause.parent,
            name: name(record),
            kind: Kind::Internal,
            began: ended - took,
            took,
            attributes: attributes(record),
            error,
        });
    }
}

/// The name of a span, without ids, which a request's path may have.
fn name(record: &Record) -> String {
    let function = match record.kind {
        Started::Request => record.function.split(' ').next().unwrap_or_default(),
        Started::Event | Started::Reminder | Started::Report | Started::Activation => {
            &record.function
        }
    };
    format!("{} {function}", record.component)
}

fn attributes(record: &Record) -> Vec<(&'static str, Value)> {
    let kind = match record.kind {
        Started::Request => "request",
        Started::Event => "event",
        Started::Reminder => "reminder",
        Started::Report => "report",
        Started::Activation => "activation",
    };
    let ended = match record.ended {
        Ended::Executed => "executed",
        Ended::Failed(_) => "failed",
        Ended::Parked(_) => "parked",
    };
    vec![
        ("rialto.turn", record.turn.0.into()),
        ("rialto.component", record.component.clone().into()),
        ("rialto.function", record.function.clone().into()),
        ("rialto.release", record.release.into()),
        ("rialto.kind", kind.into()),
        ("rialto.ended", ended.into()),
        ("rialto.subjects", Value::Texts(record.subjects.clone())),
    ]
}

fn draw(entropy: &dyn Entropy) -> u64 {
    let mut bytes = [0; 8];
    entropy.fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A bijection that mixes all bits (the finalizer of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
