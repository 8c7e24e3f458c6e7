//! An exported log is verified without the host: by the command, and by programs of others that know the public formats
//! alone.

use std::path::PathBuf;

use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;
use tlog_tiles::{Error, TileHashReader, TileReader, check_record, prove_record, record_hash};

use super::*;

/// A log in a folder.
struct Exported {
    _place: TempDir,
    folder: PathBuf,
    key: PathBuf,
    size: u64,
}

impl Exported {
    async fn of(scene: &Scene) -> Self {
        let payment = scene.world.pay("1", "USD").await;
        committed(&payment).unwrap();
        let about = format!("transfer:{}", payment.transfer_id);
        scene.about(&about, 2).await;
        scene.signed().await;
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("log");
        let exported = scene.audit(&["export", folder.to_str().unwrap()]);
        assert_eq!(exported.code, 0, "{exported}");
        // Not over an export of before.
        assert_ne!(scene.audit(&["export", folder.to_str().unwrap()]).code, 0);
        let checkpoint = fs::read_to_string(folder.join("checkpoint")).unwrap();
        Self {
            _place: place,
            size: checkpoint.lines().nth(1).unwrap().parse().unwrap(),
            key: scene.folder().join("secrets/audit.reference.pem"),
            folder,
        }
    }

    fn verify(&self) -> CliOutput {
        let folder = self.folder.to_str().unwrap();
        let key = self.key.to_str().unwrap();
        audit(&["verify", "--log", folder, "--key", key], &[])
    }

    fn bundle(&self) -> PathBuf {
        assert!(self.size < 256, "there is one bundle");
        self.folder
            .join(format!("tile/entries/000.p/{}", self.size))
    }

    /// The entries, each behind its length in two octets.
    fn entries(&self) -> Vec<Vec<u8>> {
        let bytes = fs::read(self.bundle()).unwrap();
        let mut rest = bytes.as_slice();
        let mut entries = Vec::new();
        while let Some((length, more)) = rest.split_first_chunk::<2>() {
            let (entry, more) = more.split_at(usize::from(u16::from_be_bytes(*length)));
            entries.push(entry.to_vec());
            rest = more;
        }
        entries
    }

    fn write(&self, entries: &[Vec<u8>]) {
        let mut bytes = Vec::new();
        for entry in entries {
            bytes.extend(u16::try_from(entry.len()).unwrap().to_be_bytes());
            bytes.extend(entry);
        }
        fs::write(self.bundle(), bytes).unwrap();
    }
}

impl TileReader for Exported {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[tlog_tiles::Tile]) -> Result<Vec<Vec<u8>>, Error> {
        let read = |tile: &tlog_tiles::Tile| {
            // Its paths name the height, as the format's predecessor did.
            let path = tile.path().replacen("tile/8/", "tile/", 1);
            fs::read(self.folder.join(path)).unwrap()
        };
        Ok(tiles.iter().map(read).collect())
    }

    fn save_tiles(&self, _: &[tlog_tiles::Tile], _: &[Vec<u8>]) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn exported_log_is_verified_without_the_host() {
    let scene = Scene::start().await;
    let log = Exported::of(&scene).await;
    let output = log.verify();
    assert_eq!(output.code, 0, "{output}");
    assert!(output.stdout.contains("0 of them behind"), "{output}");
    let whole = log.entries();
    assert_eq!(whole.len() as u64, log.size);
    let mut changed = whole.clone();
    changed[0][10] ^= 1;
    let mut removed = whole.clone();
    removed.remove(3);
    let mut swapped = whole.clone();
    swapped.swap(4, 5);
    for (entries, found) in [
        (changed, "entry 0 was changed"),
        (removed, "entry 3"),
        (swapped, "entry 4"),
    ] {
        log.write(&entries);
        let output = log.verify();
        assert_eq!(output.code, 1, "{output}");
        assert!(output.stdout.contains(found), "{found}: {output}");
    }
    log.write(&whole);
    assert_eq!(log.verify().code, 0);
    let folder = log.folder.to_str().unwrap();
    let other = audit(&["verify", "--log", folder], &[]);
    assert!(other.said().contains("--key"), "{other}");
}

/// Another implementation of the formats proves each entry, and OpenSSL the signature.
#[tokio::test(flavor = "multi_thread")]
async fn programs_of_others_verify_what_a_host_has_exported() {
    let scene = Scene::start().await;
    let log = Exported::of(&scene).await;
    let note = fs::read_to_string(log.folder.join("checkpoint")).unwrap();
    let (text, signatures) = note.split_once("\n\n").unwrap();
    let text = format!("{text}\n");
    let checkpoint = tlog_tiles::Checkpoint::from_bytes(text.as_bytes()).unwrap();
    assert_eq!(checkpoint.origin(), "hub.example/audit");
    assert_eq!(checkpoint.size(), log.size);
    let (size, root) = (checkpoint.size(), *checkpoint.hash());
    let entries = log.entries();
    let reader = TileHashReader::new(size, root, &log);
    for (at, entry) in (0..).zip(&entries) {
        let proof = prove_record(size, at, &reader).unwrap();
        check_record(&proof, size, root, at, record_hash(entry)).unwrap();
        let other = record_hash(b"another");
        assert!(check_record(&proof, size, root, at, other).is_err());
    }
    let said = String::from_utf8(entries.concat()).unwrap();
    assert!(said.contains("transfer.committed"), "{said}");

    let place = tempfile::tempdir().unwrap();
    let line = signatures.lines().next().unwrap();
    let signature = STANDARD.decode(line.rsplit(' ').next().unwrap()).unwrap();
    // Four octets say whose it is.
    fs::write(place.path().join("signature"), &signature[4..]).unwrap();
    fs::write(place.path().join("text"), &text).unwrap();
    let key = log.key.to_str().unwrap();
    let verify = [
        "dgst",
        "-sha256",
        "-verify",
        key,
        "-signature",
        "signature",
        "text",
    ];
    let told = openssl(place.path(), &verify);
    assert_eq!(told, "Verified OK\n");
}
