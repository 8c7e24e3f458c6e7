//! WASI for components that other languages' tools make: it is there, and it gives nothing.
//!
//! No files, no environment, no arguments, no network; standard output goes to the log. What would
//! let a component see the machine is joined to the turn instead: a context reads the turn's instant
//! and the engine's randomness, and needs the grants `clock` and `random` for it, as for the host's own
//! surfaces. A rule reads the same instant always (the epoch) and bytes that its input alone decides,
//! so that its verdict can be given again. Nothing waits: what would, traps.
//!
//! Each file implements one package of WASI 0.2 for [`Guest`].

mod clocks;
mod random;
mod streams;
mod tail;

use rialto_engine::Name;
use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliCtx, WasiCliCtxView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::{
    cli, clocks as wit_clocks, filesystem, random as wit_random, sync,
};

use crate::guest::Guest;
use crate::names::InterfaceName;
pub(crate) use random::Seed;

/// Resources of WASI (streams, above all) that an instance may hold at a time.
const RESOURCES_MAX: usize = 1_000;
/// Packages that give nothing: whoever imports them may have them.
const HARMLESS: [&str; 3] = ["cli", "filesystem", "io"];

/// What an interface of WASI asks of the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: it gives nothing.
    Nothing,
    /// A context needs the grant of this host surface. A rule does not: to it this gives nothing.
    Grant(&'static str),
    /// It cannot be had.
    Refused,
}

/// What an interface of WASI asks of the manifest.
pub fn needs(interface: &InterfaceName) -> Needs {
    if !interface.version.starts_with("0.2.") {
        return Needs::Refused;
    }
    match interface.package.as_str() {
        package if HARMLESS.contains(&package) => Needs::Nothing,
        "clocks" => Needs::Grant("clock"),
        "random" => Needs::Grant("random"),
        _ => Needs::Refused,
    }
}

/// Where clocks and randomness come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The turn that the component serves.
    Turn,
    /// The component's input: the epoch, and bytes that this seed decides.
    Input(Seed),
}

/// What a store has for WASI.
pub(crate) struct Wasi {
    source: Source,
    bytes: random::Stream,
    /// The latest instant that was told, in nanoseconds: a monotonic clock never goes back.
    told_ns: u64,
    cli: WasiCliCtx,
    filesystem: WasiFilesystemCtx,
    table: ResourceTable,
    ended: streams::Ended,
}

impl Wasi {
    pub(crate) fn new(source: Source) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES_MAX);
        let seed = match source {
            Source::Turn => Seed::default(),
            Source::Input(seed) => seed,
        };
        Self {
            source,
            bytes: random::Stream::new(seed),
            told_ns: 0,
            cli: WasiCliCtx::default(),
            filesystem: WasiFilesystemCtx::default(),
            table,
            ended: streams::Ended::default(),
        }
    }
}

impl Guest {
    /// What was said last on standard error is said no more: another call begins.
    pub(crate) fn forget_errors(&mut self) {
        if let Some(wasi) = &mut self.wasi {
            wasi.ended.forget_errors();
        }
    }

    /// What this call has said last on standard error.
    pub(crate) fn last_errors(&self) -> Option<String> {
        self.wasi.as_ref()?.ended.last_errors()
    }

    /// Only components that import WASI are linked to it, and their stores have it.
    fn wasi(&mut self) -> &mut Wasi {
        self.wasi
            .get_or_insert_with(|| Box::new(Wasi::new(Source::Turn)))
    }

    fn table(&mut self) -> &mut ResourceTable {
        &mut self.wasi().table
    }

    fn component(&self) -> Name {
        self.identity.name.clone()
    }
}

/// Link what there is of WASI.
///
/// # Errors
/// Never for a fresh linker.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    type Own = HasSelf<Guest>;
    let l = linker;
    wit_clocks::wall_clock::add_to_linker::<_, Own>(l, |guest| guest)?;
    wit_clocks::monotonic_clock::add_to_linker::<_, Own>(l, |guest| guest)?;
    wit_random::random::add_to_linker::<_, Own>(l, |guest| guest)?;
    wit_random::insecure::add_to_linker::<_, Own>(l, |guest| guest)?;
    wit_random::insecure_seed::add_to_linker::<_, Own>(l, |guest| guest)?;
    cli::stdin::add_to_linker::<_, Own>(l, |guest| guest)?;
    cli::stdout::add_to_linker::<_, Own>(l, |guest| guest)?;
    cli::stderr::add_to_linker::<_, Own>(l, |guest| guest)?;
    sync::io::error::add_to_linker::<_, streams::Table>(l, Guest::table)?;
    sync::io::poll::add_to_linker::<_, Own>(l, |guest| guest)?;
    sync::io::streams::add_to_linker::<_, Own>(l, |guest| guest)?;
    // wasmtime's own, over contexts that hold nothing.
    cli::exit::add_to_linker::<_, WasiCli>(l, empty_cli)?;
    cli::environment::add_to_linker::<_, WasiCli>(l, empty_cli)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(l, empty_cli)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(l, empty_cli)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(l, empty_cli)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(l, empty_cli)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(l, empty_cli)?;
    filesystem::preopens::add_to_linker::<_, WasiFilesystem>(l, no_files)?;
    sync::filesystem::types::add_to_linker::<_, WasiFilesystem>(l, no_files)
}

fn empty_cli(guest: &mut Guest) -> WasiCliCtxView<'_> {
    let wasi = guest.wasi();
    WasiCliCtxView {
        ctx: &mut wasi.cli,
        table: &mut wasi.table,
    }
}

fn no_files(guest: &mut Guest) -> WasiFilesystemCtxView<'_> {
    let wasi = guest.wasi();
    WasiFilesystemCtxView {
        ctx: &mut wasi.filesystem,
        table: &mut wasi.table,
    }
}
