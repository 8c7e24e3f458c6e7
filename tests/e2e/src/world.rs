//! A running host with the FSPs of its scheme, which live in this process and outlive the host.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rialto_simulator::pki::SchemePki;
use rialto_simulator::{Fsp, FspSettings, PartyId};

use crate::books::Books;
use crate::host::RunningHost;
use crate::office::Office;
use crate::scheme::TestScheme;
use crate::waiting::until;

/// The participant that pays.
pub const PAYER: &str = "payerfsp";
/// The participant that is paid.
pub const PAYEE: &str = "payeefsp";
/// How long a host may take to end all transfers, those included that have to expire first.
const SETTLED_WITHIN: Duration = Duration::from_secs(45);

/// How the world's FSPs are to be.
#[derive(Clone)]
pub struct WorldOptions {
    /// How long an FSP waits for a callback.
    pub callback_timeout: Duration,
    /// How long a quote and a transfer are valid.
    pub expires_in: Duration,
    /// How often an FSP tries to deliver a callback.
    pub callback_attempts: u32,
    /// Whether a payer asks for a transfer that got no callback.
    pub query_on_timeout: bool,
    /// The number of parties of each FSP. Callbacks of lookups only differ by the party, so concurrent lookups
    /// should use different parties.
    pub parties_each: usize,
    /// The private keys (PEM) with which FSPs sign, by their ids; the others do not sign.
    pub signing_keys: BTreeMap<String, String>,
    /// The certificates of FSPs, and the hub's: then all speak TLS. The scheme's documents must say so too.
    pub pki: Option<Arc<SchemePki>>,
    /// Whether each FSP gets an application, and so access tokens. The scheme must have the operators of
    /// [`World::APPLICANTS`].
    pub applications: bool,
    /// The public keys (PEM) of those whose messages all FSPs verify.
    pub verify_keys: BTreeMap<String, String>,
    /// Environment variables of the host.
    pub variables: Vec<(String, OsString)>,
    /// The `rialto` that the host runs, if it is not the one under test.
    pub program: Option<PathBuf>,
    /// What stands before the host, and takes the messages of FSPs in its place.
    pub front: Option<crate::front::Front>,
}

impl Default for WorldOptions {
    fn default() -> Self {
        Self {
            callback_timeout: Duration::from_secs(20),
            expires_in: Duration::from_secs(60),
            callback_attempts: 4,
            query_on_timeout: true,
            parties_each: 1,
            signing_keys: BTreeMap::new(),
            pki: None,
            applications: false,
            verify_keys: BTreeMap::new(),
            variables: Vec::new(),
            program: None,
            front: None,
        }
    }
}

/// See the module's documentation.
pub struct World {
    /// The host. It ends before its folder goes away.
    pub host: RunningHost,
    fsps: BTreeMap<String, Fsp>,
    settings: BTreeMap<String, FspSettings>,
    parties: BTreeMap<String, Vec<PartyId>>,
    /// The scheme's folder.
    pub scheme: TestScheme,
}

impl World {
    /// The operators behind applications: one asks, the other one approves.
    pub const APPLICANTS: &[(&str, &str)] = &[("maya", "\"maker\""), ("chris", "\"checker\"")];

    /// The demonstration scheme with model FSPs.
    ///
    /// # Errors
    /// As [`World::of`].
    pub async fn demo() -> anyhow::Result<Self> {
        Self::of(TestScheme::demo()?, &WorldOptions::default()).await
    }

