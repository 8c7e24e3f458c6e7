//! The gRPC listener: the calls that the operator offers (by rialto.toml and the locks of field numbers), and
//! authorization.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rialto_components::{Digest, Release};
use rialto_grpc::{Authorizer, Calls, Client, Denied, Limits, OfferedApis, Permission, Service};
use rialto_manifest::Operator;
use rialto_manifest::operator::{Audience, GRPC, Listener, Role};
use rialto_proto::{Lock, checked_in, own};
use tokio::sync::watch;

use crate::host::Shared;
use crate::limits::{bytes, pace};

/// The longest message, in bytes.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The message for a client without a token.
const SHOW_TOKEN: &str = "show a token of the store's folder, `operator.token` or `operators/NAME.token`, or a personal one: `authorization: Bearer …`";

/// The offered calls, and the folder with the lock of their field numbers.
#[derive(Clone, Debug)]
pub struct Offering {
    /// What is offered.
    pub offer: OfferedApis,
    folder: PathBuf,
}

impl Offering {
    /// The offer of an operator's document; none without a gRPC listener.
    ///
    /// # Errors
    /// When the folder's lock cannot be read.
    pub fn of(operator: &Operator, folder: &Path) -> anyhow::Result<Option<Self>> {
        let Some(listener) = operator.listeners.get(GRPC) else {
            return Ok(None);
        };
        let offer = OfferedApis {
            serve: listener.serve.iter().map(ToString::to_string).collect(),
            events: listener.events.iter().map(ToString::to_string).collect(),
        };
        let offering = Self {
            offer,
            folder: folder.to_owned(),
        };
        offering.lock()?;
        Ok(Some(offering))
    }

    /// The host's own field numbers, and those of the scheme's folder for third-party contexts.
    ///
    /// # Errors
    /// When the folder's lock cannot be read.
    pub fn lock(&self) -> anyhow::Result<Lock> {
        Ok(own::lock()?.with(lock_of(&self.folder)?))
    }

    /// The calls of a release, with the current field numbers.
    ///
    /// # Errors
    /// When the folder's lock cannot be read.
    pub fn calls(
        &self,
        release: &Release,
        bytes: impl Fn(&Digest) -> Option<Vec<u8>>,
    ) -> anyhow::Result<Calls> {
        Ok(Calls::of(release, bytes, &self.offer, &self.lock()?))
    }
}

/// The lock of a scheme's folder; an empty one if it has none.
///
/// # Errors
/// When it cannot be read.
pub fn lock_of(folder: &Path) -> anyhow::Result<Lock> {
    let path = folder.join(checked_in::LOCK);
    match std::fs::read_to_string(&path) {
        Ok(text) => Lock::parse(&text).with_context(|| format!("reading {}", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Lock::default()),
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}

/// The service of the listener.
pub fn service(
    shared: &Arc<Shared>,
    operator: &Operator,
    listener: &Listener,
    stop: watch::Receiver<bool>,
) -> Service {
    let http = &operator.http;
    let limits = Limits {
        timeout: Duration::from_millis(http.request_timeout.millis()),
        message_bytes_max: bytes(http.body_max).min(MESSAGE_BYTES_MAX),
        messages: shared.bodies.grpc.clone(),
        pace: pace(operator),
        is_full: shared.disk.low(),
    };
    let service = Service::new(
        shared.engine.clone(),
        shared.releases.calls(),
        authorizer(shared.clone()),
        shared.metrics.clone(),
        shared.spans.clone(),
        limits,
        stop,
    );
    let service = service.with_denials(shared.denials.clone());
    service.with_open_reflection(listener.reflection == Some(Audience::Open))
}

/// Authorizes operators that have the role.
fn authorizer(shared: Arc<Shared>) -> Authorizer {
    Arc::new(move |authorization: Option<&str>, permission: Permission| {
        let caller = shared.access.caller_of(authorization);
        let caller = caller.ok_or_else(|| Denied::Unknown(SHOW_TOKEN.to_owned()))?;
        let role = match permission {
            Permission::Call => Role::Context,
            Permission::Read => Role::Reader,
        };
        if caller.has(role) {
            return Ok(Client {
                name: (&*caller.person).into(),
                credential: caller.credential().into(),
                share: format!("operator {}", caller.name).into(),
            });
        }
        let name = &caller.name;
        Err(Denied::Lacks(format!(
            "the operator `{name}` needs the role `{}` for this; the operator's document gives roles: `[operators.{name}]`",
            role.name()
        )))
    })
}
