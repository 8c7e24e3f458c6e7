//! Signed messages: how they are made here, and which of them may come again.

use super::*;
use crate::bindings::rialto::host::crypto::{Algorithm, Verdict};
use crate::jws::fake::encoded;

/// The tests' instant.
const DATE: &str = "Thu, 01 Jan 1970 00:16:40 GMT";

/// Each sender has a key, and each signature holds.
#[derive(Debug)]
struct Signs;

impl Keys for Signs {
    fn has_key(&self, _: &str) -> bool {
        true
    }

    fn verify(&self, _: &str, _: Algorithm, _: &str, _: &str, _: &str) -> Verdict {
        Verdict::Valid
    }

    fn has_own_key(&self) -> bool {
        false
    }
}

type Stored = Documents<rialto_sdk::documents::Memory>;

impl Call {
    /// Read it, signed by its sender for this path. The signature protects what it must, and a header of this value.
    pub(super) fn read_signed(
        self,
        signed: &str,
        also: Option<(&str, &str)>,
        settings: &Settings,
        memory: &Stored,
    ) -> Result<Inbound, ErrorInformation> {
        let method = self.0.method.clone();
        let mut protected = json!({
            "alg": "RS256", "FSPIOP-URI": signed, "FSPIOP-HTTP-Method": method,
            "FSPIOP-Source": "payeefsp", "Date": DATE,
        });
        if let Some((name, value)) = also {
            protected[name] = value.into();
        }
        let protected = encoded(protected.to_string().as_bytes());
        let signature = json!({"signature": "AA", "protectedHeader": protected}).to_string();
        let call = self
            .header("date", DATE)
            .header("fspiop-uri", signed)
            .header("fspiop-http-method", &method)
            .header("fspiop-signature", &signature);
        let measure = Measure {
            scheme: &scheme(),
            settings,
            keys: &Signs,
            memory,
            taken: &call.1,
            now: NOW,
        };
        let headers = of_list(&call.0.headers);
        read(call.0, headers, measure).1
    }
}

#[test]
fn accepted_message_cannot_be_repeated_but_a_refused_one_can() {
    const PATH: &str = "/participants/MSISDN/1";
    let memory = Stored::default();
    let associated = |currency: &str| {
        let call = Call::new("associateParty", "POST", PATH, "payeefsp");
        let call = call.parameter("Type", "MSISDN").parameter("ID", "1");
        let call = call.body(&json!({"fspId": "payeefsp", "currency": currency}));
        let read = call.read_signed(PATH, None, &Settings::default(), &memory);
        read.err().map(|refusal| refusal.code)
    };
    for _ in 0..2 {
        assert_eq!(associated("EUR").as_deref(), Some("3100"));
    }
    assert_eq!(associated("USD"), None);
    assert_eq!(associated("USD").as_deref(), Some("3105"));
}
