//! A witness that is a real server, and logs that are and are not those that it has signed.

use std::net::SocketAddr;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{post, put};
use rialto_audit::proof::is_consistent;
use rialto_audit::{Checkpoint, Cosignature, Tree};
use rialto_engine::Timestamp;
use rialto_engine::store::Store as _;
use rialto_simulator::pki::Authority;
use rialto_simulator::put_server::PutServer;
use rialto_simulator::witness::WitnessPair;
use rialto_store::AuditStore as _;
use rialto_store_sqlite::{SqliteStore, StoredTile};

use super::place::SIZE_TYPE;
use super::*;

/// What the witness has signed, and what was put to the URL.
#[derive(Default)]
struct Seen {
    signed: Option<(u64, Hash)>,
    put: Vec<String>,
}

#[derive(Clone)]
struct Server {
    pair: Arc<WitnessPair>,
    seen: Arc<Mutex<Seen>>,
    /// Nothing is answered while it is locked.
    gate: Arc<Mutex<()>>,
    runtime: Arc<tokio::runtime::Runtime>,
}

impl Server {
    fn new() -> Self {
        Self {
            pair: Arc::new(WitnessPair::new("w.example").unwrap()),
            seen: Arc::default(),
            gate: Arc::default(),
            runtime: Arc::new(tokio::runtime::Runtime::new().unwrap()),
        }
    }

    fn key(&self) -> WitnessKey {
        self.pair.public().parse().unwrap()
    }

    fn serve(&self) -> SocketAddr {
        let routes = axum::Router::new()
            .route("/add-checkpoint", post(add))
            .route("/kept/{size}", put(keep))
            .with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0");
        let listener = self.runtime.block_on(listener).unwrap();
        let address = listener.local_addr().unwrap();
        self.runtime
            .spawn(async move { axum::serve(listener, routes).await });
        address
    }
}

async fn keep(State(server): State<Server>, body: String) {
    server.seen.lock().put.push(body);
}

async fn add(State(server): State<Server>, body: String) -> Response {
    drop(server.gate.lock());
    let (head, note) = body.split_once("\n\n").unwrap();
    let mut lines = head.lines();
    let old: u64 = lines.next().unwrap()[4..].parse().unwrap();
    let proof: Vec<Hash> = lines.map(|line| Hash::of_text(line).unwrap()).collect();
    let text = &note[..note.find("\n\n").unwrap() + 1];
    let mut said = text.lines().skip(1);
    let size: u64 = said.next().unwrap().parse().unwrap();
    let new = (size, Hash::of_text(said.next().unwrap()).unwrap());
    let mut seen = server.seen.lock();
    let before = seen.signed.unwrap_or((0, Hash::empty()));
    if old != before.0 || (old == size && before != new) {
        let head = [(header::CONTENT_TYPE, SIZE_TYPE)];
        return (StatusCode::CONFLICT, head, format!("{}\n", before.0)).into_response();
    }
    if !is_consistent(before, new, &proof) {
        return StatusCode::UNPROCESSABLE_ENTITY.into_response();
    }
    seen.signed = Some(new);
    server.pair.line(text, 7).into_response()
}

/// A store with a signed log of this size, whose entries have this word.
fn log(folder: &Path, word: &str, size: u64) -> (Arc<dyn HostStore>, StoredCheckpoint) {
    let store = SqliteStore::open(folder).unwrap();
    store.recover().unwrap();
    let (mut tree, mut tiles) = (Tree::default(), Vec::new());
    for at in 0..size {
        let hash = Hash::of_entry(format!("{word} {at}").as_bytes());
        tree.append_with(hash, |id, hashes| tiles.push(tile(id, hashes)));
    }
    tiles.extend(tree.partial().map(|(id, hashes)| tile(id, hashes)));
    let checkpoint = Checkpoint {
        origin: "hub.example/audit".to_owned(),
        size,
        root: tree.root(),
    };
    let text = checkpoint.unsigned().unwrap();
    let text = str::from_utf8(text.message()).unwrap();
    let stored = StoredCheckpoint {
        size,
        at: Timestamp(1),
        // Nobody here verifies the log's own signature.
        note: format!("{text}\n\u{2014} hub.example/audit AAAAAAAA\n"),
    };
    store.add_audit_checkpoint(&stored, &tiles, None).unwrap();
    (Arc::new(store), stored)
}

fn tile(id: rialto_audit::TileId, hashes: &[Hash]) -> StoredTile {
    StoredTile {
        level: id.level,
        index: id.index,
        hashes: tree::bytes_of(hashes),
    }
}

/// What leaves a log of this size, to the server at this address.
fn leaving(
    (folder, address): (&Path, SocketAddr),
    key: &WitnessKey,
    store: Arc<dyn HostStore>,
) -> Leaving {
    let url = |path: &str| format!("http://{address}{path}").parse().unwrap();
    let place = |path: &str| Place::new(&url(path), None).unwrap();
    Leaving {
        store,
        witnesses: vec![Witness {
            key: key.clone(),
            place: place(""),
            size: 0,
        }],
        url: Some(place("/kept")),
        folder: Some(folder.join("elsewhere")),
        cosigned: folder.join(COSIGNED),
        outside: Arc::default(),
    }
}

