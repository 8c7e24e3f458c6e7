//! What is done to the host while payments are accounted for: its first rule is swapped, it is killed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context as _;
use parking_lot::Mutex;
use rialto_manifest::{ComponentKind, Manifest};

use super::super::stage::{Running, start};

/// How often what happened.
#[derive(Default)]
pub(super) struct Happened {
    pub swaps: AtomicU64,
    pub kills: AtomicU64,
}

/// A host on the store that may be there already.
pub(super) fn serve(scheme: &Path, state: &Path) -> anyhow::Result<Running> {
    start(
        Command::new(std::env::current_exe()?)
            .arg("serve")
            .arg(scheme)
            .arg("--state")
            .arg(state),
    )
}

/// Something that is done to the host again and again, until it is told to end.
pub(super) struct Trouble {
    end: mpsc::Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Trouble {
    fn every(seconds: u64, mut what: impl FnMut() -> anyhow::Result<()> + Send + 'static) -> Self {
        let (end, ended) = mpsc::channel();
        let thread = thread::spawn(move || {
            let pause = Duration::from_secs(seconds);
            while let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(pause) {
                what()?;
            }
            Ok(())
        });
        Self { end, thread }
    }

    /// Have it end; what went wrong with it is told now.
    pub fn end(self) -> anyhow::Result<()> {
        // It may have ended by itself, with the reason.
        let _ = self.end.send(());
        match self.thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Put one and the other of two files with the same component behind the scheme's first rule.
pub(super) fn swap(
    manifest: &Manifest,
    scheme: &Path,
    state: &Path,
    every: u64,
    happened: &Arc<Happened>,
) -> anyhow::Result<Trouble> {
    let mut components = manifest.components().iter();
    let rule = components.find(|c| c.kind == ComponentKind::Rule);
    let rule = rule.context("the scheme has no rule")?;
    let (name, rialto) = (rule.name.to_string(), std::env::current_exe()?);
    let mut bytes = rule.bytes.to_vec();
    // A custom section, which nobody reads: its id, its size, the length of its name, its name.
    bytes.extend_from_slice(b"\0\x06\x05other");
    let other = scheme.with_file_name("other.wasm");
    std::fs::write(&other, bytes)?;
    let (scheme, state, happened) = (scheme.to_owned(), state.to_owned(), happened.clone());
    let files: [PathBuf; 2] = [other, rule.path.clone()];
    let turn = AtomicBool::new(false);
    Ok(Trouble::every(every, move || {
        let file = &files[usize::from(turn.fetch_xor(true, Ordering::Relaxed))];
        let swapped = Command::new(&rialto)
            .args(["plugin", "swap", &name])
            .arg(file)
            .arg("--at")
            .arg(&scheme)
            .arg("--state")
            .arg(&state)
            .output()?;
        // A host that was just killed cannot swap.
        happened
            .swaps
            .fetch_add(u64::from(swapped.status.success()), Ordering::Relaxed);
        Ok(())
    }))
}

/// Kill the host and start it again.
pub(super) fn kill(
    scheme: &Path,
    state: &Path,
    every: u64,
    host: &Arc<Mutex<Option<Running>>>,
    happened: &Arc<Happened>,
) -> Trouble {
    let (scheme, state) = (scheme.to_owned(), state.to_owned());
    let (host, happened) = (host.clone(), happened.clone());
    Trouble::every(every, move || {
        let mut host = host.lock();
        if let Some(running) = host.take() {
            running.kill()?;
        }
        *host = Some(serve(&scheme, &state)?);
        happened.kills.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })
}
