//! The stream: whether it is there, takes the events and has room. The host makes it if it is missing.

use async_nats::jetstream::context::RequestErrorKind;
use async_nats::jetstream::{self, Context, ErrorCode};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::settings::Settings;

/// The window in which JetStream knows a repeated message, in nanoseconds: two minutes.
const DUPLICATES_NS: u64 = 120_000_000_000;

// Codes of errors of JetStream's API.
const JETSTREAM_OFF: u64 = 10_076;
const JETSTREAM_OFF_FOR_ACCOUNT: u64 = 10_039;
const NO_STREAM: u64 = 10_059;
/// No resources of the server or the account, or the limit of a stream that takes nothing more.
const NO_RESOURCES: [u64; 6] = [10_002, 10_023, 10_028, 10_047, 10_052, 10_077];

/// Check that JetStream is on and that the stream takes events, and make the stream if it is missing.
pub(crate) async fn check(context: &Context, settings: &Settings) -> Result<(), Failure> {
    let info = match ask(context, &format!("STREAM.INFO.{}", settings.stream)).await? {
        Answer::Given(info) => info,
        Answer::Error(error) if error.code == NO_STREAM => make(context, settings).await?,
        Answer::Error(error) => return Err(error.failure(settings)),
    };
    takes(&info, settings)?;
    has_room(&info, settings)?;
    account_has_room(context, settings).await
}

/// An answer of JetStream's API.
enum Answer {
    Given(Value),
    Error(ApiError),
}

/// An error of JetStream's API.
struct ApiError {
    code: u64,
    description: String,
}

impl ApiError {
    fn failure(&self, settings: &Settings) -> Failure {
        let Self { code, description } = self;
        match *code {
            JETSTREAM_OFF => off(),
            JETSTREAM_OFF_FOR_ACCOUNT => Failure::refused(
                "JetStream is not enabled for the host's account of NATS",
                "Give the account JetStream in the server's configuration, or let the host sign in to another account",
            ),
            code if NO_RESOURCES.contains(&code) => full(settings, description),
            _ => Failure::refused(
                format!(
                    "JetStream refuses the stream `{}`: {description} ({code})",
                    settings.stream
                ),
                "See the log of the NATS server",
            ),
        }
    }
}

fn off() -> Failure {
    Failure::refused(
        "the NATS server has no JetStream",
        "Start it with `jetstream` in its configuration (`nats-server --jetstream`), or name another server",
    )
}

fn full(settings: &Settings, why: &str) -> Failure {
    Failure::refused(
        format!(
            "JetStream has no room for the stream `{}`: {why}",
            settings.stream
        ),
        "Raise `max_file_store` of the server or the limits of account and stream, or remove old messages",
    )
}

/// Words for an acknowledgement that is an error.
pub(crate) fn not_taken(error: &jetstream::Error, settings: &Settings) -> Failure {
    if NO_RESOURCES.contains(&error.error_code().0) {
        return full(settings, &error.to_string());
    }
    if error.error_code() == ErrorCode::STREAM_WRONG_LAST_MESSAGE_ID {
        return Failure::Overtaken;
    }
    Failure::Away(format!("JetStream does not take an event: {error}"))
}

async fn ask(context: &Context, subject: &str) -> Result<Answer, Failure> {
    request(context, subject, &json!({})).await
}

async fn request(context: &Context, subject: &str, body: &Value) -> Result<Answer, Failure> {
    let answer = context.request(subject.to_owned(), body).await;
    let answer: Value = match answer {
        Ok(answer) => answer,
        // Nobody listens there.
        Err(error) if error.kind() == RequestErrorKind::NoResponders => return Err(off()),
        Err(error) if error.kind() == RequestErrorKind::TimedOut => {
            return Err(Failure::Away(format!(
                "JetStream does not answer `{subject}` in time. Without a right to ask it, it never does: the host's user of NATS needs `$JS.API.>`"
            )));
        }
        Err(error) => return Err(Failure::away("JetStream does not answer", error)),
    };
    let Some(error) = answer.get("error") else {
        return Ok(Answer::Given(answer));
    };
    let description = error["description"].as_str().unwrap_or("an error");
    Ok(Answer::Error(ApiError {
        code: error["err_code"].as_u64().unwrap_or_default(),
        description: description.to_owned(),
    }))
}

