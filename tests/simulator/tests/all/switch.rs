//! A tiny switch for the tests of the simulator: it forwards by header, checks fulfilments, and
//! knows nothing of money.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use parking_lot::Mutex;
use serde_json::{Value, json};

use rialto_simulator::client::{BaseUrl, HttpClient};
use rialto_simulator::{Fsp, FspSettings, ilp};

/// The switch's state of a transfer.
#[derive(Clone)]
struct Transfer {
    payer: String,
    payee: String,
    condition: String,
    result: Option<Value>,
}

#[derive(Default)]
struct Books {
    fsps: HashMap<String, BaseUrl>,
    parties: HashMap<String, String>,
    transfers: HashMap<String, Transfer>,
    mute: bool,
    forgetful: bool,
}

/// The switch.
#[derive(Clone)]
pub struct Switch {
    books: Arc<Mutex<Books>>,
    client: HttpClient,
    pub url: String,
}

impl Switch {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let client = HttpClient::new(Duration::from_secs(5));
        let switch = Self {
            books: Arc::default(),
            client,
            url,
        };
        let app = Router::new().fallback(receive).with_state(switch.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        switch
    }

    /// Starts an FSP at this switch.
    pub async fn fsp(&self, mut settings: FspSettings) -> Fsp {
        settings.hub = Some(self.url.clone());
        let mut parties = settings.parties.clone();
        let fsp = Fsp::start(settings).await.expect("the FSP starts");
        let mut books = self.books.lock();
        books
            .fsps
            .insert(fsp.id().to_string(), fsp.url().parse().expect("an address"));
        for party in parties.drain(..) {
            books
                .parties
                .insert(party.to_string(), fsp.id().to_string());
        }
        fsp
    }

    /// From now on the switch accepts everything and forwards nothing to payers.
    pub fn keep_answers_back(&self) {
        self.books.lock().mute = true;
    }

    /// From now on the switch commits transfers without telling their payers.
    pub fn lose_results(&self) {
        self.books.lock().forgetful = true;
    }

    async fn send(&self, to: &str, method: Method, path: String, headers: HeaderMap, body: Bytes) {
        let (base, mute) = {
            let books = self.books.lock();
            (
                books.fsps.get(to).cloned(),
                books.mute && method == Method::PUT,
            )
        };
        let Some(base) = base.filter(|_| !mute) else {
            return;
        };
        let uri = base.join(&path).expect("an address");
        let mut headers = headers;
        for hop in ["host", "content-length", "connection"] {
            headers.remove(hop);
        }
        headers.insert(
            "fspiop-destination",
            HeaderValue::from_str(to).expect("an id"),
        );
        let _ = self.client.send(method, uri, headers, body).await;
    }

    /// A message of the switch's own.
    async fn tell(&self, to: &str, method: Method, path: &str, mut body: Value) {
        body.sort_all_objects();
        let resource = path.split('/').nth(1).expect("a resource");
        let media = format!("application/vnd.interoperability.{resource}+json;version=1.1");
        let mut headers = HeaderMap::new();
        let date = HeaderValue::from_static("Tue, 15 Nov 1994 08:12:31 GMT");
        headers.insert("date", date);
        headers.insert(
            "content-type",
            HeaderValue::from_str(&media).expect("a media type"),
        );
        headers.insert("fspiop-source", HeaderValue::from_static("Hub"));
        self.send(
            to,
            method,
            path.to_owned(),
            headers,
            body.to_string().into(),
        )
        .await;
    }

    async fn handle(&self, method: Method, path: String, headers: HeaderMap, body: Bytes) {
        let header = |name: &str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let (source, destination) = (header("fspiop-source"), header("fspiop-destination"));
        let json: Value = serde_json::from_slice(&body).unwrap_or_default();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match (method.as_str(), parts.as_slice()) {
            ("POST", ["participants", party @ ..]) => {
                self.books
                    .lock()
                    .parties
                    .insert(party.join("/"), source.clone());
                self.tell(&source, Method::PUT, &path, json!({ "fspId": source }))
                    .await;
            }
            ("GET", ["parties", party @ ..]) => {
                let owner = self.books.lock().parties.get(&party.join("/")).cloned();
                match owner {
                    Some(owner) => self.send(&owner, method, path, headers, body).await,
                    None => {
                        let error = error("3204", "Party not found");
                        self.tell(&source, Method::PUT, &format!("{path}/error"), error)
                            .await;
                    }
                }
            }
            ("GET", ["transfers", id]) => {
                let result = self
                    .books
                    .lock()
                    .transfers
                    .get(*id)
                    .map(|t| t.result.clone());
                let (path, body) = match result {
                    Some(Some(result)) => (path, result),
                    Some(None) => (path, json!({ "transferState": "RESERVED" })),
                    None => (
                        format!("{path}/error"),
                        error("3208", "Transfer ID not found"),
                    ),
                };
                self.tell(&source, Method::PUT, &path, body).await;
            }
            ("POST", ["transfers"]) => {
                let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
                let transfer = Transfer {
                    payer: source,
                    payee: destination.clone(),
                    condition: text("condition"),
                    result: None,
                };
                self.books
                    .lock()
                    .transfers
                    .insert(text("transferId"), transfer);
                self.send(&destination, method, path, headers, body).await;
            }
            ("PUT", ["transfers", id]) => self.fulfil(id, &path, headers, body, json).await,
            _ => self.send(&destination, method, path, headers, body).await,
        }
    }

    async fn fulfil(&self, id: &str, path: &str, headers: HeaderMap, body: Bytes, json: Value) {
        let Some(transfer) = self.books.lock().transfers.get(id).cloned() else {
            return;
        };
        let fulfilment = json["fulfilment"].as_str().unwrap_or_default();
        let at = "2030-01-02T03:04:05.678Z";
        if !ilp::fulfils(fulfilment, &transfer.condition) {
            let aborted = json!({ "transferState": "ABORTED" });
            self.finish(id, aborted);
            let refusal = error("3100", "Generic validation error - invalid fulfilment");
            let path = format!("{path}/error");
            self.tell(&transfer.payer, Method::PUT, &path, refusal.clone())
                .await;
            self.tell(&transfer.payee, Method::PUT, &path, refusal)
                .await;
        } else if json["transferState"] == "RESERVED" {
            let done = json!({
                "completedTimestamp": at, "fulfilment": fulfilment, "transferState": "COMMITTED",
            });
            self.finish(id, done.clone());
            self.tell(&transfer.payer, Method::PUT, path, done).await;
            let notice = json!({ "completedTimestamp": at, "transferState": "COMMITTED" });
            self.tell(&transfer.payee, Method::PATCH, path, notice)
                .await;
        } else {
            self.finish(id, json);
            if self.books.lock().forgetful {
                return;
            }
            self.send(&transfer.payer, Method::PUT, path.to_owned(), headers, body)
                .await;
        }
    }

    fn finish(&self, id: &str, result: Value) {
        if let Some(transfer) = self.books.lock().transfers.get_mut(id) {
            transfer.result = Some(result);
        }
    }
}

fn error(code: &str, description: &str) -> Value {
    json!({ "errorInformation": { "errorCode": code, "errorDescription": description } })
}

async fn receive(
    State(switch): State<Switch>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let status = if method == Method::PUT {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    let path = uri.path().to_owned();
    tokio::spawn(async move { switch.handle(method, path, headers, body).await });
    status
}
