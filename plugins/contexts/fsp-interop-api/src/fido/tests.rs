//! Who may register users, in whose name, and how refusals are worded.

use super::*;
use crate::bindings::exports::rialto::host::http_handler::Caller;
use crate::bindings::rialto::host::crypto::{Algorithm, Verdict};
use crate::jws::Keys;
use crate::jws::fake::NoKeys;
use crate::jws::memory::Documents;
use crate::settings::Settings;
use rialto_sdk::documents::Memory;
use std::cell::RefCell;

/// Security (crypto) that notes what it is asked, and refuses with this error if there is one.
#[derive(Default)]
struct Fake {
    asked: RefCell<Vec<String>>,
    refuses: Option<FidoError>,
}

impl Fake {
    fn told<T>(&self, asked: String, answer: T) -> Result<T, FidoError> {
        self.asked.borrow_mut().push(asked);
        match &self.refuses {
            Some(error) => Err(error.clone()),
            None => Ok(answer),
        }
    }
}

impl Registrar for Fake {
    fn begin(&self, owner: &Owner, user: &User) -> Result<Begun, FidoError> {
        let begun = Begun {
            id: "c1".to_owned(),
            public_key: r#"{"challenge":"AAAA"}"#.to_owned(),
            expires_at: 7,
        };
        let asked = format!("begin {} {} {}", owner.name, user.id, user.display_name);
        self.told(asked, begun)
    }

    fn finish(&self, owner: &Owner, id: &str, credential: &str) -> Result<Registered, FidoError> {
        let registered = Registered {
            user: "alice".to_owned(),
            credential: "AQID".to_owned(),
            registered_at: 8,
        };
        self.told(
            format!("finish {} {id} {credential}", owner.name),
            registered,
        )
    }
}

/// The sender has a key, and nothing fits it.
#[derive(Debug)]
struct Signs;

impl Keys for Signs {
    fn has_key(&self, _: &str) -> bool {
        true
    }

    fn verify(&self, _: &str, _: Algorithm, _: &str, _: &str, _: &str) -> Verdict {
        Verdict::Invalid
    }

    fn has_own_key(&self) -> bool {
        false
    }
}

fn ask(
    keys: &dyn Keys,
    fake: &Fake,
    source: &str,
    caller: Option<&str>,
    body: &Value,
) -> (u16, Value) {
    let request = Request {
        operation_id: OPERATION.to_owned(),
        method: "POST".to_owned(),
        path: "/app-fido-register".to_owned(),
        path_parameters: Vec::new(),
        query_parameters: Vec::new(),
        headers: Vec::new(),
        body: Some(body.to_string()),
        caller: caller.map(|name| Caller {
            name: name.to_owned(),
            roles: Vec::new(),
        }),
    };
    let memory = Documents::<Memory>::default();
    let judge = Judge {
        keys,
        memory: &memory,
        settings: &Settings::default(),
        now: 1,
    };
    let headers = format!("fspiop-source: {source}\n");
    let response = answer(&request, &headers, judge, |fsp| fsp == "payerfsp", fake);
    let response = response.unwrap_or_else(|error| refusal::refuse(json_type(), &error));
    let media = &response.headers[0];
    assert_eq!(
        media,
        &("content-type".to_owned(), "application/json".to_owned())
    );
    let body = serde_json::from_str(&response.body.unwrap()).unwrap();
    (response.status, body)
}

fn begin() -> Value {
    json!({ "user": { "id": "alice", "name": "alice@bank" } })
}

fn code((status, body): (u16, Value)) -> (u16, String) {
    let code = body["errorInformation"]["errorCode"].as_str();
    (status, code.unwrap_or_default().to_owned())
}

#[test]
fn participant_registers_a_user_of_its_own() {
    let fake = Fake::default();
    let begun = ask(&NoKeys, &fake, "payerfsp", None, &begin());
    let expected = json!({ "id": "c1", "publicKey": { "challenge": "AAAA" }, "expiresAt": 7 });
    assert_eq!(begun, (201, expected));
    let finish = json!({ "id": "c1", "credential": { "id": "AQID" } });
    let finished = ask(&NoKeys, &fake, "payerfsp", Some("payerfsp"), &finish);
    let expected = json!({ "user": "alice", "credential": "AQID", "registeredAt": 8 });
    assert_eq!(finished, (200, expected));
    let asked = [
        "begin payerfsp alice alice@bank",
        r#"finish payerfsp c1 {"id":"AQID"}"#,
    ];
    assert_eq!(fake.asked.into_inner(), asked);
}

#[test]
fn others_register_nobody() {
    let fake = Fake::default();
    let stranger = ask(&NoKeys, &fake, "nobody", None, &begin());
    assert_eq!(code(stranger), (400, "3200".to_owned()));
    let another = ask(&NoKeys, &fake, "payerfsp", Some("payeefsp"), &begin());
    assert_eq!(code(another), (400, "3100".to_owned()));
    let unsigned = ask(&Signs, &fake, "payerfsp", None, &begin());
    assert_eq!(code(unsigned), (400, "3105".to_owned()));
    for body in [json!({}), json!({ "id": "c1" }), json!([])] {
        let answer = ask(&NoKeys, &fake, "payerfsp", None, &body);
        assert_eq!(code(answer), (400, "3101".to_owned()), "{body}");
    }
    assert_eq!(fake.asked.into_inner(), [""; 0]);
}

#[test]
fn refusals_have_the_form_of_the_api() {
    for (error, expected) in [
        (FidoError::NotSet, (501, "2002")),
        (FidoError::Malformed("bad".to_owned()), (400, "3101")),
        (FidoError::UnknownUser, (400, "3200")),
        (FidoError::UnknownChallenge, (400, "3200")),
        (FidoError::TooManyCredentials, (400, "3100")),
        (FidoError::ChallengeUsed, (400, "3100")),
        (FidoError::ChallengeExpired, (400, "3100")),
        (FidoError::CredentialKnown, (400, "3100")),
        (FidoError::CredentialSuspect, (400, "3100")),
        (FidoError::Refused("bad".to_owned()), (400, "3100")),
    ] {
        let fake = Fake {
            refuses: Some(error.clone()),
            ..Fake::default()
        };
        let (status, body) = ask(&NoKeys, &fake, "payerfsp", None, &begin());
        let words = body["errorInformation"]["errorDescription"]
            .as_str()
            .unwrap();
        assert!(words.contains(" - ") && words.len() <= 128, "{words}");
        let (wanted, wanted_code) = expected;
        assert_eq!(
            code((status, body)),
            (wanted, wanted_code.to_owned()),
            "{error:?}"
        );
    }
}
