//! The checks of signed messages. The keys are fake: a signature is the signed text. Real keys are tested in
//! the host and end to end.

use super::fake::{HubKey, NoKeys, encoded};
use super::memory::Documents;
use super::*;
use crate::bindings::exports::rialto::host::http_handler::Caller;
use crate::jws::protected::REQUIRED;
use std::hash::{DefaultHasher, Hash, Hasher as _};

mod duty;
mod once;

/// Payer and payee have a key.
#[derive(Debug)]
struct Both;

impl Keys for Both {
    fn has_key(&self, signer: &str) -> bool {
        matches!(signer, "payerfsp" | "payeefsp")
    }

    fn verify(
        &self,
        signer: &str,
        algorithm: Algorithm,
        protected_header: &str,
        payload: &str,
        signature: &str,
    ) -> Verdict {
        if !self.has_key(signer) {
            Verdict::NoKey
        } else if signature == signature_of(signer, algorithm, protected_header, payload) {
            Verdict::Valid
        } else {
            Verdict::Invalid
        }
    }

    fn has_own_key(&self) -> bool {
        false
    }
}

fn signature_of(signer: &str, algorithm: Algorithm, header: &str, payload: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (signer, algorithm as u8, header, payload).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

type Remembered = Documents<rialto_sdk::documents::Memory>;

const NOW: u64 = 784_887_151_000;
const DATE: &str = "Tue, 15 Nov 1994 08:12:31 GMT";
const PROTECTED: &str = r#"{"alg":"RS256","FSPIOP-URI":"/transfers/1","FSPIOP-HTTP-Method":"PUT","FSPIOP-Source":"payeefsp","FSPIOP-Destination":"payerfsp","Date":"Tue, 15 Nov 1994 08:12:31 GMT"}"#;

/// A signed fulfilment, and what is changed in it before and after it is signed.
#[derive(Clone)]
struct Sent {
    method: &'static str,
    path: &'static str,
    headers: Vec<(&'static str, String)>,
    protected: String,
    algorithm: Algorithm,
    /// None: as it should be.
    signature: Option<String>,
    query: Vec<(&'static str, &'static str)>,
    body: &'static str,
    settings: Settings,
    /// Whether the sender has proven who it is.
    proven: bool,
}

fn sent() -> Sent {
    Sent {
        method: "PUT",
        path: "/transfers/1",
        headers: vec![
            ("date", DATE.to_owned()),
            ("fspiop-source", "payeefsp".to_owned()),
            ("fspiop-destination", "payerfsp".to_owned()),
            ("fspiop-uri", "/transfers/1".to_owned()),
            ("fspiop-http-method", "PUT".to_owned()),
        ],
        protected: PROTECTED.to_owned(),
        algorithm: Algorithm::Rs256,
        signature: None,
        query: Vec::new(),
        body: "{ \"a\" : 1.0 }",
        settings: Settings::default(),
        proven: false,
    }
}

impl Sent {
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name, value.to_owned()));
        self
    }

    fn without(mut self, name: &'static str) -> Self {
        self.headers.retain(|(candidate, _)| *candidate != name);
        self
    }

    fn and(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn protecting(mut self, from: &str, to: &str) -> Self {
        assert!(self.protected.contains(from), "{from}");
        self.protected = self.protected.replace(from, to);
        self
    }

    fn on(mut self, method: &'static str, path: &'static str) -> Self {
        (self.method, self.path) = (method, path);
        self
    }

    /// Sent, named and signed as a request of this method to this path.
    fn of(self, method: &'static str, path: &'static str) -> Self {
        let sent = self.on(method, path).with("fspiop-uri", path);
        let sent = sent.with("fspiop-http-method", method);
        sent.protecting("\"/transfers/1\"", &format!("\"{path}\""))
            .protecting("\"PUT\"", &format!("\"{method}\""))
    }

    /// As a DELETE has none.
    fn without_body(self) -> Self {
        Self { body: "", ..self }
    }

    fn asking(self, name: &'static str, value: &'static str) -> Self {
        let query = vec![(name, value)];
        Self { query, ..self }
    }

    fn requiring(mut self, required: Required) -> Self {
        self.settings.signatures.required = required;
        self
    }

    /// The detail of the refusal; empty for a message that is accepted.
    fn judged(self) -> String {
        self.judged_by(&Remembered::default(), NOW)
    }

    /// The same with a memory, at an instant. Accepted messages are remembered.
    fn judged_by(self, memory: &Remembered, now: u64) -> String {
        self.judged_with(&Both, memory, now)
    }

    fn judged_with(mut self, keys: &dyn Keys, memory: &Remembered, now: u64) -> String {
        let header = encoded(self.protected.as_bytes());
        let source = self
            .headers
            .iter()
            .find(|(name, _)| *name == "fspiop-source");
        let source = source.map(|(_, value)| value.clone()).unwrap_or_default();
        let signature = self
            .signature
            .clone()
            .unwrap_or_else(|| signature_of(&source, self.algorithm, &header, self.body));
        let value = signed_value(&signature, &header);
        self.headers.push(("fspiop-signature", value));
        self.bare_with(keys, memory, now)
    }

    /// As `judged`, with the headers as they are.
    fn bare(self) -> String {
        self.bare_by(&Remembered::default(), NOW)
    }

    fn bare_by(self, memory: &Remembered, now: u64) -> String {
        self.bare_with(&Both, memory, now)
    }

    fn request(&self) -> Request {
        let query = self.query.iter();
        Request {
            operation_id: String::new(),
            method: self.method.to_owned(),
            path: self.path.to_owned(),
            path_parameters: Vec::new(),
            query_parameters: query
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            headers: Vec::new(),
            body: Some(self.body.to_owned()).filter(|body| !body.is_empty()),
            caller: self.proven.then(|| Caller {
                name: "payeefsp".to_owned(),
                roles: vec!["client".to_owned()],
            }),
        }
    }

    fn proven(mut self) -> Self {
        self.proven = true;
        self
    }

    fn bare_with(self, keys: &dyn Keys, memory: &Remembered, now: u64) -> String {
        let mut headers = String::new();
        for (name, value) in &self.headers {
            push(&mut headers, name, value);
        }
        let request = self.request();
        let judge = Judge {
            keys,
            memory,
            settings: &self.settings,
            now,
        };
        let source = first(&headers, "fspiop-source").unwrap_or_default();
        match judge.check(&request, &headers, source) {
            Ok(message) => {
                if let Some(message) = message {
                    judge.take(&message, source);
                }
                String::new()
            }
            Err(refusal) => {
                assert_eq!(refusal.code, "3105");
                let detail = refusal.description.strip_prefix("Invalid signature - ");
                detail.unwrap().to_owned()
            }
        }
    }
}

