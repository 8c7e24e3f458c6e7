//! Operators at their desks: each with a name, roles and a token, speaking to the operators' listener.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rialto_simulator::client::HttpClient;
use rialto_simulator::fsp::Application;
use serde_json::{Value, json};

use crate::host::RunningHost;
use crate::scheme::TestScheme;

/// How long an answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Documents of a collection that are looked at, at most.
const DOCUMENTS_MAX: usize = 1_000;

/// The operator by whom commands are asked where others are named: one with all roles of people.
pub const OFFICE: &str = "office";
/// Its table.
pub const OFFICE_TABLE: &str =
    "[operators.office]\nroles = [\"reader\", \"maker\", \"checker\", \"admin\"]\n\n";

/// Operators of a running host.
pub struct Office {
    client: HttpClient,
    url: String,
    tokens: BTreeMap<String, String>,
}

/// What an operator was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// HTTP's status.
    pub status: u16,
    /// Header names, in lower case, and values.
    pub headers: BTreeMap<String, String>,
    /// The body; null where there is none.
    pub body: Value,
}

impl TestScheme {
    /// Name operators in rialto.toml, each with its roles as TOML has them: `"reader", "maker"`.
    ///
    /// # Errors
    /// When rialto.toml cannot be written.
    pub fn add_operators(&self, people: &[(&str, &str)]) -> Result<()> {
        let tables = people
            .iter()
            .map(|(name, roles)| format!("[operators.{name}]\nroles = [{roles}]\n\n"));
        let tables: String = tables.collect();
        self.replace(
            "rialto.toml",
            "[store]",
            &format!("{OFFICE_TABLE}{tables}[store]"),
        )
    }
}

impl Office {
    /// The operators of a host that runs on this scheme, by their names.
    ///
    /// # Errors
    /// When a token cannot be read, or the host has no listener for operators.
    pub fn of(scheme: &TestScheme, host: &RunningHost, people: &[&str]) -> Result<Self> {
        let state = scheme.store()?;
        let mut tokens = BTreeMap::new();
        for name in people.iter().chain(&[OFFICE]) {
            let named = state.join("operators").join(format!("{name}.token"));
            // Without named operators, the host has its own.
            let path = if *name == OFFICE && !named.exists() {
                state.join("operator.token")
            } else {
                named
            };
            // Named operators stand in the place of the host's own.
            if *name == OFFICE && !path.exists() {
                continue;
            }
            let token = std::fs::read_to_string(&path);
            let token = token.with_context(|| format!("reading {}", path.display()))?;
            tokens.insert((*name).to_owned(), token.trim().to_owned());
        }
        Ok(Self {
            client: HttpClient::new(ANSWER_WITHIN).with_answer_bytes_max(64 << 20),
            url: host.url("operators")?.to_owned(),
            tokens,
        })
    }

    /// Send a request as this operator.
    ///
    /// # Errors
    /// If there is no answer, or it is not JSON.
    ///
    /// # Panics
    /// When there is no such operator: the test is wrong.
    pub async fn send(
        &self,
        who: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Result<Said> {
        let mut all = http::HeaderMap::new();
        let token = format!("Bearer {}", self.tokens[who]);
        let own = [
            ("authorization", token.as_str()),
            ("content-type", "application/json"),
        ];
        for (name, value) in own.iter().chain(headers) {
            all.insert(http::HeaderName::try_from(*name)?, value.parse()?);
        }
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let uri = format!("{}{path}", self.url).parse()?;
        let method = method.parse()?;
        let answer = self.client.send(method, uri, all, text.into()).await?;
        let text = String::from_utf8_lossy(&answer.body);
        let body = if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&text).with_context(|| format!("{path} answers {text}"))?
        };
        let headers = answer.headers.iter().map(|(name, value)| {
            let value = value.to_str().unwrap_or_default();
            (name.as_str().to_owned(), value.to_owned())
        });
        Ok(Said {
            status: answer.status.as_u16(),
            headers: headers.collect(),
            body,
        })
    }

    /// GET as this operator.
    ///
    /// # Errors
    /// As [`Office::send`], or when the answer is no 200.
    pub async fn get(&self, who: &str, path: &str) -> Result<Value> {
        let said = self.send(who, "GET", path, &[], &Value::Null).await?;
        ensure!(said.status == 200, "GET {path}: {said:?}");
        Ok(said.body)
    }

    /// GET a page as this operator.
    ///
    /// # Errors
    /// As [`Office::send`], or when the answer is no 200.
    ///
    /// # Panics
    /// When there is no such operator: the test is wrong.
    pub async fn page(&self, who: &str, path: &str) -> Result<String> {
        let token = format!("Bearer {}", self.tokens[who]);
        let mut headers = http::HeaderMap::new();
        for (name, value) in [("authorization", token.as_str()), ("accept", "text/html")] {
            headers.insert(http::HeaderName::try_from(name)?, value.parse()?);
        }
        let uri = format!("{}{path}", self.url).parse()?;
        let sent = self
            .client
            .send(http::Method::GET, uri, headers, String::new().into());
        let answer = sent.await?;
        ensure!(
            answer.status.as_u16() == 200,
            "GET {path}: {}",
            answer.status
        );
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }

    /// POSTs as this operator, and returns any answer.
    ///
    /// # Errors
    /// As [`Office::send`].
    pub async fn post(&self, who: &str, path: &str, body: &Value) -> Result<Said> {
        self.send(who, "POST", path, &[], body).await
    }

    /// A new application of a participant: one operator asks for it, another one approves it.
    ///
    /// # Errors
    /// When either is refused.
    pub async fn application(
        &self,
        maker: &str,
        checker: &str,
        participant: &str,
    ) -> Result<Application> {
        let asked = json!({ "participant": participant, "label": "of a test" });
        let said = self.post(maker, "/app-register", &asked).await?;
        ensure!(said.status == 201, "POST /app-register: {said:?}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let application = Application {
            id: text(&said.body["application"]["id"]),
            secret: text(&said.body["secret"]),
        };
        let path = format!("/app-register/{}/decision", application.id);
        let said = self
            .post(checker, &path, &json!({ "decision": "APPROVE" }))
            .await?;
        ensure!(said.status == 200, "POST {path}: {said:?}");
        Ok(application)
    }

    /// Every document of these collections (component and name), with its version.
    ///
    /// # Errors
    /// When the host does not show them, or there are too many.
    pub async fn everything(
        &self,
        collections: &[(String, String)],
    ) -> Result<BTreeMap<String, Value>> {
        let mut all = BTreeMap::new();
        for (component, collection) in collections {
            let path = format!("/documents/{component}/{collection}?limit={DOCUMENTS_MAX}");
            let shown = self.get(OFFICE, &path).await?;
            let shown = shown.as_array().context("a list of documents")?;
            ensure!(shown.len() < DOCUMENTS_MAX, "{path} has too many documents");
            for document in shown {
                let id = document["id"].as_str().unwrap_or_default();
                all.insert(format!("{component}/{collection}/{id}"), document.clone());
            }
        }
        Ok(all)
    }
}

impl Said {
    /// The kind of problem; empty if it is none.
    pub fn problem(&self) -> &str {
        let of = self.body["type"].as_str().unwrap_or_default();
        of.strip_prefix("urn:rialto:problem:").unwrap_or_default()
    }
}
