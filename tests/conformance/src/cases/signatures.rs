//! FSPIOP-Signature: key owners must sign each message, and a bad signature is refused at once without effect.
//! All other cases check the hub's signatures.

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use rialto_simulator::jws::{Hash, Signer};
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use crate::ask::Ask;
use crate::case;
use crate::case::Case;
use crate::payment::{Leg, Payment, events};
use crate::stage::{CURVED, HUB, SIGNER, Stage, error_body, fsp_error};

pub(super) const CASES: [Case; 12] = [
    case!(
        "signatures/missing",
        "5: who has a key must sign: 3105",
        missing
    ),
    case!(
        "signatures/algorithm-none",
        "5.2: alg none, signed or not: 3105",
        algorithm_none
    ),
    case!(
        "signatures/algorithm-unknown",
        "5.2: an alg that is not taken, or not the key's: 3105",
        algorithm_unknown
    ),
    case!(
        "signatures/anothers-key",
        "5.3: signed with another's key: 3105",
        anothers_key
    ),
    case!(
        "signatures/another-path",
        "5.4: signed for another path: 3105",
        another_path
    ),
    case!(
        "signatures/another-method",
        "5.4: signed for another method: 3105",
        another_method
    ),
    case!(
        "signatures/changed-body",
        "5.1: the body is not what was signed: 3105",
        changed_body
    ),
    case!(
        "signatures/not-protected",
        "5.2: a protected header lacks what it must have: 3105",
        not_protected
    ),
    case!(
        "signatures/destination-in-one",
        "5.4: the destination in only one of header and protected header: 3105",
        destination_in_one
    ),
    case!(
        "signatures/accepted",
        "5.2: RS256, RS384, RS512, ES256: taken, and forwarded byte for byte",
        accepted
    ),
    case!(
        "signatures/fulfilment",
        "5.5: a PUT that is not signed well leaves the transfer reserved",
        fulfilment
    ),
    case!(
        "signatures/of-the-hub",
        "5.3: what the hub makes is signed with the hub's key",
        of_the_hub
    ),
];

/// A request for a quote by an FSP with a key. A refusal sends no other message.
struct Signed<'a> {
    stage: &'a Stage,
    payment: Payment,
    body: Vec<u8>,
    /// The protected header, as it should be.
    protected: Value,
}

impl<'a> Signed<'a> {
    fn new(stage: &'a Stage) -> Self {
        let payment = Payment::between(stage, SIGNER, PAYEE);
        Self {
            body: payment.quote().to_string().into_bytes(),
            payment,
            protected: json!({
                "alg": "RS256",
                "FSPIOP-URI": "/quotes",
                "FSPIOP-HTTP-Method": "POST",
                "FSPIOP-Source": SIGNER,
                "FSPIOP-Destination": PAYEE,
            }),
            stage,
        }
    }

    /// Change the protected header.
    fn protecting(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.protected[name] = value.into();
        self
    }

    /// Leave a member of the protected header out.
    fn without(mut self, name: &str) -> Self {
        if let Some(members) = self.protected.as_object_mut() {
            members.remove(name);
        }
        self
    }

    /// The message without a signature.
    fn bare(&self) -> Ask<'a> {
        let ask = self.stage.sends(SIGNER, Method::POST, "/quotes").to(PAYEE);
        ask.body(self.body.clone())
    }

    /// The value of FSPIOP-Signature by this signer, over any protected header.
    fn value(&self, signer: &Signer) -> String {
        signer.signature(&self.protected.to_string(), &self.body)
    }

    /// The message with this signature.
    fn with(&self, value: &str) -> Ask<'a> {
        let ask = self.bare().header("fspiop-uri", "/quotes");
        ask.header("fspiop-http-method", "POST")
            .header("fspiop-signature", value)
    }

    /// The message, signed by its sender as it says.
    fn signed(&self) -> Result<Ask<'a>> {
        let signer = self.stage.signer(SIGNER)?;
        Ok(self.with(&self.value(&signer)))
    }

    /// It is refused at once, without a document or an event. The runner checks that no message was sent.
    async fn refused(&self, ask: Ask<'_>) -> Result<()> {
        ask.refused(400, "3105").await?;
        self.stage.quote_is(&self.payment.quote_id, "null")?;
        self.stage.no_events(&self.payment.quote_subject())
    }

    /// It is taken, and forwarded as it is.
    async fn taken(&self, ask: Ask<'_>) -> Result<()> {
        let sent = ask.accepted().await?;
        self.stage.forwarded(&sent, PAYEE).await?;
        let subject = self.payment.quote_subject();
        self.stage.events(&subject, &events::quote_asked()).await
    }
}

