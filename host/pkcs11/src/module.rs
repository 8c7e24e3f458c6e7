//! Modules that this process has loaded. A module is initialized once in a process. It is finalized when the last of
//! its tokens is closed, and only if no thread is inside a call of it.
//!
//! Nothing bounds the time of a module's own code. So it is loaded and finalized on a thread of its own, and whoever
//! waits for that gives up at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use parking_lot::{Condvar, Mutex};

use crate::configuration::OpenError;

static MODULES: Mutex<BTreeMap<PathBuf, State>> = Mutex::new(BTreeMap::new());
/// Notified when a module is loaded, or cannot be.
static LOADED: Condvar = Condvar::new();

enum State {
    /// A thread loads it.
    Loading,
    Loaded(Loaded),
    /// It cannot be loaded, for this reason. Whoever waits for it takes the reason away.
    Failed(String),
}

struct Loaded {
    module: Pkcs11,
    /// Tokens that may be inside a call of it.
    users: usize,
    /// Whether it is initialized, by this host. Nobody else's module is finalized.
    is_ours: bool,
}

/// A module, for one token.
pub(crate) struct Module {
    file: PathBuf,
    pub(crate) context: Pkcs11,
}

/// Load the module of a library, within this time.
pub(crate) fn load(path: &Path, timeout: Duration) -> Result<Module, OpenError> {
    let failed = |why: String| OpenError::Module {
        path: path.to_owned(),
        why,
    };
    // Two paths of one file are one module.
    let file = path.canonicalize().map_err(|why| failed(why.to_string()))?;
    let deadline = Instant::now() + timeout;
    let mut modules = MODULES.lock();
    loop {
        match modules.get_mut(&file) {
            None => {
                start(file.clone()).map_err(OpenError::Thread)?;
                modules.insert(file.clone(), State::Loading);
            }
            Some(State::Loading) => {
                if LOADED.wait_until(&mut modules, deadline).timed_out() {
                    return Err(OpenError::SlowModule {
                        path: path.to_owned(),
                        timeout,
                    });
                }
            }
            Some(State::Failed(why)) => {
                let why = std::mem::take(why);
                modules.remove(&file);
                return Err(failed(why));
            }
            Some(State::Loaded(loaded)) => {
                loaded.users += 1;
                let context = loaded.module.clone();
                return Ok(Module { file, context });
            }
        }
    }
}

/// Load a module on a thread of its own.
fn start(file: PathBuf) -> std::io::Result<()> {
    let thread = std::thread::Builder::new().name("pkcs11-load".to_owned());
    thread.spawn(move || {
        let state = match initialized(&file) {
            Ok(loaded) => State::Loaded(loaded),
            Err(why) => State::Failed(why),
        };
        MODULES.lock().insert(file, state);
        LOADED.notify_all();
    })?;
    Ok(())
}

fn initialized(file: &Path) -> Result<Loaded, String> {
    let module = Pkcs11::new(file).map_err(|why| why.to_string())?;
    let is_ours = initialize(&module)?;
    Ok(Loaded {
        module,
        users: 0,
        is_ours,
    })
}

/// Whether this host has done it, and nobody before.
fn initialize(module: &Pkcs11) -> Result<bool, String> {
    match module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
        Ok(()) => Ok(true),
        Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => Ok(false),
        Err(Error::Pkcs11(code, _)) => Err(format!("C_Initialize says {code:?}")),
        Err(other) => Err(other.to_string()),
    }
}

impl Module {
    /// Note that no thread of this token is inside a call any more. If that holds for all tokens of the module, it is
    /// finalized, until this instant.
    ///
    /// # Errors
    /// When the module refuses, or is inside `C_Finalize` at that instant.
    pub(crate) fn close(&self, deadline: Instant) -> Result<(), String> {
        let mut modules = MODULES.lock();
        let Some(State::Loaded(loaded)) = modules.get_mut(&self.file) else {
            return Ok(());
        };
        loaded.users = loaded.users.saturating_sub(1);
        if loaded.users > 0 || !loaded.is_ours {
            return Ok(());
        }
        let Some(State::Loaded(Loaded { module, .. })) = modules.remove(&self.file) else {
            return Ok(());
        };
        drop(modules);
        let (ended, end) = channel();
        let thread = std::thread::Builder::new().name("pkcs11-finalize".to_owned());
        let started = thread.spawn(move || {
            let _nobody_waits = ended.send(module.finalize());
        });
        started.map_err(|error| format!("no thread could be started for C_Finalize: {error}"))?;
        let patience = deadline.saturating_duration_since(Instant::now());
        match end.recv_timeout(patience) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("C_Finalize failed: {error}")),
            Err(_) => Err("C_Finalize has not returned".to_owned()),
        }
    }
}
