//! The host with its FSPs, and what a case does with them: send, expect, look.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use http::Method;
use rialto_simulator::jws::{Signer, complaint};
use rialto_simulator::{Behaviour, Direction, Recorded};
use rialto_tests::barred::bar;
use rialto_tests::books::documents;
use rialto_tests::waiting::until;
use rialto_tests::witness;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{Office, TestScheme, World};
use serde_json::{Value, json};

use crate::ask::Ask;
use crate::compare::{TEXT, same};
use crate::facts::Facts;
use crate::history::{consumers, published, warnings};
use crate::interfaces::{Row, row_of_event};
use crate::keys::Keys;
use crate::payment::Payment;
use crate::tally::{Before, Entry, Problems, Tally, entries};

/// The hub as participants know it.
pub const HUB: &str = "Hub";
/// A participant that has no part in what others do.
pub const STRANGER: &str = "strangerfsp";
/// A participant that may not take part, as if an operator had disabled it.
pub const BARRED: &str = "barredfsp";
/// A participant whose server is gone.
pub const GONE: &str = "gonefsp";
/// A participant with 20 US dollars and no cap, and with no account in other currencies.
pub const POOR: &str = "poorfsp";
/// A participant with much money and a net debit cap of 30 US dollars.
pub const CAPPED: &str = "cappedfsp";
/// A participant with 20 US dollars that is warned of below 15.
pub const WARNED: &str = "warnedfsp";
/// A sender that the scheme does not know.
pub const NOBODY: &str = "nobodyfsp";

/// A participant that has an RSA key, and so must sign.
pub const SIGNER: &str = "signerfsp";
/// A participant that has a key on P-256.
pub const CURVED: &str = "curvedfsp";

const ALL: [&str; 10] = [
    PAYER, PAYEE, STRANGER, BARRED, GONE, POOR, CAPPED, WARNED, SIGNER, CURVED,
];
/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(30);
/// How long the transfer to [`GONE`] waits, which never answers.
const GONE_EXPIRES_IN: Duration = Duration::from_secs(2);
/// FSPs that leave all answers to the cases.
const SILENT: &str =
    r#"{"lookup":{"silent":"100%"},"quote":{"silent":"100%"},"transfer":{"silent":"100%"}}"#;

/// See the module's documentation.
pub struct Stage {
    /// The host and the FSPs.
    pub world: World,
    pub(crate) office: Office,
    keys: Keys,
    rows: Vec<Row>,
    tally: Mutex<Tally>,
    before: Mutex<Before>,
    codes: Mutex<BTreeSet<String>>,
    next_party: AtomicU64,
    /// A payment whose quote [`GONE`] has agreed upon before it was gone.
    pub(crate) agreed_with_gone: Option<Payment>,
}

impl Stage {
    /// Start the host and its FSPs.
    ///
    /// # Errors
    /// When that fails.
    pub async fn open(rows: Vec<Row>) -> Result<Self> {
        let mut scheme = TestScheme::demo()?;
        for (id, liquidity) in [
            (STRANGER, "1000"),
            (BARRED, "1000"),
            (GONE, "1000"),
            (POOR, "20"),
            (CAPPED, "1000.03"),
            (WARNED, "20.00"),
            (SIGNER, "1000"),
            (CURVED, "1000"),
        ] {
            scheme.add_participant(id, liquidity)?;
        }
        witness::add(&scheme)?;
        let keys = Keys::of(&scheme)?;
        let liquidity = "opening-liquidity = \"1000.03\"";
        scheme.edit(liquidity, &format!("{liquidity}\nnet-debit-cap = \"30\""))?;
        let liquidity = "opening-liquidity = \"20.00\"";
        scheme.edit(
            liquidity,
            &format!("{liquidity}\nliquidity-threshold = \"15\""),
        )?;
        // Short waits for missing answers, and no repeated signed answers.
        scheme.set(
            "fsp-interop-api",
            "requestDeadlineMs = 2000\ndeliveryDeadlineMs = 10000\nrepeatedPutPartiesMs = 0",
        )?;
        scheme.set("account-lookup", "partyQueryTimeoutMs = 5000")?;
        let mut world = World::of(scheme, &keys.options()).await?;
        // A message that was reported before the kill is not delivered again.
        for fsp in ALL {
            settled(&world, fsp).await?;
        }
        world.host.kill()?;
        bar(&world.scheme, BARRED).await?;
        world.host.restart()?;
        let mut stage = Self {
            office: Office::of(&world.scheme, &world.host, &[])?,
            world,
            keys,
            rows,
            tally: Mutex::default(),
            before: Mutex::default(),
            codes: Mutex::default(),
            next_party: AtomicU64::new(1),
            agreed_with_gone: None,
        };
        for fsp in ALL {
            stage.behaves(fsp, SILENT)?;
        }
        let payment = Payment::between(&stage, PAYER, GONE).expiring_in(GONE_EXPIRES_IN);
        payment.agree(&stage).await?;
        stage.agreed_with_gone = Some(payment);
        stage.world.fsp(GONE).stop().await;
        Ok(stage)
    }