async fn missing(stage: &Stage) -> Result<()> {
    let quote = Signed::new(stage);
    quote.refused(quote.bare()).await?;
    let (id, error) = (stage.id(), error_body("5104"));
    let terms = quote.payment.terms();
    let fulfil = quote.payment.fulfil("COMMITTED");
    let transfer = quote.payment.transfer();
    for (method, path, body) in [
        (Method::POST, "/transfers".to_owned(), &transfer),
        (Method::PUT, format!("/transfers/{id}"), &fulfil),
        (Method::PUT, format!("/transfers/{id}/error"), &error),
        (Method::PUT, format!("/quotes/{id}"), &terms),
        (Method::PUT, format!("/quotes/{id}/error"), &error),
        (
            Method::POST,
            format!("/participants/{}", stage.party()),
            &json!({ "fspId": SIGNER }),
        ),
        (
            Method::PUT,
            format!("/parties/{}/error", stage.party()),
            &error,
        ),
    ] {
        let ask = stage.sends(SIGNER, method, &path).to(PAYEE).json(body);
        ask.refused(400, "3105").await?;
    }
    stage.no_events(&quote.payment.subject())?;
    stage.no_events(&format!("transfer:{id}"))?;
    // A query changes nothing, and is not signed.
    let path = format!("/quotes/{id}");
    stage.sends(SIGNER, Method::GET, &path).accepted().await?;
    let queried = events::quote_answered("quote-query-received");
    stage.expects(&format!("quote:{id}"), &queried);
    stage.hub_refuses(SIGNER, &path, "3205").await
}

async fn algorithm_none(stage: &Stage) -> Result<()> {
    for name in ["none", "None", "NONE"] {
        let quote = Signed::new(stage).protecting("alg", name);
        quote.refused(quote.signed()?).await?;
        let signed = quote.value(&stage.signer(SIGNER)?);
        let mut value: Value = serde_json::from_str(&signed)?;
        for signature in ["", "AA"] {
            value["signature"] = signature.into();
            quote.refused(quote.with(&value.to_string())).await?;
        }
    }
    let quote = Signed::new(stage).without("alg");
    quote.refused(quote.signed()?).await
}

async fn algorithm_unknown(stage: &Stage) -> Result<()> {
    // RS384 is accepted, but this was signed with RS256.
    for name in ["HS256", "PS256", "ES384", "ES256", "RS384", "rs256", ""] {
        let quote = Signed::new(stage).protecting("alg", name);
        quote.refused(quote.signed()?).await?;
    }
    Ok(())
}

async fn anothers_key(stage: &Stage) -> Result<()> {
    let quote = Signed::new(stage).protecting("alg", "ES256");
    let value = quote.value(&stage.signer(CURVED)?);
    quote.refused(quote.with(&value)).await?;
    // Nor is it enough to say whose key it was.
    let quote = quote.protecting("FSPIOP-Source", CURVED);
    let value = quote.value(&stage.signer(CURVED)?);
    quote.refused(quote.with(&value)).await
}

async fn another_path(stage: &Stage) -> Result<()> {
    for path in ["/transfers", "/quotes/", "/", "quotes"] {
        let quote = Signed::new(stage).protecting("FSPIOP-URI", path);
        quote.refused(quote.signed()?).await?;
        let moved = quote.signed()?.header("fspiop-uri", path);
        quote.refused(moved).await?;
    }
    let quote = Signed::new(stage);
    let other = quote.signed()?.header("fspiop-uri", "/transfers");
    quote.refused(other).await
}

async fn another_method(stage: &Stage) -> Result<()> {
    for method in ["PUT", "PATCH", "post"] {
        let quote = Signed::new(stage).protecting("FSPIOP-HTTP-Method", method);
        quote.refused(quote.signed()?).await?;
    }
    let quote = Signed::new(stage).protecting("FSPIOP-HTTP-Method", "PUT");
    let moved = quote.signed()?.header("fspiop-http-method", "PUT");
    quote.refused(moved).await
}

async fn changed_body(stage: &Stage) -> Result<()> {
    let quote = Signed::new(stage);
    let mut dearer = quote.payment.quote();
    dearer["amount"]["amount"] = "5000".into();
    let text = String::from_utf8_lossy(&quote.body).into_owned();
    for body in [
        dearer.to_string(),
        format!("{text} "),
        text.replacen(':', ": ", 1),
        // The same value, written otherwise.
        text.replacen("USD", "\\u0055SD", 1),
    ] {
        ensure!(body != text, "the body is as it was");
        let ask = quote.signed()?.body(body.into_bytes());
        quote.refused(ask).await?;
    }
    Ok(())
}

