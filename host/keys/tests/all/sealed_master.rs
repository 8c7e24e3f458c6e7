//! A master key that a provider encrypts: made once, opened by that provider's key alone, and of no use when it was changed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rialto_keys::{
    Algorithm, Attributes, HOST, Key, KeyError, Keys, Made, MasterError, MasterKeys, MasterSource,
    Provider, SealedBy, Software, Unwrapping,
};
use tempfile::TempDir;

use crate::support::{NOW, attributes};

/// A token: its keys are inside, and what is outside is their number.
#[derive(Default)]
struct Token {
    keys: Mutex<Vec<Option<Made>>>,
    is_away: Mutex<bool>,
}

impl Token {
    fn answers(&self) -> Result<(), KeyError> {
        if *self.is_away.lock() {
            return Err(KeyError::ProviderAway("it was taken out".to_owned()));
        }
        Ok(())
    }

    fn number(material: &[u8]) -> usize {
        String::from_utf8_lossy(material)
            .parse()
            .unwrap_or(usize::MAX)
    }
}

impl Provider for Token {
    fn kind(&self) -> &'static str {
        "token"
    }

    fn algorithms(&self) -> Vec<Algorithm> {
        Algorithm::ALL.to_vec()
    }

    fn generate(&self, attributes: &Attributes) -> Result<Made, KeyError> {
        self.answers()?;
        let mut keys = self.keys.lock();
        keys.push(Some(Software.generate(attributes)?));
        Ok(Made {
            material: (keys.len() - 1).to_string().into_bytes().into(),
            public_key: None,
        })
    }

    fn load(&self, _: &Attributes, _: Unwrapping<'_>, _: &[u8]) -> Result<Made, KeyError> {
        Err(KeyError::WrongPurpose)
    }

    fn open(&self, attributes: &Attributes, material: &[u8]) -> Result<Box<dyn Key>, KeyError> {
        self.answers()?;
        let keys = self.keys.lock();
        let key = keys.get(Self::number(material)).and_then(Option::as_ref);
        let key = key.ok_or(KeyError::NoKey("the token does not have it"))?;
        Software.open(attributes, &key.material)
    }

    fn destroy(&self, material: &[u8]) -> Result<(), KeyError> {
        if let Some(key) = self.keys.lock().get_mut(Self::number(material)) {
            *key = None;
        }
        Ok(())
    }
}

struct Scene {
    _folder: TempDir,
    path: PathBuf,
    token: Arc<Token>,
}

impl Scene {
    fn new() -> Self {
        let folder = rialto_files::temporary_folder().unwrap();
        Self {
            path: folder.path().join("master.sealed"),
            _folder: folder,
            token: Arc::default(),
        }
    }

    fn sources(&self) -> [MasterSource; 1] {
        let token: Arc<dyn Provider> = self.token.clone();
        [MasterSource::Sealed(self.path.clone(), SealedBy(token))]
    }

    fn keys(&self) -> Result<Keys, MasterError> {
        let masters = MasterKeys::read(&self.sources())?;
        let software: Arc<dyn Provider> = Arc::new(Software);
        Ok(Keys::new(
            masters,
            [("software".to_owned(), software)].into(),
        ))
    }
}

fn refusal(keys: Result<Keys, MasterError>) -> String {
    keys.err().unwrap().to_string()
}

fn changed(path: &Path, before: &str, after: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(before), "{text}");
    std::fs::write(path, text.replace(before, after)).unwrap();
}

#[test]
fn sealed_keys_need_the_provider_that_encrypts_the_master_key() {
    let scene = Scene::new();
    let missing = MasterKeys::read_only(&scene.sources()).unwrap_err();
    assert!(
        matches!(missing, MasterError::Unreadable { .. }),
        "{missing}"
    );
    let keys = scene.keys().unwrap();
    let mode = std::fs::metadata(&scene.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let wanted = attributes(Algorithm::Es256);
    let made = keys.generate(HOST, "software", &wanted).unwrap();
    // At the next start it is the same master key.
    let again = scene.keys().unwrap();
    again.sign(HOST, &made.reference, NOW, b"message").unwrap();
    assert_eq!(scene.token.keys.lock().len(), 1);
    // Without its token it opens nothing.
    *scene.token.is_away.lock() = true;
    let told = refusal(scene.keys());
    assert!(told.contains("it was taken out"), "{told}");
    *scene.token.is_away.lock() = false;
    scene.token.destroy(b"0").unwrap();
    let told = refusal(scene.keys());
    assert!(told.contains("the token does not have it"), "{told}");
}

#[test]
fn a_changed_file_is_refused() {
    let scene = Scene::new();
    scene.keys().unwrap();
    let whole = std::fs::read_to_string(&scene.path).unwrap();
    let value: serde_json::Value = serde_json::from_str(&whole).unwrap();
    let master = value["master"].as_str().unwrap();
    let other = master.replacen(&master[..4], "AAAA", 1);
    for (before, after) in [
        (master, &*other),
        ("\"form\":1", "\"form\":2"),
        ("{", "{\"more\":1,"),
        ("MA==", "MQ=="),
        ("MA==", "%%"),
    ] {
        changed(&scene.path, before, after);
        refusal(scene.keys());
        std::fs::write(&scene.path, &whole).unwrap();
    }
    // Another token's key.
    let (first, second) = (Scene::new(), Scene::new());
    first.keys().unwrap();
    second.keys().unwrap();
    std::fs::copy(&first.path, &second.path).unwrap();
    let told = refusal(second.keys());
    assert!(told.contains("cannot be opened with this key"), "{told}");
    scene.keys().unwrap();
    std::fs::set_permissions(&scene.path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(scene.keys(), Err(MasterError::File(_))));
}

#[test]
fn nothing_stays_at_a_provider_when_the_file_cannot_be_written() {
    let scene = Scene::new();
    std::fs::remove_dir_all(scene.path.parent().unwrap()).unwrap();
    std::fs::write(scene.path.parent().unwrap(), "no folder").unwrap();
    scene.keys().err().unwrap();
    let left = scene.token.keys.lock();
    assert!(left.iter().all(Option::is_none));
}
