//! The sessions and personal tokens of operators. The store has the SHA-256 of each secret, and memory the same: a secret
//! is shown once and then nowhere. A secret has 256 random bits, so its plain hash tells nothing of it.
//!
//! A session that was given for a token is in memory alone. It ends with the host, and with its personal token: a token in a
//! file changes only while no host runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use rialto_engine::store::StoreError;
use rialto_engine::{Clock, Entropy, Timestamp};
use rialto_signatures::secrets::same_secret;
use rialto_store::{Credential, CredentialKind, HostStore};
use sha2::{Digest as _, Sha256};

/// The beginning of a personal token, by which people and scanners know it.
pub const TOKEN_PREFIX: &str = "rialto_pat_";
/// The most personal tokens of an operator.
pub const TOKENS_MAX: usize = 100;
/// The most sessions of an operator. A further one ends the oldest.
pub const SESSIONS_MAX: usize = 20;
/// The random bytes of a secret.
const SECRET_BYTES: usize = 32;
/// The random bytes of a public name.
const ID_BYTES: usize = 8;

/// What a new credential is for.
pub struct Wanted<'a> {
    /// What it is.
    pub kind: CredentialKind,
    /// The operator.
    pub operator: &'a str,
    /// The operator's person.
    pub person: &'a str,
    /// The person's subject; none for an operator who does not sign in.
    pub subject: Option<&'a str>,
    /// What it is for, in its maker's words.
    pub label: &'a str,
    /// Its roles; none for all that the operator has.
    pub roles: Option<Vec<String>>,
    /// When it ends.
    pub expires: Timestamp,
}

/// Why no credential was made.
#[derive(Debug, thiserror::Error)]
pub enum NotMade {
    /// The operator has as many tokens as one may have.
    #[error("the operator has {TOKENS_MAX} personal tokens; end one of them first")]
    TooMany,
    /// The personal token that was shown has ended meanwhile.
    #[error("the personal token has ended")]
    TokenEnded,
    /// The store could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A new credential, with its secret, which is nowhere else.
pub type Made = (Arc<Credential>, String);

/// What a session was given for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenFor {
    /// A sign-in with the provider.
    SignIn,
    /// A token in a file.
    FileToken,
    /// The personal token of this public name.
    PersonalToken(Arc<str>),
}

/// A credential that has not ended.
#[derive(Clone)]
struct Held {
    credential: Arc<Credential>,
    /// For a session, what it was given for.
    given_for: GivenFor,
}

impl Held {
    /// Whether the store has it.
    fn is_stored(&self) -> bool {
        self.given_for == GivenFor::SignIn
    }
}

/// All sessions and personal tokens.
pub struct Credentials {
    store: Arc<dyn HostStore>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// By the hash of the secret.
    live: RwLock<BTreeMap<[u8; 32], Held>>,
    /// Held while one is made, so that the bounds hold.
    making: Mutex<()>,
}

impl Credentials {
    /// Read the store. The expired ones are removed.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn open(
        store: Arc<dyn HostStore>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, StoreError> {
        let kept = store.credentials()?.into_iter();
        let held = |credential| Held {
            credential: Arc::new(credential),
            given_for: GivenFor::SignIn,
        };
        let live = kept.map(|credential| (credential.hash, held(credential)));
        let credentials = Self {
            live: RwLock::new(live.collect()),
            store,
            clock,
            entropy,
            making: Mutex::default(),
        };
        credentials.remove_expired()?;
        Ok(credentials)
    }

    /// The session with this secret.
    #[must_use]
    pub fn session(&self, secret: &str) -> Option<Arc<Credential>> {
        self.find(secret, CredentialKind::Session)
    }

    /// The personal token.
    #[must_use]
    pub fn token(&self, secret: &str) -> Option<Arc<Credential>> {
        self.find(secret.strip_prefix(TOKEN_PREFIX)?, CredentialKind::Token)
    }