async fn not_protected(stage: &Stage) -> Result<()> {
    for name in ["FSPIOP-Source", "FSPIOP-URI", "FSPIOP-HTTP-Method"] {
        let quote = Signed::new(stage).without(name);
        quote.refused(quote.signed()?).await?;
        // Names are spelt in one way.
        let quote = quote.protecting(&name.to_lowercase(), "x");
        quote.refused(quote.signed()?).await?;
    }
    let quote = Signed::new(stage).protecting("FSPIOP-Source", PAYER);
    quote.refused(quote.signed()?).await?;
    let quote = Signed::new(stage);
    let encrypted = quote.signed()?.header("fspiop-encryption", "{}");
    quote.refused(encrypted).await?;
    for value in [
        "",
        "{}",
        "nonsense",
        r#"{"signature":"AA","protectedHeader":"AA"}"#,
    ] {
        quote.refused(quote.with(value)).await?;
    }
    Ok(())
}

async fn destination_in_one(stage: &Stage) -> Result<()> {
    let quote = Signed::new(stage).without("FSPIOP-Destination");
    quote.refused(quote.signed()?).await?;
    let quote = Signed::new(stage);
    quote
        .refused(quote.signed()?.without("fspiop-destination"))
        .await?;
    let quote = Signed::new(stage).protecting("FSPIOP-Destination", PAYER);
    quote.refused(quote.signed()?).await
}

async fn accepted(stage: &Stage) -> Result<()> {
    for (hash, name) in [
        (Hash::Sha256, "RS256"),
        (Hash::Sha384, "RS384"),
        (Hash::Sha512, "RS512"),
    ] {
        let signer = stage.signer(SIGNER)?.hashing(hash);
        let quote = Signed::new(stage);
        quote.taken(quote.bare().signed(&signer)).await?;
        // By hand, without Date.
        let quote = Signed::new(stage).protecting("alg", name);
        let value = quote.value(&signer);
        quote.taken(quote.with(&value)).await?;
    }
    let payment = Payment::between(stage, CURVED, PAYEE);
    let ask = stage.sends(CURVED, Method::POST, "/quotes").to(PAYEE);
    let ask = ask.json(&payment.quote()).signed(&stage.signer(CURVED)?);
    let sent = ask.accepted().await?;
    stage.forwarded(&sent, PAYEE).await?;
    let events = events::quote_asked();
    stage.events(&payment.quote_subject(), &events).await
}

async fn fulfilment(stage: &Stage) -> Result<()> {
    let payment = Payment::between(stage, PAYER, CURVED);
    let signer = stage.signer(CURVED)?;
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, CURVED).await?;
    let terms = stage
        .sends(CURVED, Method::PUT, &payment.quote_path())
        .to(PAYER);
    let sent = terms.json(&payment.terms()).signed(&signer);
    stage.forwarded(&sent.accepted().await?, PAYER).await?;
    stage.expects(&payment.quote_subject(), &events::agreed());
    let sent = payment.post(stage, &payment.transfer()).await?;
    stage.forwarded(&sent, CURVED).await?;
    let put = |path: &str, body: &Value| {
        let ask = stage.sends(CURVED, Method::PUT, path).to(PAYER);
        ask.json(body)
    };
    let (path, body) = (payment.path(), payment.fulfil("COMMITTED"));
    let declined = fsp_error("5104");
    let other = stage.signer(SIGNER)?;
    for ask in [
        put(&path, &body),
        put(&path, &body).signed(&other),
        put(&path, &payment.fulfil("RESERVED"))
            .signed(&signer)
            .json(&body),
        put(&payment.error_path(), &declined),
        put(&payment.error_path(), &declined).signed(&other),
    ] {
        ask.refused(400, "3105").await?;
        let prepared = events::prepared();
        payment
            .ends(stage, "PREPARED", &[Leg::Prepare], &[&prepared])
            .await?;
    }
    let sent = put(&path, &body).signed(&signer).accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    let events = [&events::prepared()[..], &events::committed()];
    payment
        .ends(stage, "COMMITTED", &[Leg::Prepare, Leg::Fulfil], &events)
        .await
}

async fn of_the_hub(stage: &Stage) -> Result<()> {
    let id = stage.id();
    let path = format!("/transfers/{id}");
    stage.sends(PAYER, Method::GET, &path).accepted().await?;
    let queried = events::answered("transfer-query-received");
    stage.expects(&format!("transfer:{id}"), &queried);
    let path = format!("{path}/error");
    let body = error_body("3208");
    // That the signature is the hub's and fits is seen here, as in each case.
    let told = stage.hub_tells(PAYER, Method::PUT, &path, &body).await?;
    let value: Value = serde_json::from_str(told.header("fspiop-signature"))?;
    let protected = value["protectedHeader"].as_str().unwrap_or_default();
    let protected: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(protected)?)?;
    let expected = json!({
        "alg": "RS256",
        "FSPIOP-URI": path,
        "FSPIOP-HTTP-Method": "PUT",
        "FSPIOP-Source": HUB,
        "FSPIOP-Destination": PAYER,
        "Date": told.header("date"),
    });
    ensure!(protected == expected, "the hub protects {protected}");
    ensure!(told.header("fspiop-uri") == path && told.header("fspiop-http-method") == "PUT");
    Ok(())
}
