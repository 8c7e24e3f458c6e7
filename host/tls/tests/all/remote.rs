//! Private keys at a provider that is slow, away or wrong: which handshakes fail, and what goes on meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, PKCS_ECDSA_P384_SHA384,
    PublicKeyData as _, SigningKey as _,
};
use rialto_tls::remote::SIGNATURES_AT_ONCE;
use rialto_tls::{
    BadReference, BadTls, ClientCertificates, KeyReference, ListenerFiles, ListenerTls,
    OriginFiles, OutboundTls, PrivateKey, Protocol, RemoteKey, Signed,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, version};

use crate::place::{PATIENCE, Place};

/// How a provider does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Signs,
    /// It answers that it is away.
    Away,
    /// It answers when it is told to.
    Holds,
    /// Its signatures are of something else.
    SignsAnother,
    /// Its signatures are none.
    Babbles,
    /// It never answers, and knows that.
    Loses,
}

type Done = Box<dyn FnOnce(Signed) + Send>;

/// A key at a provider of moods.
struct MoodyKey {
    pair: KeyPair,
    public_key: Vec<u8>,
    mood: Mutex<Mood>,
    held: Mutex<Vec<(Vec<u8>, Done)>>,
}

impl std::fmt::Debug for MoodyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MoodyKey")
    }
}

impl MoodyKey {
    fn new(pair: KeyPair) -> Arc<Self> {
        Arc::new(Self {
            public_key: pair.subject_public_key_info(),
            pair,
            mood: Mutex::new(Mood::Signs),
            held: Mutex::default(),
        })
    }

    fn becomes(&self, mood: Mood) {
        *self.mood.lock() = mood;
    }

    fn held(&self) -> usize {
        self.held.lock().len()
    }