#[test]
fn a_message_that_is_signed_well_is_accepted() {
    assert_eq!(sent().judged(), "");
    for (name, algorithm) in [
        ("RS384", Algorithm::Rs384),
        ("RS512", Algorithm::Rs512),
        ("ES256", Algorithm::Es256),
    ] {
        let mut other = sent().protecting("RS256", name);
        other.algorithm = algorithm;
        assert_eq!(other.judged(), "");
    }
    // What may be left out, and what may be added.
    let date = ",\"Date\":\"Tue, 15 Nov 1994 08:12:31 GMT\"";
    assert_eq!(sent().protecting(date, "").judged(), "");
    let more = sent().protecting("{", "{\"typ\":\"JOSE\",\"kid\":\"2\",\"X-Own\":\"1\",");
    assert_eq!(more.with("x-own", "1").judged(), "");
    let open = sent().protecting(",\"FSPIOP-Destination\":\"payerfsp\"", "");
    assert_eq!(open.clone().without("fspiop-destination").judged(), "");
    assert_eq!(open.with("fspiop-destination", "").judged(), "");
}

#[test]
fn only_algorithms_of_the_list_are_taken() {
    for name in ["none", "None", "HS256", "PS256", "ES384", "rs256", ""] {
        assert_eq!(
            sent().protecting("RS256", name).judged(),
            format!("protected alg: {name:?} is not supported; use RS256, RS384, RS512 or ES256")
        );
    }
    assert_eq!(
        sent().protecting("\"alg\":\"RS256\",", "").judged(),
        "protected alg: is required"
    );
    // The header's word does not make a signature of another algorithm hold.
    assert_eq!(
        sent().protecting("RS256", "ES256").judged(),
        "the signature does not fit any key of payeefsp"
    );
}

