//! A connection to JetStream that sends events in order.
//!
//! Messages of a batch are sent without waiting for each acknowledgement. Each but the first says which message must be the
//! stream's last one, so a message never overtakes one that was lost. After any failure the connection is given up: what its
//! library has not sent yet goes with it, and the next connection begins with the first event that is not acknowledged.

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use async_nats::header::{NATS_EXPECTED_LAST_MESSAGE_ID, NATS_EXPECTED_STREAM, NATS_MESSAGE_ID};
use async_nats::jetstream::context::{ContextBuilder, PublishError, PublishErrorKind};
use async_nats::jetstream::{self, Context};
use async_nats::{ConnectErrorKind, ConnectOptions, ServerAddr};

use crate::event::{Event, Log};
use crate::failure::Failure;
use crate::settings::{Settings, SignIn};
use crate::stream;

/// How long a connection, or an answer, is waited for.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Messages that the library keeps at most.
const CAPACITY: usize = 1_024;
/// The name by which the server knows the connection.
const NAME: &str = "rialto";

/// A connection.
pub struct Connection {
    context: Context,
    settings: Settings,
}

/// How far a batch was acknowledged when it stopped.
#[derive(Debug, PartialEq, Eq)]
pub struct Stopped {
    /// How many events of the batch are acknowledged, from the first on.
    pub acknowledged: usize,
    /// Why the next one is not.
    pub failure: Failure,
}

impl Connection {
    /// Connect, and check that the stream takes events; it is made if it is missing.
    ///
    /// # Errors
    /// When no server answers, or an operator must do something.
    pub async fn open(settings: &Settings) -> Result<Self, Failure> {
        let options = signed_in(&settings.sign_in).await?;
        let mut options = options
            .name(NAME)
            .connection_timeout(ANSWER_MAX)
            .request_timeout(Some(ANSWER_MAX))
            .client_capacity(CAPACITY)
            .max_reconnects(settings.servers.len())
            .require_tls(settings.requires_tls);
        if let Some(ca) = &settings.ca {
            options = options.add_root_certificates(ca.clone());
        }
        if let Some((certificate, key)) = &settings.certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        let all = settings.servers.join(",");
        let connecting = tokio::time::timeout(ANSWER_MAX, options.connect(servers(settings)?));
        let client = match connecting.await {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(not_connected(&all, &error)),
            Err(_) => return Err(Failure::Away(format!("{all} does not answer in time"))),
        };
        let context = ContextBuilder::new()
            .timeout(ANSWER_MAX)
            .max_ack_inflight(CAPACITY)
            .build(client);
        stream::check(&context, settings).await?;
        Ok(Self {
            context,
            settings: settings.clone(),
        })
    }

    /// Send events in order, and wait until all are acknowledged. JetStream takes an event once that it knows.
    ///
    /// # Errors
    /// With the number of those that were acknowledged. The connection is of no use then.
    pub async fn send(&self, log: &Log, events: &[Event]) -> Result<(), Stopped> {
        self.send_as(log, events, (true, |event: &Event| log.id(event)))
            .await
    }

    /// Send events that were sent before. JetStream takes each one again, because its id has this addition. The event's own
    /// id is as it was. Messages of others may come between them: a host may be sending.
    ///
    /// # Errors
    /// As `send`.
    pub async fn send_again(
        &self,
        log: &Log,
        events: &[Event],
        addition: &str,
    ) -> Result<(), Stopped> {
        let id = |event: &Event| format!("{}-{addition}", log.id(event));
        self.send_as(log, events, (false, id)).await
    }