    /// A host on this scheme, an FSP for each participant, and its parties, which the
    /// scheme knows.
    ///
    /// # Errors
    /// When the host or an FSP does not start, or an association fails.
    pub async fn of(scheme: TestScheme, options: &WorldOptions) -> anyhow::Result<Self> {
        let variables = options.variables.iter();
        let variables: Vec<(&str, &OsStr)> = variables
            .map(|(name, value)| (name.as_str(), value.as_os_str()))
            .collect();
        let host = match &options.program {
            Some(program) => RunningHost::start_of(program, &scheme, &variables)?,
            None => RunningHost::start_with(&scheme, &variables)?,
        };
        if options.pki.is_some() || options.applications {
            host.approve_first_release()?;
        }
        let hub = match &options.front {
            Some(front) => {
                front.lead_to(&host)?;
                front.url()
            }
            None => host.url("fsps")?.to_owned(),
        };
        let mut applications = BTreeMap::new();
        if options.applications {
            let office = Office::of(&scheme, &host, &["maya", "chris"])?;
            for id in scheme.callbacks().keys() {
                applications.insert(id.clone(), office.application("maya", "chris", id).await?);
            }
        }
        let mut fsps = BTreeMap::new();
        let mut parties = BTreeMap::new();
        let mut all_settings = BTreeMap::new();
        for (place, (id, port)) in scheme.callbacks().iter().enumerate() {
            let of_fsp: Vec<PartyId> = (0..options.parties_each)
                .map(|n| {
                    format!("MSISDN/27{:03}{n:06}", 710 + place)
                        .parse()
                        .context("a party")
                })
                .collect::<anyhow::Result<_>>()?;
            let mut settings = FspSettings::new(id.parse()?, of_fsp.clone());
            settings.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
            settings.hub = Some(hub.clone());
            settings.callback_timeout_ms = milliseconds(options.callback_timeout);
            settings.expires_in_ms = milliseconds(options.expires_in);
            settings.callback_attempts = options.callback_attempts;
            settings.query_on_timeout = options.query_on_timeout;
            settings.signing_key = options.signing_keys.get(id).cloned();
            settings.tls = options.pki.as_ref().and_then(|pki| pki.fsp(id));
            settings.application = applications.get(id).cloned();
            settings.verify_keys.clone_from(&options.verify_keys);
            let fsp = Fsp::start(settings.clone()).await?;
            all_settings.insert(id.clone(), settings);
            for party in &of_fsp {
                let associated = fsp.associate(party, None).await;
                associated.with_context(|| format!("associating {party} with {id}"))?;
            }
            fsps.insert(id.clone(), fsp);
            parties.insert(id.clone(), of_fsp);
        }
        Ok(Self {
            host,
            fsps,
            settings: all_settings,
            parties,
            scheme,
        })
    }

    /// Start an FSP that was stopped again, at its address and with its parties, as one that has
    /// forgotten everything.
    ///
    /// # Errors
    /// When the scheme has no such participant, or its address is taken.
    pub async fn start_again(&mut self, id: &str) -> anyhow::Result<()> {
        let settings = self.settings.get(id).context("a participant")?;
        let fsp = Fsp::start(settings.clone()).await?;
        self.fsps.insert(id.to_owned(), fsp);
        Ok(())
    }

    /// The FSP of a participant.
    ///
    /// # Panics
    /// When the scheme has no such participant: the test is wrong.
    pub fn fsp(&self, id: &str) -> &Fsp {
        &self.fsps[id]
    }

    /// The FSP that pays.
    pub fn payer(&self) -> &Fsp {
        self.fsp(PAYER)
    }

    /// The FSP that is paid.
    pub fn payee(&self) -> &Fsp {
        self.fsp(PAYEE)
    }

    /// The first party of a participant.
    ///
    /// # Panics
    /// When the scheme has no such participant: the test is wrong.
    pub fn party(&self, id: &str) -> &PartyId {
        &self.parties[id][0]
    }

    /// All parties of a participant.
    ///
    /// # Panics
    /// When the scheme has no such participant: the test is wrong.
    pub fn parties(&self, id: &str) -> &[PartyId] {
        &self.parties[id]
    }

    /// Participants other than the payer.
    pub fn payees(&self) -> impl Iterator<Item = &str> {
        self.fsps
            .keys()
            .map(String::as_str)
            .filter(|&id| id != PAYER)
    }

    /// The ledger and the transfers as they are now.
    ///
    /// # Errors
    /// When the host does not show them.
    pub fn books(&self) -> anyhow::Result<Books> {
        Books::read(&self.host)
    }

    /// Wait until no transfer and no reservation is open, then give the books.
    ///
    /// # Errors
    /// If it does not arrive in time.
    pub async fn settled_books(&self) -> anyhow::Result<Books> {
        until("the transfers end", SETTLED_WITHIN, async || {
            // The books are read in parts: a payment may end between two of them.
            let (before, books) = (self.books()?, self.books()?);
            let open = books.open();
            Ok(if !open.is_empty() {
                Err(open.join("; "))
            } else if before != books {
                Err("something is booked just now".to_owned())
            } else {
                Ok(books)
            })
        })
        .await
    }

    /// Accept that every FSP found every message of the host in order with the API definition.
    ///
    /// # Errors
    /// With what they object to.
    pub fn no_complaints(&self) -> anyhow::Result<()> {
        for (id, fsp) in &self.fsps {
            let complaints = fsp.recorder().complaints();
            let first: Vec<_> = complaints.iter().take(10).collect();
            ensure!(
                complaints.is_empty(),
                "{id} has {} complaints, among them {first:#?}",
                complaints.len()
            );
        }
        Ok(())
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