#[test]
fn signature_binds_sender_body_and_request() {
    let wrong = "the signature does not fit any key of payeefsp";
    let mut changed = sent();
    let header = encoded(changed.protected.as_bytes());
    changed.signature = Some(signature_of(
        "payeefsp",
        Algorithm::Rs256,
        &header,
        "{ \"a\" : 1 }",
    ));
    assert_eq!(changed.judged(), wrong);
    let mut foreign = sent();
    foreign.signature = Some(signature_of(
        "payerfsp",
        Algorithm::Rs256,
        &header,
        foreign.body,
    ));
    assert_eq!(foreign.judged(), wrong);
    let of_request = "the header, its protected copy and the request differ";
    for path in ["/transfers/2", "/transfers/1/error", "/transfers/1/"] {
        assert_eq!(
            sent().on("PUT", path).judged(),
            format!("header FSPIOP-URI: {of_request}")
        );
    }
    assert_eq!(
        sent().on("POST", "/transfers/1").judged(),
        format!("header FSPIOP-HTTP-Method: {of_request}")
    );
    // The headers are changed with the request, and the signature is as it was.
    let moved = sent().on("PUT", "/transfers/2");
    assert_eq!(
        moved.with("fspiop-uri", "/transfers/2").judged(),
        format!("header FSPIOP-URI: {of_request}")
    );
}

#[test]
fn what_is_protected_is_what_the_headers_say() {
    for (name, protected, header) in [
        ("FSPIOP-Destination", "fspiop-destination", "otherfsp"),
        ("Date", "date", "Tue, 15 Nov 1994 08:12:32 GMT"),
    ] {
        assert_eq!(
            sent().with(protected, header).judged(),
            format!("header {name}: differs from its protected copy")
        );
    }
    let source = sent().protecting("\"payeefsp\"", "\"payerfsp\"");
    assert_eq!(
        source.judged(),
        "header FSPIOP-Source: the header, its protected copy and the request differ"
    );
    assert_eq!(
        sent().without("fspiop-destination").judged(),
        "header FSPIOP-Destination: is protected but missing"
    );
    assert_eq!(
        sent().without("fspiop-uri").judged(),
        "header FSPIOP-URI: is protected but missing"
    );
    let bare = sent().protecting(",\"FSPIOP-Destination\":\"payerfsp\"", "");
    assert_eq!(
        bare.judged(),
        "header FSPIOP-Destination: must be protected"
    );
    assert_eq!(
        sent().with("fspiop-encryption", "{}").judged(),
        "header FSPIOP-Encryption: must be protected"
    );
    let behind = sent().and("fspiop-encryption", "");
    assert_eq!(
        behind.and("fspiop-encryption", "{}").judged(),
        "header FSPIOP-Encryption: must be protected"
    );
    for name in REQUIRED {
        let misspelt = name.to_ascii_lowercase();
        assert_eq!(
            sent().protecting(name, &misspelt).judged(),
            format!("protected {name}: is required")
        );
    }
    for (member, what) in [
        ("crit", "is protected but missing"),
        ("b64", "is protected but missing"),
        ("jku", "is protected but missing"),
    ] {
        let more = format!("{{\"{member}\":\"x\",");
        assert_eq!(
            sent().protecting("{", &more).judged(),
            format!("header {member}: {what}")
        );
    }
}

#[test]
fn two_readers_of_a_signed_message_see_the_same() {
    assert_eq!(
        sent().and("fspiop-destination", "otherfsp").judged(),
        "header FSPIOP-Destination: more than one in a signed message"
    );
    assert_eq!(
        sent().and("date", DATE).judged(),
        "header Date: more than one in a signed message"
    );
    let twice = sent().protecting("{", "{\"FSPIOP-URI\":\"/quotes\",");
    assert!(
        twice
            .judged()
            .starts_with("protected header: FSPIOP-URI occurs twice")
    );
    let number = sent().protecting("{", "{\"exp\":1,");
    assert!(
        number
            .judged()
            .starts_with("protected header: invalid type: integer `1`")
    );
}

#[test]
fn a_replayed_message_is_refused() {
    let at = |ms: u64| {
        let date = rialto_sdk::time::format_http_date(ms);
        sent().with("date", &date).protecting(DATE, &date).judged()
    };
    assert_eq!(at(NOW - 300_000), "");
    assert_eq!(at(NOW + 300_000), "");
    assert_eq!(
        at(NOW - 301_000),
        "header Date: 1 s too old for a signed message"
    );
    assert_eq!(
        at(NOW + 302_000),
        "header Date: 2 s too early for a signed message"
    );
    let obsolete = "Tuesday, 15-Nov-94 08:12:31 GMT";
    let obsolete = sent().with("date", obsolete).protecting(DATE, obsolete);
    assert_eq!(
        obsolete.judged(),
        "header Date: must be like Tue, 15 Nov 1994 08:12:31 GMT in a signed message"
    );
}