    async fn send_as(
        &self,
        log: &Log,
        events: &[Event],
        (is_unbroken, id): (bool, impl Fn(&Event) -> String),
    ) -> Result<(), Stopped> {
        let mut waiting = Vec::with_capacity(events.len());
        let mut unsent = None;
        let mut last: Option<String> = None;
        for event in events {
            let id = id(event);
            let mut headers = log.headers(event);
            headers.insert(NATS_MESSAGE_ID, id.as_str());
            headers.insert(NATS_EXPECTED_STREAM, self.settings.stream.as_str());
            if let Some(last) = last.replace(id).filter(|_| is_unbroken) {
                headers.insert(NATS_EXPECTED_LAST_MESSAGE_ID, last.as_str());
            }
            let (subject, payload) = (log.subject(event), event.payload().into());
            let sent = self.context.publish_with_headers(subject, headers, payload);
            match sent.await {
                Ok(acknowledgement) => waiting.push(acknowledgement),
                Err(error) => {
                    unsent = Some(self.not_taken(&error));
                    break;
                }
            }
        }
        let sent = waiting.len();
        for (acknowledged, acknowledgement) in waiting.into_iter().enumerate() {
            if let Err(error) = acknowledgement.await {
                let failure = self.not_taken(&error);
                return Err(Stopped {
                    acknowledged,
                    failure,
                });
            }
        }
        match unsent {
            None => Ok(()),
            Some(failure) => Err(Stopped {
                acknowledged: sent,
                failure,
            }),
        }
    }

    fn not_taken(&self, error: &PublishError) -> Failure {
        match error.kind() {
            PublishErrorKind::MaxPayloadExceeded => Failure::TooLarge(error.to_string()),
            PublishErrorKind::StreamNotFound => Failure::away(
                "no stream takes the events",
                "it was removed, or JetStream is off",
            ),
            PublishErrorKind::Other => match api_error(error) {
                Some(api) => stream::not_taken(api, &self.settings),
                None => Failure::away("an event could not be sent", error),
            },
            _ => Failure::away("an event was not acknowledged", error),
        }
    }
}

/// What JetStream has said in place of an acknowledgement.
fn api_error(error: &PublishError) -> Option<&jetstream::Error> {
    error.source()?.downcast_ref()
}

/// Options with what the host signs in by.
async fn signed_in(sign_in: &SignIn) -> Result<ConnectOptions, Failure> {
    match sign_in {
        SignIn::Nobody => Ok(ConnectOptions::new()),
        SignIn::Credentials(path) => {
            let credentials = read(path).await?;
            let options = ConnectOptions::with_credentials(&credentials);
            // The error may quote what it has read.
            options.map_err(|_| {
                Failure::refused(
                    format!("{} has no credentials of NATS", path.display()),
                    "It has a JWT and the seed of an nkey, as `nsc generate creds` writes them",
                )
            })
        }
        SignIn::Nkey(path) => {
            let seed = read(path).await?;
            Ok(ConnectOptions::with_nkey(seed.trim().to_owned()))
        }
        SignIn::Password(path) => {
            let text = read(path).await?;
            let mut lines = text.lines();
            let (Some(user), Some(password), None) = (lines.next(), lines.next(), lines.next())
            else {
                return Err(Failure::refused(
                    format!("{} has no user with a password", path.display()),
                    "It has two lines: the user, and the password",
                ));
            };
            let (user, password) = (user.to_owned(), password.to_owned());
            Ok(ConnectOptions::with_user_and_password(user, password))
        }
    }
}

async fn read(path: &Path) -> Result<String, Failure> {
    let text = tokio::fs::read_to_string(path).await;
    text.map_err(|error| {
        Failure::refused(
            format!("{} cannot be read: {error}", path.display()),
            "The host signs in to NATS by this file",
        )
    })
}

fn servers(settings: &Settings) -> Result<Vec<ServerAddr>, Failure> {
    let servers = settings.servers.iter();
    let servers = servers.map(|server| {
        server.parse::<ServerAddr>().map_err(|error| {
            Failure::refused(
                format!("`{server}` is no server of NATS: {error}"),
                "Write host and port",
            )
        })
    });
    servers.collect()
}

fn not_connected(server: &str, error: &async_nats::ConnectError) -> Failure {
    let help = "See what the server asks for: `credentials`, `nkey`, `password` or a certificate";
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            Failure::refused(format!("{server} does not let the host in: {error}"), help)
        }
        ConnectErrorKind::Tls => Failure::refused(
            format!("no TLS with {server}: {error}"),
            "Name the authority of its certificate with `ca`",
        ),
        _ => Failure::away(&format!("{server} cannot be reached"), error),
    }
}
