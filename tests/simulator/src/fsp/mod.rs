//! A simulated FSP: payee and payer in one, as real ones are.
//!
//! Many can run in one process. An FSP serves on one address what the switch sends to it (the
//! FSPIOP paths) and what its driver wants of it (`/_control`).

mod control;
mod login;
mod memory;
mod orders;
mod outbound;
mod payee;
mod payer;
mod quoting;
mod raw;
mod server;
mod settings;
mod steps;
mod waiting;

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

use crate::behaviour::Behaviour;
use crate::client::{BaseUrl, BaseUrlError, HttpClient};
use crate::headers::Letterhead;
use crate::ids::{FspId, IdMint, PartyId};
use crate::ilp::Secret;
use crate::jws::{KeyError, Signer};
use crate::recorder::Recorder;
use crate::tls::TlsError;

pub use control::{AssociationOrder, CONTROL_PREFIX};
pub use login::Application;
pub use orders::{Found, Quote, QuoteOrder, TransferOrder, TransferResult};
pub use outbound::Outgoing;
pub use payer::{
    AmountType, Failure, FailureKind, PaymentOutcome, PaymentRequest, Step, StepTiming,
};
pub use raw::RawRequest;
pub use settings::FspSettings;
pub use waiting::Callback;

/// Why an FSP could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its address is not to be had.
    #[error("FSP {fsp} cannot listen on {address}")]
    Listen {
        /// Which FSP.
        fsp: FspId,
        /// Where it should listen.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The switch's address is none.
    #[error(transparent)]
    Hub(#[from] BaseUrlError),
    /// The secret is none.
    #[error("the secret of FSP {0} is not the base64url text of 32 octets")]
    Secret(FspId),
    /// The key is none.
    #[error("the signing key of FSP {fsp} cannot be used")]
    Key {
        /// Which FSP.
        fsp: FspId,
        /// Why not.
        source: KeyError,
    },
    /// Its TLS cannot be used.
    #[error("the TLS of FSP {fsp} cannot be used")]
    Tls {
        /// Which FSP.
        fsp: FspId,
        /// Why not.
        source: TlsError,
    },
    /// The fee is none.
    #[error("the payee fee `{fee}` of FSP {fsp} is no FSPIOP amount")]
    Fee {
        /// Which FSP.
        fsp: FspId,
        /// The text that was given.
        fee: String,
    },
}

/// A running FSP. A clone is another handle to the same one.
#[derive(Clone, Debug)]
pub struct Fsp {
    inner: Arc<Inner>,
    server: AbortHandle,
}

/// What an FSP consists of.
#[derive(Debug)]
pub(crate) struct Inner {
    settings: FspSettings,
    address: SocketAddr,
    hub: RwLock<Option<Arc<BaseUrl>>>,
    behaviour: RwLock<Arc<Behaviour>>,
    parties: RwLock<HashSet<String>>,
    letterhead: Letterhead,
    secret: Secret,
    signer: Option<Signer>,
    mint: IdMint,
    client: HttpClient,
    login: login::Login,
    waiting: waiting::WaitingRoom,
    memory: memory::Memory,
    recorder: Recorder,
    counts: Counts,
    stopped: AtomicBool,
}

/// How many messages of each kind an FSP received.
#[derive(Debug, Default)]
struct Counts {
    lookups: AtomicU64,
    quotes: AtomicU64,
    transfers: AtomicU64,
    callbacks: AtomicU64,
    unclaimed: AtomicU64,
    notifications: AtomicU64,
}

/// How many messages of each kind an FSP received, since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Received {
    /// GET /parties.
    pub lookups: u64,
    /// POST /quotes.
    pub quotes: u64,
    /// POST /transfers.
    pub transfers: u64,
    /// PUT of any kind.
    pub callbacks: u64,
    /// The unexpected ones among these.
    pub unclaimed: u64,
    /// PATCH.
    pub notifications: u64,
}