#[test]
fn the_header_has_its_form_and_lengths() {
    let bare = |value: &str| sent().with("fspiop-signature", value).bare();
    assert!(bare("nonsense").starts_with("header FSPIOP-Signature: expected ident"));
    assert!(bare("{}").contains("missing field `signature`"));
    assert!(bare(r#"{"signature":"A","protectedHeader":"A","more":1}"#).contains("unknown field"));
    assert!(bare(r#"{"signature":"A","signature":"A"}"#).contains("duplicate field"));
    assert_eq!(
        bare(r#"{"signature":"","protectedHeader":"AAAA"}"#),
        "header FSPIOP-Signature: signature has 0 characters; it must have 1 to 512"
    );
    let long = format!(
        r#"{{"signature":"A","protectedHeader":"{}"}}"#,
        "A".repeat(32_769)
    );
    assert_eq!(
        bare(&long),
        "header FSPIOP-Signature: protectedHeader has 32769 characters; it must have 1 to 32768"
    );
    for wrong in ["A", "AA==", "A+AA", "AB", "A A"] {
        assert_eq!(
            bare(&format!(
                r#"{{"signature":"A","protectedHeader":"{wrong}"}}"#
            )),
            "protected header: not base64url without padding",
            "{wrong}"
        );
    }
}

#[test]
fn base64url_reads_back_and_has_one_text_for_each() {
    let mut octets = Vec::new();
    for n in 0..200_u32 {
        assert_eq!(
            decode_base64url(&encoded(&octets)).as_deref(),
            Some(octets.as_slice())
        );
        octets.push((n * 151 + 7) as u8);
    }
    assert_eq!(decode_base64url(""), Some(Vec::new()));
    assert_eq!(decode_base64url("_-8"), Some(vec![0xff, 0xef]));
    assert_eq!(decode_base64url("_-9"), None);
}

/// The value of FSPIOP-Signature.
fn signed_value(signature: &str, protected_header: &str) -> String {
    serde_json::json!({ "signature": signature, "protectedHeader": protected_header }).to_string()
}

/// One character of the header, the protected header or the body is another one: refused, and never
/// a panic.
#[test]
fn any_changed_octet_of_a_signed_message_is_refused() {
    let header = encoded(PROTECTED.as_bytes());
    let signature = signature_of("payeefsp", Algorithm::Rs256, &header, sent().body);
    let value = signed_value(&signature, &header);
    for place in 0..value.len() {
        for with in [b'A', b'b', b'"', b'{', b' ', b'0', b'}', b'\\'] {
            let mut changed = value.clone().into_bytes();
            if changed[place] == with {
                continue;
            }
            changed[place] = with;
            let changed = String::from_utf8(changed).unwrap();
            let judged = sent().with("fspiop-signature", &changed).bare();
            assert_ne!(judged, "", "{changed}");
        }
    }
}

#[test]
fn hub_with_a_key_signs_its_own_messages() {
    let of = |source: &str| {
        format!("date: {DATE}\nfspiop-source: {source}\nfspiop-destination: payerfsp\n")
    };
    let about = ("PUT", "/transfers/1/error");
    for (keys, given) in [
        (&NoKeys as &dyn Keys, of("Hub")),
        (&HubKey, of("payeefsp")),
        (&HubKey, of("hub")),
        (&HubKey, of("Hub") + "fspiop-signature: {}\n"),
    ] {
        let mut headers = given.clone();
        assert!(hub_signature(keys, "Hub", &mut headers, about).is_none());
        assert_eq!(headers, given);
    }
    let mut headers = of("Hub");
    let wanted = hub_signature(&HubKey, "Hub", &mut headers, about).unwrap();
    assert_eq!(first(&headers, "fspiop-uri"), Some("/transfers/1/error"));
    assert_eq!(first(&headers, "fspiop-http-method"), Some("PUT"));
    assert_eq!(wanted.header, SIGNATURE);
    assert_eq!(
        wanted.members,
        format!(
            r#"{{"FSPIOP-URI":"/transfers/1/error","FSPIOP-HTTP-Method":"PUT","FSPIOP-Source":"Hub","FSPIOP-Destination":"payerfsp","Date":"{DATE}"}}"#
        )
    );
}
