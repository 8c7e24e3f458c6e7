//! The record of a turn. Its people's names among the subjects become pseudonyms; steps and texts that may have a name are
//! encrypted, and the others stay.

use rialto_engine::Name;
use rialto_engine::history::{Ciphertext, Ended, Kind, Record, Step};
use rialto_engine::messages::Part;
use rialto_personal_data::{Opened, People};
use serde::{Deserialize, Serialize};

use super::{HostPeople, Named};

/// What is encrypted is of a turn's record.
const KIND: &str = "turn";
/// The reason of a failure whose words are encrypted.
const ENCRYPTED: &str = "encrypted";

/// What is encrypted of a record.
#[derive(Serialize, Deserialize)]
struct Hidden {
    /// Method and path of a request.
    function: Option<Name>,
    /// The names of people among the subjects, each with its place there.
    subjects: Vec<(u32, Name)>,
    /// Steps, each with its place in the record.
    steps: Vec<(u32, Step)>,
    /// Why the turn failed.
    reason: Option<String>,
}

impl HostPeople {
    pub(super) fn seal_record(&self, named: &Named, record: &mut Record) {
        let hidden = Hidden {
            function: (record.kind == Kind::Request).then(|| without_path(&mut record.function)),
            subjects: self.hide_subjects(&mut record.subjects),
            steps: hide_steps(&mut record.steps),
            reason: hide_reason(&mut record.ended),
        };
        let steps = u32::try_from(hidden.steps.len()).unwrap_or(u32::MAX);
        let plain = postcard::to_stdvec(&hidden).ok();
        let sealed = plain.and_then(|plain| self.sealed(named, KIND, &plain));
        let content = Ciphertext(sealed.unwrap_or_default());
        record.steps.push(Step::Sealed { steps, content });
    }

    /// Put pseudonyms in place of people, each person once.
    fn hide_subjects(&self, subjects: &mut [Name]) -> Vec<(u32, Name)> {
        let mut hidden = Vec::new();
        for (place, subject) in (0..).zip(subjects) {
            if let Some(pseudonym) = self.people.pseudonym(subject) {
                hidden.push((place, std::mem::replace(subject, pseudonym.into())));
            }
        }
        hidden
    }
}

/// The record with what is encrypted in it, if its keys are there.
pub(super) fn open(people: &People, mut record: Record) -> Record {
    let Some(Step::Sealed { content, .. }) = record.steps.last() else {
        return record;
    };
    let Some(hidden) = hidden(people, content) else {
        return record;
    };
    record.steps.pop();
    if let Some(function) = hidden.function {
        record.function = function;
    }
    for (place, subject) in hidden.subjects {
        if let Some(pseudonym) = record.subjects.get_mut(place as usize) {
            *pseudonym = subject;
        }
    }
    // In their order, so each one's place is there when it comes.
    for (place, step) in hidden.steps {
        let place = (place as usize).min(record.steps.len());
        record.steps.insert(place, step);
    }
    if let (Some(why), Ended::Failed(reason) | Ended::Parked(reason)) =
        (hidden.reason, &mut record.ended)
    {
        *reason = why;
    }
    record
}

fn hidden(people: &People, Ciphertext(content): &Ciphertext) -> Option<Hidden> {
    match people.unseal(KIND, content) {
        Opened::Plain(plain) => postcard::from_bytes(&plain).ok(),
        Opened::Shredded(_) | Opened::Damaged => None,
    }
}

/// Leave the beginning of the path of a request that ended before it said what it was about: it failed, or met another
/// release and ran again in another turn. The rest may name somebody, and with which key is not known.
pub(super) fn cut_path(record: &mut Record) {
    let is_unknown = record.kind == Kind::Request && record.subjects.is_empty();
    let is_answered = record
        .steps
        .iter()
        .any(|step| matches!(step, Step::Answered { .. }));
    if !is_unknown || (record.ended == Ended::Executed && is_answered) {
        return;
    }
    if let Some((method, path)) = record.function.split_once(" /") {
        let first = path.split('/').next().unwrap_or_default();
        record.function = format!("{method} /{first}").into();
    }
}

/// Leave no body and no header of a message in a record that names nobody, and of paths what the record itself has of them.
/// They may name somebody, also in `FSPIOP-URI` or a signature, and with which key is not known.
pub(super) fn without_bodies(record: &mut Record) {
    for step in &mut record.steps {
        if let Step::Message(message) = step {
            message.body = None;
            let headers = std::mem::take(&mut message.headers);
            message.headers_left_out += u32::try_from(headers.len()).unwrap_or(u32::MAX);
            if message.part == Part::Came {
                message.line = record.function.to_string();
            }
        }
    }
}

/// Leave the method of a request. Returns method and path.
fn without_path(function: &mut Name) -> Name {
    let method = function.split(' ').next().unwrap_or_default().into();
    std::mem::replace(function, method)
}

/// Take away the steps that may name people.
fn hide_steps(steps: &mut Vec<Step>) -> Vec<(u32, Step)> {
    let all = std::mem::take(steps);
    let mut hidden = Vec::new();
    for (place, step) in (0..).zip(all) {
        if may_name(&step) {
            hidden.push((place, step));
        } else {
            steps.push(step);
        }
    }
    hidden
}

/// Whether a step has a text in which a person's name may stand. The names in the others are those of components,
/// functions, rules and codes.
const fn may_name(step: &Step) -> bool {
    match step {
        Step::Sent { .. }
        | Step::Reminded { .. }
        | Step::Wrote { .. }
        | Step::Reported { .. }
        | Step::Message(_) => true,
        Step::Called { .. }
        | Step::Published { .. }
        | Step::Judged { .. }
        | Step::Answered { .. }
        | Step::Replied { .. }
        | Step::Sealed { .. } => false,
    }
}

fn hide_reason(ended: &mut Ended) -> Option<String> {
    match ended {
        Ended::Executed => None,
        Ended::Failed(reason) | Ended::Parked(reason) => {
            Some(std::mem::replace(reason, ENCRYPTED.to_owned()))
        }
    }
}