/// Make the stream. Returns what is said of it.
async fn make(context: &Context, settings: &Settings) -> Result<Value, Failure> {
    let stream = &settings.stream;
    let wanted = json!({
        "name": stream,
        "subjects": [settings.subjects()],
        "storage": "file",
        "retention": "limits",
        "discard": "old",
        "max_consumers": -1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "num_replicas": settings.replicas,
        "duplicate_window": DUPLICATES_NS,
    });
    match request(context, &format!("STREAM.CREATE.{stream}"), &wanted).await {
        Ok(Answer::Given(info)) => Ok(info),
        Ok(Answer::Error(error)) if NO_RESOURCES.contains(&error.code) => {
            Err(error.failure(settings))
        }
        Ok(Answer::Error(error)) => Err(Failure::refused(
            format!(
                "there is no stream `{stream}` in JetStream, and it cannot be made: {} ({})",
                error.description, error.code
            ),
            format!(
                "Make it with the subjects `{}`, or name another with `stream`",
                settings.subjects()
            ),
        )),
        Err(Failure::Away(_)) => Err(Failure::refused(
            format!(
                "there is no stream `{stream}` in JetStream, and the host's user may not make it"
            ),
            format!(
                "Make it with the subjects `{}`, or give the user the right to publish to `$JS.API.STREAM.CREATE.{stream}`",
                settings.subjects()
            ),
        )),
        Err(refused) => Err(refused),
    }
}

/// Check that the events' subjects are the stream's.
fn takes(info: &Value, settings: &Settings) -> Result<(), Failure> {
    let subjects = info["config"]["subjects"].as_array();
    let mut subjects = subjects.into_iter().flatten().filter_map(Value::as_str);
    let wanted = settings.subjects();
    if subjects.any(|subject| covers(subject, &wanted)) {
        return Ok(());
    }
    let stream = &settings.stream;
    Err(Failure::refused(
        format!("the stream `{stream}` does not take `{wanted}`"),
        "Add it to the stream's subjects, or name another stream or another prefix",
    ))
}

/// Whether a stream's subject has all that another one has, which ends with `>`.
fn covers(subject: &str, wanted: &str) -> bool {
    let mut wanted = wanted.split('.');
    for token in subject.split('.') {
        match (token, wanted.next()) {
            (">", Some(_)) => return true,
            (_, None | Some(">")) => return false,
            ("*", Some(_)) => {}
            (token, Some(part)) if token == part => {}
            _ => return false,
        }
    }
    false
}

/// Check that the stream has room, if it refuses what is too much.
fn has_room(info: &Value, settings: &Settings) -> Result<(), Failure> {
    let config = &info["config"];
    if config["discard"] != "new" {
        return Ok(());
    }
    let state = &info["state"];
    for (limit, used) in [("max_bytes", "bytes"), ("max_msgs", "messages")] {
        let limit_value = config[limit].as_i64().unwrap_or(-1);
        let used = state[used].as_i64().unwrap_or_default();
        if limit_value > 0 && used >= limit_value {
            return Err(full(settings, &format!("its `{limit}` is reached")));
        }
    }
    Ok(())
}

async fn account_has_room(context: &Context, settings: &Settings) -> Result<(), Failure> {
    // Who may not ask has room for all that is known.
    let Ok(Answer::Given(account)) = ask(context, "INFO").await else {
        return Ok(());
    };
    let limit = account["limits"]["max_storage"].as_i64().unwrap_or(-1);
    let used = account["storage"].as_i64().unwrap_or_default();
    if limit > 0 && used >= limit {
        return Err(full(settings, "the account has used all its storage"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_covers_the_subjects_that_it_has() {
        for covering in ["hub.>", ">", "hub.events.>", "*.events.>", "hub.*.>"] {
            assert!(covers(covering, "hub.events.>"), "{covering}");
        }
        for other in [
            "hub.events",
            "hub.events.*",
            "hub.events.a.>",
            "other.>",
            "hub",
            "*",
        ] {
            assert!(!covers(other, "hub.events.>"), "{other}");
        }
    }
}