impl Fsp {
    /// Starts an FSP. It serves when this returns.
    pub async fn start(settings: FspSettings) -> Result<Self, StartError> {
        let hub = match &settings.hub {
            Some(hub) => Some(Arc::new(hub.parse()?)),
            None => None,
        };
        let secret = match &settings.secret {
            Some(text) => Secret::from_base64url(text)
                .ok_or_else(|| StartError::Secret(settings.id.clone()))?,
            None => Secret::from_name(settings.id.as_str()),
        };
        let signer = settings.signing_key.as_deref().map(Signer::of_pem);
        let signer = signer.transpose().map_err(|source| StartError::Key {
            fsp: settings.id.clone(),
            source,
        })?;
        if let Some(fee) = &settings.payee_fee
            // The currency is not known yet: XXX has the most decimals.
            && crate::amount::minor_units(fee, "XXX").is_err()
        {
            return Err(StartError::Fee {
                fsp: settings.id,
                fee: fee.clone(),
            });
        }
        let tls = settings.tls.as_ref();
        let tls = tls.map(|tls| Ok((tls.client()?, TlsAcceptor::from(tls.server()?))));
        let tls = tls.transpose().map_err(|source| StartError::Tls {
            fsp: settings.id.clone(),
            source,
        })?;
        let (client_tls, server_tls) = tls.unzip();
        let timeout = Duration::from_millis(settings.http_timeout_ms);
        let listening = async {
            let listener = TcpListener::bind(settings.listen).await?;
            let address = listener.local_addr()?;
            Ok::<_, io::Error>((listener, address))
        };
        let (listener, address) = listening.await.map_err(|source| StartError::Listen {
            fsp: settings.id.clone(),
            address: settings.listen,
            source,
        })?;
        let inner = Arc::new(Inner {
            address,
            hub: RwLock::new(hub),
            behaviour: RwLock::new(Arc::new(settings.behaviour.clone())),
            parties: RwLock::new(settings.parties.iter().map(PartyId::to_string).collect()),
            letterhead: Letterhead::new(&settings.id, settings.version),
            secret,
            signer,
            mint: IdMint::new(settings.id_seed),
            client: match client_tls {
                None => HttpClient::new(timeout),
                Some(tls) => HttpClient::with_tls(timeout, tls),
            },
            login: login::Login::default(),
            waiting: waiting::WaitingRoom::default(),
            memory: memory::Memory::default(),
            recorder: Recorder::new(settings.record),
            counts: Counts::default(),
            stopped: AtomicBool::new(false),
            settings,
        });
        let serving = server::serve(Arc::clone(&inner), listener, server_tls);
        let server = tokio::spawn(serving).abort_handle();
        Ok(Self { inner, server })
    }

    /// The FSP's id.
    pub fn id(&self) -> &FspId {
        &self.inner.settings.id
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.inner.address
    }

    /// Its base address, for the switch's list of participants and for its driver.
    pub fn url(&self) -> String {
        let scheme = match self.inner.settings.tls {
            None => "http",
            Some(_) => "https",
        };
        format!("{scheme}://{}", self.inner.address)
    }

    /// Tells it where the switch is.
    pub fn set_hub(&self, url: &str) -> Result<(), BaseUrlError> {
        let hub = url.parse()?;
        *self.inner.hub.write() = Some(Arc::new(hub));
        Ok(())
    }

    /// Changes how it behaves, from the next message on.
    pub fn set_behaviour(&self, behaviour: Behaviour) {
        *self.inner.behaviour.write() = Arc::new(behaviour);
    }

    /// Its recorder.
    pub fn recorder(&self) -> &Recorder {
        &self.inner.recorder
    }

    /// How many messages of each kind it received.
    pub fn received(&self) -> Received {
        self.inner.counts.read()
    }

    /// A new correlation id, as this FSP mints them.
    pub fn new_id(&self) -> String {
        self.inner.mint.correlation_id()
    }

    /// Stops it as a crash would: connections break, callbacks that are due are not sent. The
    /// address is free again when this returns.
    pub async fn stop(&self) {
        self.inner.stopped.store(true, Ordering::Relaxed);
        self.server.abort();
        // Aborting takes effect when the task is next polled; the listener closes with it.
        while !self.server.is_finished() {
            tokio::task::yield_now().await;
        }
    }
}

impl Inner {
    pub(crate) fn behaviour(&self) -> Arc<Behaviour> {
        Arc::clone(&self.behaviour.read())
    }

    fn owns(&self, party: &str) -> bool {
        self.parties.read().contains(party)
    }

    fn callback_timeout(&self) -> Duration {
        Duration::from_millis(self.settings.callback_timeout_ms)
    }

    fn expires_in(&self) -> Duration {
        Duration::from_millis(self.settings.expires_in_ms)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl Counts {
    fn read(&self) -> Received {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Received {
            lookups: of(&self.lookups),
            quotes: of(&self.quotes),
            transfers: of(&self.transfers),
            callbacks: of(&self.callbacks),
            unclaimed: of(&self.unclaimed),
            notifications: of(&self.notifications),
        }
    }
}