#[test]
fn witness_signs_a_log_that_goes_on() {
    let (server, folder) = (Server::new(), tempfile::tempdir().unwrap());
    let address = server.serve();
    for size in [3, 300] {
        let state = folder.path().join(size.to_string());
        let (store, checkpoint) = log(&state, "entry", size);
        // It does not know what the witness has signed, as after a start.
        let mut leaving = leaving((folder.path(), address), &server.key(), store);
        leaving.leave(&checkpoint).unwrap();
        leaving.leave(&checkpoint).unwrap();
        assert_eq!(leaving.outside.cosigned.load(Ordering::Relaxed), size);
        let outside = folder.path().join(format!("elsewhere/{size}.cosigned"));
        for file in [folder.path().join(COSIGNED), outside] {
            let note = std::fs::read_to_string(file).unwrap();
            assert!(note.starts_with(&checkpoint.note), "{note}");
            assert_eq!(server.key().cosignature(&note), Cosignature::At(7));
        }
        assert_eq!(server.seen.lock().put.last(), Some(&checkpoint.note));
    }
}

#[test]
fn log_that_a_witness_knows_otherwise_is_not_signed() {
    let (server, folder) = (Server::new(), tempfile::tempdir().unwrap());
    let address = server.serve();
    let place = (folder.path(), address);
    let (store, checkpoint) = log(&folder.path().join("first"), "entry", 20);
    let mut first = leaving(place, &server.key(), store);
    first.leave(&checkpoint).unwrap();
    let others = [("entry", 10), ("other", 20), ("other", 30)];
    for (word, size) in others {
        let state = folder.path().join(format!("{word}{size}"));
        let (store, checkpoint) = log(&state, word, size);
        let mut later = leaving(place, &server.key(), store);
        later.leave(&checkpoint).unwrap_err();
        let refused = later.outside.refuse_if_other().unwrap_err().to_string();
        assert!(refused.contains("w.example has signed"), "{refused}");
    }
    assert_eq!(server.seen.lock().signed.unwrap().0, 20);
    first.leave(&checkpoint).unwrap();
    first.outside.refuse_if_other().unwrap();
}

#[test]
fn nothing_is_signed_before_the_witness_was_asked() {
    let (server, folder) = (Server::new(), tempfile::tempdir().unwrap());
    let place = (folder.path(), server.serve());
    let (store, checkpoint) = log(&folder.path().join("longer"), "entry", 20);
    let mut longer = leaving(place, &server.key(), store);
    longer.leave(&checkpoint).unwrap();
    // The end of the log was cut off while the host was down.
    let (store, _) = log(&folder.path().join("cut"), "entry", 10);
    let closed = server.gate.lock();
    let thread = LeavingThread::start(leaving(place, &server.key(), store)).unwrap();
    assert!(thread.outside.is_asking());
    drop(closed);
    while thread.outside.is_asking() {
        std::thread::yield_now();
    }
    let refused = thread.outside.refuse_if_other().unwrap_err().to_string();
    assert!(refused.contains("has signed 20 entries"), "{refused}");
    thread.stop();
}

#[test]
fn witness_that_is_away_stops_no_signing() {
    let (server, folder) = (Server::new(), tempfile::tempdir().unwrap());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (store, checkpoint) = log(&folder.path().join("state"), "entry", 5);
    let mut leaving = leaving((folder.path(), address), &server.key(), store);
    leaving.leave(&checkpoint).unwrap_err();
    leaving.outside.refuse_if_other().unwrap();
    assert!(!folder.path().join(COSIGNED).exists());
}

#[test]
fn checkpoint_goes_only_to_a_server_of_the_named_authority() {
    let (runtime, folder) = (Server::new().runtime, tempfile::tempdir().unwrap());
    let authority = Authority::new("of the archive").unwrap();
    let server = runtime.block_on(PutServer::start(&authority)).unwrap();
    let (store, checkpoint) = log(&folder.path().join("state"), "entry", 3);
    let other = Authority::new("another one").unwrap();
    for (name, named) in [("other.pem", &other), ("archive.pem", &authority)] {
        std::fs::write(folder.path().join(name), named.certificate()).unwrap();
        let wanted: AuditLog = toml::from_str(&format!(
            "origin = 'hub.example/audit'\nprovider = 'software'\nreference = 'unused'\ncheckpoints-url = 'https://127.0.0.1:{}/kept'\ncheckpoints-ca = '{name}'\n",
            server.address().port()
        ))
        .unwrap();
        let places = (folder.path(), folder.path());
        let leaving = Leaving::of(&wanted, places, &store, &Arc::default());
        let left = leaving.unwrap().unwrap().leave(&checkpoint);
        assert_eq!(left.is_ok(), name == "archive.pem", "{name}: {left:?}");
    }
    assert_eq!(server.bodies(), [checkpoint.note]);
}