    async fn holds(&self, wanted: usize) {
        let latest = Instant::now() + PATIENCE;
        while self.held() < wanted {
            assert!(Instant::now() < latest, "{} of {wanted}", self.held());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Sign from now on, and what is held.
    fn release(&self) {
        self.becomes(Mood::Signs);
        for (message, done) in std::mem::take(&mut *self.held.lock()) {
            done(Ok(self.pair.sign(&message).unwrap()));
        }
    }
}

impl RemoteKey for MoodyKey {
    fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    fn sign(&self, message: Vec<u8>, done: Done) {
        let mood = *self.mood.lock();
        match mood {
            Mood::Signs => done(Ok(self.pair.sign(&message).unwrap())),
            Mood::Away => done(Err("the provider is away".to_owned())),
            Mood::Holds => self.held.lock().push((message, done)),
            Mood::SignsAnother => done(Ok(self.pair.sign(b"another message").unwrap())),
            Mood::Babbles => done(Ok(vec![0x30, 0])),
            Mood::Loses => drop(done),
        }
    }
}

/// A file with the name of a key.
#[derive(Debug)]
struct Reference {
    file: PathBuf,
    keys: Mutex<BTreeMap<String, Arc<MoodyKey>>>,
}

impl Reference {
    fn new(place: &Place, key: &Arc<MoodyKey>) -> Arc<Self> {
        place.write("hub.reference", "first", 0o600);
        Arc::new(Self {
            file: place.path().join("hub.reference"),
            keys: Mutex::new([("first".to_owned(), key.clone())].into()),
        })
    }
}

impl KeyReference for Reference {
    fn file(&self) -> &Path {
        &self.file
    }

    fn open(&self) -> Result<Arc<dyn RemoteKey>, BadReference> {
        let bad = |why: String| BadReference(why);
        let name = fs::read_to_string(&self.file).map_err(|error| bad(error.to_string()))?;
        let key = self.keys.lock().get(&name).cloned();
        Ok(key.ok_or_else(|| bad(format!("`{name}` is no key")))?)
    }
}

/// The client's connection, if it has one, and how the listener's side has ended.
type Handshake = (Option<TlsStream<DuplexStream>>, Result<(), String>);

/// A listener whose private key is at a provider.
struct Scene {
    place: Place,
    key: Arc<MoodyKey>,
    reference: Arc<Reference>,
    listener: Arc<ListenerTls>,
}

fn pair() -> KeyPair {
    KeyPair::generate().unwrap()
}

/// Have the authority of a place certify a key.
fn certify(place: &Place, file: &str, name: &str, key: &KeyPair) {
    let mut params = CertificateParams::new(vec!["hub.example".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    let certificate = params.signed_by(key, &place.authority).unwrap();
    place.write(file, &certificate.pem(), 0o644);
}

fn listener(place: &Place, reference: Arc<Reference>) -> Result<ListenerTls, BadTls> {
    let files = ListenerFiles {
        key: PrivateKey::Provider(reference),
        ..place.files()
    };
    ListenerTls::read(files, Protocol::Http1, ClientCertificates::Optional)
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        let key = MoodyKey::new(pair());
        certify(&place, "hub.pem", "hub", &key.pair);
        let reference = Reference::new(&place, &key);
        let listener = Arc::new(listener(&place, reference.clone()).unwrap());
        Self {
            place,
            key,
            reference,
            listener,
        }
    }

    /// A client that knows no session of before.
    fn client(&self, versions: &[&'static SupportedProtocolVersion]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        let ca = self.place.authority.pem();
        roots
            .add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap())
            .unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        TlsConnector::from(Arc::new(config))
    }

    /// A handshake under way. The outcomes of client and listener, whose connection echoes.
    fn connecting(&self, versions: &[&'static SupportedProtocolVersion]) -> JoinHandle<Handshake> {
        let (listener, client) = (self.listener.clone(), self.client(versions));
        tokio::spawn(async move {
            let (near, far) = tokio::io::duplex(1 << 16);
            let served = tokio::spawn(async move {
                let (stream, _) = listener.accept(near).await.map_err(|e| e.to_string())?;
                tokio::spawn(async move {
                    let (mut from, mut to) = tokio::io::split(stream);
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
                Ok(())
            });
            let name = ServerName::try_from("hub.example").unwrap();
            let client = client.connect(name, far).await;
            (client.ok(), served.await.unwrap())
        })
    }

    async fn connected(&self) -> TlsStream<DuplexStream> {
        let (client, served) = self.connecting(&[&version::TLS13]).await.unwrap();
        served.unwrap();
        client.unwrap()
    }

    /// Why the listener does not finish a handshake.
    async fn refusal(&self) -> String {
        let connecting = self.connecting(&[&version::TLS13]);
        let ended = tokio::time::timeout(PATIENCE, connecting).await.unwrap();
        let (client, served) = ended.unwrap();
        assert!(client.is_none(), "the client has a connection");
        served.unwrap_err()
    }
}

async fn echoes(stream: &mut TlsStream<DuplexStream>) {
    let echoed = async {
        stream.write_all(b"hello").await.unwrap();
        stream.flush().await.unwrap();
        let mut bytes = [0; 5];
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"hello");
    };
    tokio::time::timeout(PATIENCE, echoed).await.unwrap();
}

#[tokio::test]
async fn both_versions_of_tls_are_signed_by_the_provider() {
    let scene = Scene::new();
    for version in [&version::TLS12, &version::TLS13] {
        let (client, served) = scene.connecting(&[version]).await.unwrap();
        served.unwrap();
        let mut client = client.unwrap();
        let shown = client.get_ref().1.peer_certificates().unwrap();
        let file = fs::read(scene.place.path().join("hub.pem")).unwrap();
        assert_eq!(shown[0], CertificateDer::from_pem_slice(&file).unwrap());
        echoes(&mut client).await;
    }
}

/// With one thread, a handshake that kept it would stop everything else.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn handshakes_wait_for_a_slow_provider_and_nothing_else_does() {
    let scene = Scene::new();
    let mut open = scene.connected().await;
    scene.key.becomes(Mood::Holds);
    let waiting: Vec<_> = (0..4)
        .map(|_| scene.connecting(&[&version::TLS13]))
        .collect();
    scene.key.holds(4).await;
    echoes(&mut open).await;
    scene.key.release();
    for connecting in waiting {
        let (client, served) = connecting.await.unwrap();
        served.unwrap();
        echoes(&mut client.unwrap()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn handshakes_beyond_the_bound_fail_at_once() {
    let scene = Scene::new();
    scene.key.becomes(Mood::Holds);
    let waiting: Vec<_> = (0..SIGNATURES_AT_ONCE)
        .map(|_| scene.connecting(&[&version::TLS13]))
        .collect();
    scene.key.holds(SIGNATURES_AT_ONCE).await;
    let refusal = scene.refusal().await;
    assert!(refusal.contains("32 handshakes wait"), "{refusal}");
    assert_eq!(scene.key.held(), SIGNATURES_AT_ONCE);
    scene.key.release();
    for connecting in waiting {
        connecting.await.unwrap().1.unwrap();
    }
    scene.connected().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn late_signature_fails_its_handshake_and_counts_until_it_is_there() {
    let scene = Scene::new();
    scene.key.becomes(Mood::Holds);
    let refusal = scene.refusal().await;
    assert!(refusal.contains("no signature for 5 s"), "{refusal}");
    let waiting: Vec<_> = (1..SIGNATURES_AT_ONCE)
        .map(|_| scene.connecting(&[&version::TLS13]))
        .collect();
    scene.key.holds(SIGNATURES_AT_ONCE).await;
    let refusal = scene.refusal().await;
    assert!(refusal.contains("32 handshakes wait"), "{refusal}");
    scene.key.release();
    for connecting in waiting {
        connecting.await.unwrap().1.unwrap();
    }
    scene.connected().await;
}

#[tokio::test]
async fn provider_that_is_away_fails_new_handshakes_alone() {
    let scene = Scene::new();
    let mut open = scene.connected().await;
    for (mood, reason) in [
        (Mood::Away, "the provider is away"),
        (Mood::Loses, "has lost the signature"),
    ] {
        scene.key.becomes(mood);
        let refusal = scene.refusal().await;
        assert!(refusal.contains(reason), "{refusal}");
        echoes(&mut open).await;
    }
    scene.key.becomes(Mood::Signs);
    echoes(&mut scene.connected().await).await;
}

#[tokio::test]
async fn wrong_signature_does_not_leave() {
    let scene = Scene::new();
    for mood in [Mood::SignsAnother, Mood::Babbles] {
        scene.key.becomes(mood);
        let refusal = scene.refusal().await;
        assert!(refusal.contains("is not one of the key"), "{refusal}");
    }
    scene.key.becomes(Mood::Signs);
    scene.connected().await;
}

#[test]
fn certificate_of_another_key_is_refused() {
    let place = Place::new();
    let key = MoodyKey::new(pair());
    let reference = Reference::new(&place, &key);
    // The certificate of the place is of the key in its file.
    let refused = listener(&place, reference.clone()).err().unwrap();
    let said = refused.to_string();
    assert!(matches!(refused, BadTls::OtherKey(..)), "{said}");
    assert!(said.contains("was issued for another key"), "{said}");
    certify(&place, "hub.pem", "hub", &key.pair);
    listener(&place, reference.clone()).unwrap();
    // A key of another kind, and no reference.
    let long = MoodyKey::new(KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap());
    certify(&place, "hub.pem", "hub", &long.pair);
    reference.keys.lock().insert("long".to_owned(), long);
    for (text, reason) in [("long", "ES256"), ("nothing", "is no key")] {
        place.write("hub.reference", text, 0o600);
        let said = listener(&place, reference.clone())
            .err()
            .unwrap()
            .to_string();
        assert!(said.contains(reason), "{said}");
        assert!(said.contains("hub.reference"), "{said}");
    }
}

#[tokio::test]
async fn renewed_key_is_used_when_its_certificate_is_there() {
    let scene = Scene::new();
    let second = MoodyKey::new(pair());
    let keys = &scene.reference.keys;
    keys.lock().insert("second".to_owned(), second.clone());
    scene.place.write("hub.reference", "second", 0o600);
    assert!(
        scene.listener.read_again().is_err(),
        "the certificate is missing"
    );
    // The first key is still the one that signs.
    second.becomes(Mood::Away);
    let mut open = scene.connected().await;
    certify(&scene.place, "hub.pem", "renewed", &second.pair);
    scene.listener.read_again().unwrap();
    echoes(&mut open).await;
    let refusal = scene.refusal().await;
    assert!(refusal.contains("the provider is away"), "{refusal}");
    second.becomes(Mood::Signs);
    scene.connected().await;
}

#[tokio::test]
async fn outbound_certificate_is_signed_by_the_provider() {
    let scene = Scene::new();
    let key = MoodyKey::new(pair());
    certify(&scene.place, "own.pem", "hub", &key.pair);
    let file = |name: &str| scene.place.path().join(name);
    let outbound = |key: &Arc<MoodyKey>| {
        let reference = Arc::new(Reference {
            file: file("hub.reference"),
            keys: Mutex::new([("first".to_owned(), key.clone())].into()),
        });
        let usual = OriginFiles {
            ca: Some(file("ca.pem")),
            identity: Some((file("own.pem"), PrivateKey::Provider(reference))),
        };
        OutboundTls::read(usual, Vec::new())
    };
    let tls = outbound(&key).unwrap();
    let connect = async || {
        let connector = TlsConnector::from(tls.config("hub.example", 443).unwrap());
        let (near, far) = tokio::io::duplex(1 << 16);
        let name = ServerName::try_from("hub.example").unwrap();
        tokio::join!(connector.connect(name, far), scene.listener.accept(near))
    };
    key.becomes(Mood::Away);
    let (client, served) = connect().await;
    let said = client.err().unwrap().to_string();
    assert!(said.contains("the provider is away"), "{said}");
    assert!(served.is_err());
    key.becomes(Mood::Signs);
    let (client, served) = connect().await;
    client.unwrap();
    let certificate = served.unwrap().1.unwrap();
    assert_eq!(&*certificate.identity().unwrap().name, "hub");
    let other = outbound(&MoodyKey::new(pair())).err().unwrap();
    assert!(matches!(other, BadTls::OtherKey(..)), "{other}");
}
