//! Modules that this process has loaded. A module is initialized once in a process and never finalized, because
//! threads may be inside a call of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use parking_lot::Mutex;

use crate::configuration::OpenError;

static LOADED: Mutex<BTreeMap<PathBuf, Pkcs11>> = Mutex::new(BTreeMap::new());

/// The module of this library.
pub(crate) fn load(path: &Path) -> Result<Pkcs11, OpenError> {
    let failed = |why: String| OpenError::Module {
        path: path.to_owned(),
        why,
    };
    // Two paths of one file are one module.
    let file = path.canonicalize().map_err(|why| failed(why.to_string()))?;
    let mut loaded = LOADED.lock();
    if let Some(module) = loaded.get(&file) {
        return Ok(module.clone());
    }
    let module = Pkcs11::new(&file).map_err(|why| failed(why.to_string()))?;
    match module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
        Ok(()) | Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => (),
        Err(Error::Pkcs11(code, _)) => return Err(failed(format!("C_Initialize says {code:?}"))),
        Err(other) => return Err(failed(other.to_string())),
    }
    loaded.insert(file, module.clone());
    Ok(module)
}