    /// Who knows a hash cannot make a secret of it. So it does no harm that the search depends on the hash.
    fn find(&self, secret: &str, kind: CredentialKind) -> Option<Arc<Credential>> {
        let hash = hash(kind, secret);
        let found = self.live.read().get(&hash)?.credential.clone();
        let holds = same_secret(&found.hash, &hash)
            && found.kind == kind
            && self.clock.now() < found.expires;
        holds.then_some(found)
    }

    /// All that have not expired, the oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Credential>> {
        let now = self.clock.now();
        let live = self.live.read();
        let mut all: Vec<_> = live
            .values()
            .map(|held| held.credential.clone())
            .filter(|one| now < one.expires)
            .collect();
        all.sort_by(|a, b| (a.made, &a.id).cmp(&(b.made, &b.id)));
        all
    }

    /// The one with this public name.
    #[must_use]
    pub fn named(&self, id: &str) -> Option<Arc<Credential>> {
        self.all().into_iter().find(|one| one.id == id)
    }

    /// Make one. Returns it with its secret, which is nowhere else.
    ///
    /// # Errors
    /// When the operator has too many, or the store cannot be written. Then there is none.
    pub fn make(&self, wanted: &Wanted<'_>) -> Result<Made, NotMade> {
        self.make_for(wanted, GivenFor::SignIn)
    }

    /// The same for a session that is given for something else than a sign-in: the store does not have it.
    ///
    /// # Errors
    /// As [`Self::make`], and when the personal token has ended.
    pub fn make_for(&self, wanted: &Wanted<'_>, given_for: GivenFor) -> Result<Made, NotMade> {
        let _one = self.making.lock();
        self.remove_expired()?;
        self.make_room(wanted)?;
        let secret = self.random(SECRET_BYTES);
        let credential = Arc::new(Credential {
            id: self.random(ID_BYTES),
            hash: hash(wanted.kind, &secret),
            kind: wanted.kind,
            operator: wanted.operator.to_owned(),
            person: wanted.person.to_owned(),
            subject: wanted.subject.map(str::to_owned),
            label: wanted.label.to_owned(),
            roles: wanted.roles.clone(),
            made: self.clock.now(),
            expires: wanted.expires,
        });
        let held = Held {
            credential: credential.clone(),
            given_for,
        };
        if held.is_stored() {
            self.store.add_credential(&credential)?;
        }
        let mut live = self.live.write();
        if let GivenFor::PersonalToken(id) = &held.given_for
            && !live.values().any(|held| *held.credential.id == **id)
        {
            return Err(NotMade::TokenEnded);
        }
        live.insert(credential.hash, held);
        drop(live);
        let shown = match wanted.kind {
            CredentialKind::Session => secret,
            CredentialKind::Token => format!("{TOKEN_PREFIX}{secret}"),
        };
        Ok((credential, shown))
    }

    fn make_room(&self, wanted: &Wanted<'_>) -> Result<(), NotMade> {
        let mut same = self.all();
        same.retain(|one| one.kind == wanted.kind && one.operator == wanted.operator);
        match wanted.kind {
            CredentialKind::Token if same.len() >= TOKENS_MAX => Err(NotMade::TooMany),
            CredentialKind::Token => Ok(()),
            CredentialKind::Session => {
                let beyond = (same.len() + 1).saturating_sub(SESSIONS_MAX);
                let mut oldest = same.iter().take(beyond);
                Ok(oldest.try_for_each(|one| self.end(one))?)
            }
        }
    }

    /// End one, and the sessions that were given for it. They are of no use from now on.
    ///
    /// # Errors
    /// When the store cannot be written: then it is back after a restart.
    pub fn end(&self, credential: &Credential) -> Result<(), StoreError> {
        let mut live = self.live.write();
        let ended = live.remove(&credential.hash);
        live.retain(|_, held| match &held.given_for {
            GivenFor::PersonalToken(id) => **id != *credential.id,
            GivenFor::SignIn | GivenFor::FileToken => true,
        });
        drop(live);
        if ended.is_some_and(|held| !held.is_stored()) {
            return Ok(());
        }
        self.store.remove_credential(&credential.id)
    }

    /// What a session was given for; none if it has ended.
    #[must_use]
    pub fn given_for(&self, session: &Credential) -> Option<GivenFor> {
        let live = self.live.read();
        live.get(&session.hash).map(|held| held.given_for.clone())
    }

    /// Remove the expired ones, which are of no use already.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn remove_expired(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let live = self.live.read();
        let over: Vec<_> = live
            .values()
            .map(|held| held.credential.clone())
            .filter(|one| one.expires <= now)
            .collect();
        drop(live);
        over.iter().try_for_each(|one| self.end(one))
    }

    /// Fill with random bytes.
    pub fn fill(&self, bytes: &mut [u8]) {
        self.entropy.fill(bytes);
    }

    fn random(&self, length: usize) -> String {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The hash of a secret. That of a session is never that of a token.
fn hash(kind: CredentialKind, secret: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(kind.word());
    hasher.update(b" ");
    hasher.update(secret);
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::sync::atomic::{AtomicU64, Ordering};

    use rialto_engine::time::SystemEntropy;
    use tempfile::TempDir;

    use rialto_store_sqlite::SqliteStore;

    use super::*;

    #[derive(Default)]
    struct TestClock(AtomicU64);

    impl Clock for TestClock {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::Relaxed))
        }

        fn monotonic_us(&self) -> u64 {
            self.0.load(Ordering::Relaxed) * 1000
        }
    }

    struct Scene {
        folder: TempDir,
        clock: Arc<TestClock>,
        credentials: Credentials,
    }

    impl Scene {
        fn new() -> Self {
            let folder = rialto_files::temporary_folder().unwrap();
            let clock = Arc::new(TestClock::default());
            let credentials = opened(&folder, &clock);
            Self {
                folder,
                clock,
                credentials,
            }
        }

        fn restarted(self) -> Self {
            drop(self.credentials);
            let credentials = opened(&self.folder, &self.clock);
            Self {
                credentials,
                ..self
            }
        }

        fn make(&self, kind: CredentialKind, operator: &str, expires: u64) -> (String, String) {
            let wanted = Wanted {
                kind,
                operator,
                person: operator,
                subject: Some("7"),
                label: "a label",
                roles: None,
                expires: Timestamp(expires),
            };
            self.clock.0.fetch_add(1, Ordering::Relaxed);
            let (made, secret) = self.credentials.make(&wanted).unwrap();
            (made.id.clone(), secret)
        }
    }

    fn opened(folder: &TempDir, clock: &Arc<TestClock>) -> Credentials {
        let store = SqliteStore::open(folder.path()).unwrap();
        store.recover_for_tests();
        Credentials::open(Arc::new(store), clock.clone(), Arc::new(SystemEntropy)).unwrap()
    }

    trait Recovered {
        fn recover_for_tests(&self);
    }

    impl Recovered for SqliteStore {
        fn recover_for_tests(&self) {
            use rialto_engine::store::Store as _;
            self.recover().unwrap();
        }
    }

    #[test]
    fn credentials_survive_a_restart_and_end_at_once() {
        let scene = Scene::new();
        let (id, token) = scene.make(CredentialKind::Token, "anna", 1_000);
        let (_, session) = scene.make(CredentialKind::Session, "anna", 1_000);
        assert!(token.starts_with(TOKEN_PREFIX) && token.len() == TOKEN_PREFIX.len() + 64);
        let scene = scene.restarted();
        let credentials = &scene.credentials;
        assert_eq!(credentials.token(&token).unwrap().id, id);
        assert_eq!(credentials.session(&session).unwrap().operator, "anna");
        credentials.end(&credentials.named(&id).unwrap()).unwrap();
        assert_eq!(credentials.token(&token), None);
        let scene = scene.restarted();
        assert_eq!(scene.credentials.token(&token), None);
        assert!(scene.credentials.session(&session).is_some());
    }

    #[test]
    fn neither_kind_stands_for_the_other() {
        let scene = Scene::new();
        let (_, token) = scene.make(CredentialKind::Token, "anna", 1_000);
        let (_, session) = scene.make(CredentialKind::Session, "anna", 1_000);
        let bare = token.trim_start_matches(TOKEN_PREFIX);
        let credentials = &scene.credentials;
        assert_eq!(credentials.session(&token), None);
        assert_eq!(credentials.session(bare), None);
        assert_eq!(credentials.token(bare), None);
        let dressed = format!("{TOKEN_PREFIX}{session}");
        assert_eq!(credentials.token(&dressed), None);
        for wrong in ["", TOKEN_PREFIX, &token[..token.len() - 1]] {
            assert_eq!(credentials.token(wrong), None);
            assert_eq!(credentials.session(wrong), None);
        }
    }

    #[test]
    fn expired_credentials_are_of_no_use_and_removed() {
        let scene = Scene::new();
        let (_, token) = scene.make(CredentialKind::Token, "anna", 500);
        scene.clock.0.store(499, Ordering::Relaxed);
        assert!(scene.credentials.token(&token).is_some());
        scene.clock.0.store(500, Ordering::Relaxed);
        assert_eq!(scene.credentials.token(&token), None);
        assert_eq!(scene.credentials.all(), []);
        assert_eq!(scene.credentials.store.credentials().unwrap().len(), 1);
        scene.credentials.remove_expired().unwrap();
        assert_eq!(scene.credentials.store.credentials().unwrap(), []);
    }

    #[test]
    fn session_for_a_token_ends_with_it_and_with_the_host() {
        let scene = Scene::new();
        let (id, _) = scene.make(CredentialKind::Token, "anna", 1_000);
        let give = |given_for| {
            let wanted = Wanted {
                kind: CredentialKind::Session,
                operator: "anna",
                person: "anna",
                subject: None,
                label: "",
                roles: None,
                expires: Timestamp(900),
            };
            scene.credentials.make_for(&wanted, given_for)
        };
        let of_token = || GivenFor::PersonalToken(id.as_str().into());
        let (session, secret) = give(of_token()).unwrap();
        let (_, of_file) = give(GivenFor::FileToken).unwrap();
        let credentials = &scene.credentials;
        assert_eq!(credentials.given_for(&session), Some(of_token()));
        assert!(credentials.session(&secret).is_some());
        assert_eq!(credentials.store.credentials().unwrap().len(), 1);
        credentials.end(&credentials.named(&id).unwrap()).unwrap();
        assert_eq!(credentials.session(&secret), None);
        assert!(matches!(give(of_token()), Err(NotMade::TokenEnded)));
        assert!(credentials.session(&of_file).is_some());
        let scene = scene.restarted();
        assert_eq!(scene.credentials.session(&of_file), None);
    }

    #[test]
    fn bounds_are_of_each_operator() {
        let scene = Scene::new();
        let sessions: Vec<_> = (0..=SESSIONS_MAX)
            .map(|_| scene.make(CredentialKind::Session, "anna", 9_000).1)
            .collect();
        let credentials = &scene.credentials;
        assert_eq!(credentials.session(&sessions[0]), None, "the oldest ends");
        assert!(
            sessions[1..]
                .iter()
                .all(|one| credentials.session(one).is_some())
        );
        for _ in 0..TOKENS_MAX {
            scene.make(CredentialKind::Token, "anna", 9_000);
        }
        scene.make(CredentialKind::Token, "ben", 9_000);
        let wanted = Wanted {
            kind: CredentialKind::Token,
            operator: "anna",
            person: "anna",
            subject: None,
            label: "",
            roles: None,
            expires: Timestamp(9_000),
        };
        let refused = credentials.make(&wanted).unwrap_err();
        assert!(matches!(refused, NotMade::TooMany), "{refused}");
    }
}