    /// A case begins.
    ///
    /// # Errors
    /// When an FSP objects to the form of a message that came since the case before.
    pub async fn begin(&self) -> Result<()> {
        let before = Before::of(self).await?;
        let between = self.world.no_complaints();
        for fsp in ALL {
            self.world.fsp(fsp).recorder().clear();
        }
        *self.tally() = Tally::default();
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = before;
        between
    }

    /// The case is at its end: gives the rows that it saw.
    ///
    /// # Errors
    /// When there is a message, an event, an entry of the ledger or a turn that the case did not expect,
    /// when one that it expected is missing, or when an FSP objects to a message's form.
    pub async fn end(&self) -> Result<BTreeSet<String>> {
        let before =
            std::mem::take(&mut *self.before.lock().unwrap_or_else(PoisonError::into_inner));
        let tally = std::mem::take(&mut *self.tally());
        let mut problems = Problems::default();
        let heard = before.compare(self, &tally, &mut problems).await?;
        problems.take(self.world.no_complaints());
        let came = ALL.into_iter().flat_map(|fsp| {
            let inbound = self.inbound(fsp).into_iter();
            inbound.map(move |m| ((fsp.to_owned(), m.method.clone(), m.path.clone()), m.json()))
        });
        problems.take(tally.account_for(came));
        let all = ALL.into_iter();
        let facts = Facts::of(all.flat_map(|fsp| self.world.fsp(fsp).recorder().messages()));
        let mut rows = tally.rows;
        for told in &heard {
            if problems.take(facts.compare(told)) == Some(true) {
                rows.extend(row_of_event(&self.rows, &told.event).map(str::to_owned));
            }
        }
        problems.end()?;
        Ok(rows)
    }

    /// The used ids, expectations and observations of the running case.
    pub(crate) fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The case expects these events about a subject too.
    pub fn expects(&self, subject: &str, events: &[&str]) {
        self.tally().expects(subject, events);
    }

    /// Change how an FSP behaves. The text is the JSON of a [`Behaviour`].
    ///
    /// # Errors
    /// When it is none.
    pub fn behaves(&self, fsp: &str, json: &str) -> Result<()> {
        let behaviour: Behaviour = serde_json::from_str(json).context("a behaviour")?;
        self.world.fsp(fsp).set_behaviour(behaviour);
        Ok(())
    }

    /// An FSP that leaves all answers to the case again.
    ///
    /// # Errors
    /// Never: the behaviour is one.
    pub fn behaves_silently(&self, fsp: &str) -> Result<()> {
        self.behaves(fsp, SILENT)
    }

    /// The signer of a participant with a key.
    ///
    /// # Errors
    /// When it has none.
    pub fn signer(&self, fsp: &str) -> Result<Signer> {
        let pair = self.keys.participants.get(fsp);
        let pair = pair.with_context(|| format!("{fsp} has no key"))?;
        Ok(Signer::of_pem(&pair.private)?)
    }

    /// An id of the case's own.
    pub fn id(&self) -> String {
        let id = self.world.payer().new_id();
        self.tally().uses(&id);
        id
    }

    /// A party of the case's own, as it stands in paths: `MSISDN/2799…`.
    pub fn party(&self) -> String {
        let number = self.next_party.fetch_add(1, Ordering::Relaxed);
        let party = format!("MSISDN/2799{number:08}");
        self.tally().uses(&format!("party:{party}"));
        party
    }

    /// Begins a message of an FSP.
    pub fn sends<'a>(&'a self, fsp: &'a str, method: Method, path: &str) -> Ask<'a> {
        Ask::new(self, fsp, method, path)
    }

    /// The host took a message of an FSP.
    pub(crate) fn took(&self, method: &Method, path: &str) {
        self.tally().took(method, path);
    }

    /// Records an error code that the hub sent, at once or by a callback.
    pub(crate) fn told_code(&self, code: &str) {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.insert(code.to_owned());
    }

    /// The error codes that the cases received.
    pub fn codes(&self) -> BTreeSet<String> {
        let codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.clone()
    }

    /// All that came to an FSP since the case began.
    pub fn inbound(&self, fsp: &str) -> Vec<Recorded> {
        let messages = self.world.fsp(fsp).recorder().messages();
        let inbound = messages
            .into_iter()
            .filter(|m| m.direction == Direction::In);
        inbound.collect()
    }

    /// An FSP gets a message with this method and path.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn told(&self, fsp: &str, method: Method, path: &str) -> Result<Recorded> {
        let found = self
            .world
            .fsp(fsp)
            .expect_callback(method.clone(), path, SOON);
        let found = found
            .await
            .with_context(|| format!("{method} {path} to {fsp}"))?;
        let heard = (fsp.to_owned(), method, found.path.clone());
        self.tally().messages.push(heard);
        Ok(found)
    }

    /// A message that an FSP sent goes to another one byte for byte, with the headers that the
    /// sender gave it.
    ///
    /// # Errors
    /// When it does not come, or differs.
    pub async fn forwarded(&self, sent: &Recorded, to: &str) -> Result<Recorded> {
        let path = sent.path.split('?').next().unwrap_or_default();
        let found = self.told(to, sent.method.clone(), path).await?;
        let what = format!("{} {path}, forwarded to {to}", sent.method);
        ensure!(
            found.body == sent.body,
            "{what}: the body has changed: {}",
            String::from_utf8_lossy(&found.body)
        );
        let is_put = sent.method == Method::PUT;
        let expected = [
            ("fspiop-source", sent.header("fspiop-source")),
            ("fspiop-destination", to),
            ("content-type", sent.header("content-type")),
            ("date", sent.header("date")),
            ("accept", if is_put { "" } else { sent.header("accept") }),
            ("fspiop-signature", sent.header("fspiop-signature")),
            ("fspiop-uri", sent.header("fspiop-uri")),
            ("fspiop-http-method", sent.header("fspiop-http-method")),
        ];
        headers(&found, &expected, &what)?;
        self.tally().compared(&found.method, &found.path);
        Ok(found)
    }

    /// Expects a message of the hub to an FSP.
    ///
    /// # Errors
    /// When it does not come, or differs.
    pub async fn hub_tells(
        &self,
        to: &str,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Recorded> {
        let what = format!("{method} {path} to {to}");
        let found = self.told(to, method, path).await?;
        let resource = path.split('/').nth(1).unwrap_or_default();
        let media_type = format!("application/vnd.interoperability.{resource}+json;version=1.1");
        let expected = [
            ("fspiop-source", HUB),
            ("fspiop-destination", to),
            ("content-type", &media_type),
            ("accept", ""),
        ];
        headers(&found, &expected, &what)?;
        ensure!(found.header("date").ends_with(" GMT"), "{what}: no date");
        let Recorded { method, path, .. } = &found;
        let hub = &self.keys.hub.public;
        if let Some(wrong) = complaint(hub, method, path, &found.headers, &found.body) {
            bail!("{what}: {wrong}");
        }
        same(&found.json(), body, &what)?;
        self.tally().compared(&found.method, &found.path);
        Ok(found)
    }

    /// Expects an error of the hub to an FSP about the subject of this path.
    ///
    /// # Errors
    /// When it does not, or otherwise.
    pub async fn hub_refuses(&self, to: &str, path: &str, code: &str) -> Result<()> {
        let path = format!("{path}/error");
        self.hub_tells(to, Method::PUT, &path, &error_body(code))
            .await?;
        self.told_code(code);
        Ok(())
    }

    /// Expects these events about a subject such as `transfer:<id>`, in any order, each handled by its
    /// consumer. Waits for all of them.
    ///
    /// # Errors
    /// When others are there instead.
    pub async fn events(&self, subject: &str, expected: &[&str]) -> Result<()> {
        self.tally().expects_just(subject, expected);
        let mut sorted: Vec<&str> = expected.to_vec();
        sorted.sort_unstable();
        let what = format!("the events of {subject} are {sorted:?}");
        let found = until(&what, SOON, async || {
            let events = published(&self.world.host, subject)?;
            let mut names: Vec<&str> = events.iter().map(|e| e.event.as_str()).collect();
            names.sort_unstable();
            let text = format!("{names:?}");
            Ok(if names == sorted {
                Ok(events)
            } else {
                Err(text)
            })
        })
        .await?;
        for published in &found {
            let event = &published.event;
            for consumer in consumers(event) {
                ensure!(
                    published.to.iter().any(|to| to == consumer),
                    "{event} is not taken by {consumer}, but by {:?}",
                    published.to
                );
            }
        }
        Ok(())
    }

    /// Expects these calls and events of warnings in turns about a transfer.
    ///
    /// # Errors
    /// When they did something else.
    pub async fn warnings(&self, transfer_id: &str, expected: &[&str]) -> Result<()> {
        let subject = format!("transfer:{transfer_id}");
        until("what warns somebody", SOON, async || {
            let found = warnings(&self.world.host, &subject)?;
            let fits = found
                .iter()
                .map(String::as_str)
                .eq(expected.iter().copied());
            Ok(if fits {
                Ok(())
            } else {
                Err(format!("{found:?}"))
            })
        })
        .await?;
        Ok(())
    }

    /// Expects a number of alerts of a participant's low liquidity, the last one with this sentence.
    ///
    /// # Errors
    /// When they have others.
    pub async fn alerts(&self, fsp: &str, sentences: &[&str], names: &[&str]) -> Result<()> {
        let what = format!("the alerts of {fsp} are {sentences:?}");
        until(&what, SOON, async || {
            let all: BTreeMap<String, Value> =
                documents(&self.world.host, "notifications-and-alerts", "alerts")?;
            let own = all.values().filter(|alert| alert["participant"] == fsp);
            let found: Vec<&str> = own.filter_map(|alert| alert["message"].as_str()).collect();
            Ok(if found == sentences {
                Ok(())
            } else {
                Err(format!("{found:?}"))
            })
        })
        .await?;
        let rows = names
            .iter()
            .filter_map(|name| row_of_event(&self.rows, name));
        self.tally().rows.extend(rows.map(str::to_owned));
        Ok(())
    }

    /// The entries about a transfer are these: type, debit, credit, amount in minor units. An account of
    /// a settlement batch is named without its batch. Waits until all are there.
    ///
    /// # Errors
    /// When others are there instead.
    pub async fn ledger(&self, transfer_id: &str, expected: &[Entry]) -> Result<()> {
        self.tally().expects_just_entries(transfer_id, expected);
        let mut expected = expected.to_vec();
        expected.sort();
        let what = format!("the ledger has {expected:?} of transfer {transfer_id}");
        until(&what, SOON, async || {
            let found = self.entries(transfer_id)?;
            Ok(if found == expected {
                Ok(())
            } else {
                Err(format!("{found:?}"))
            })
        })
        .await
    }

    fn entries(&self, transfer_id: &str) -> Result<Vec<Entry>> {
        let all = entries(self)?.into_values();
        let mut found: Vec<Entry> = all
            .filter(|(about, _)| about == transfer_id)
            .map(|(_, entry)| entry)
            .collect();
        found.sort();
        Ok(found)
    }

    /// Expects no events about a subject.
    ///
    /// # Errors
    /// If there is one.
    pub fn no_events(&self, subject: &str) -> Result<()> {
        let found = published(&self.world.host, subject)?;
        ensure!(found.is_empty(), "about {subject} there is {found:?}");
        Ok(())
    }

    /// The document of a transfer, a quote or the like. Null if there is none.
    ///
    /// # Errors
    /// When the host does not show it.
    pub fn document(&self, component: &str, collection: &str, id: &str) -> Result<Value> {
        let mut all: BTreeMap<String, Value> = documents(&self.world.host, component, collection)?;
        Ok(all.remove(id).unwrap_or_default())
    }

    /// A transfer is in this state; `null` stands for no transfer.
    ///
    /// # Errors
    /// When it is in another.
    pub fn transfer_is(&self, id: &str, state: &str) -> Result<()> {
        let found = self.document("transfers", "transfers", id)?;
        let found = found["state"].as_str().unwrap_or("null");
        ensure!(found == state, "transfer {id} is {found}, not {state}");
        Ok(())
    }

    /// A quote is in this state; `null` stands for no quote.
    ///
    /// # Errors
    /// When it is in another.
    pub fn quote_is(&self, id: &str, state: &str) -> Result<()> {
        let found = self.document("quoting", "quotes", id)?;
        let found = found["state"].as_str().unwrap_or("null");
        ensure!(found == state, "quote {id} is {found}, not {state}");
        Ok(())
    }
}

/// The association of an FSP's party is done, down to the report of its delivery.
async fn settled(world: &World, fsp: &str) -> Result<()> {
    let subject = format!("party:{}", world.party(fsp).path());
    until(&format!("{subject} is associated"), SOON, async || {
        let events = published(&world.host, &subject)?;
        let reported = events
            .iter()
            .any(|published| published.event == "notify-report");
        Ok(reported.then_some(()).ok_or_else(|| format!("{events:?}")))
    })
    .await
}

/// The body of an error of the hub with this code.
pub fn error_body(code: &str) -> Value {
    json!({ "errorInformation": { "errorCode": code, "errorDescription": TEXT } })
}

/// The body of an FSP's own error.
pub fn fsp_error(code: &str) -> Value {
    json!({ "errorInformation": { "errorCode": code, "errorDescription": "as a case wants it" } })
}

fn headers(found: &Recorded, expected: &[(&str, &str)], what: &str) -> Result<()> {
    for (name, value) in expected {
        let header = found.header(name);
        ensure!(
            header == *value,
            "{what}: {name} is {header:?}, not {value:?}"
        );
    }
    Ok(())
}
