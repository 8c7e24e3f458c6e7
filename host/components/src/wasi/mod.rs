//! WASI 0.2, for components that other languages' tools make. It gives no access to the machine.
//!
//! - There are no files, no environment, no arguments and no network. Standard output goes to the log.
//! - A context gets the turn's instant and the engine's randomness. It needs the grants `clock` and `random`,
//!   as for the host's own surfaces.
//! - A rule gets a constant instant (the epoch) and bytes that depend only on its input, so that its verdict is
//!   reproducible.
//! - Nothing waits. A call that would wait traps.
//!
//! Each file implements one package of WASI for [`Guest`].

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

/// Resources of WASI (mostly streams) that an instance may have at a time.
const RESOURCES_MAX: usize = 1_000;
/// Packages that give no access. Every component may import them.
const HARMLESS: [&str; 3] = ["cli", "filesystem", "io"];

/// The grant that an interface of WASI needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing, because it gives no access.
    Nothing,
    /// The grant of this host surface, for a context. A rule needs none.
    Grant(&'static str),
    /// The host does not provide it.
    Refused,
}

/// The grant that this interface of WASI needs.
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

/// The source of clocks and randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The turn that the component serves.
    Turn,
    /// The component's input: the epoch, and bytes that this seed decides.
    Input(Seed),
}

/// The data of a store for WASI.
pub(crate) struct Wasi {
    source: Source,
    bytes: random::Stream,
    /// The latest instant that was returned, in nanoseconds. A monotonic clock never goes back.
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
    /// Drop the last text of standard error, because another call begins.
    pub(crate) fn forget_errors(&mut self) {
        if let Some(wasi) = &mut self.wasi {
            wasi.ended.forget_errors();
        }
    }

    /// The last text of this call on standard error.
    pub(crate) fn last_errors(&self) -> Option<String> {
        self.wasi.as_ref()?.ended.last_errors()
    }

    /// The data for WASI. Only components that import WASI have it, and only these are linked to it.
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

/// Link WASI.
///
/// # Errors
/// Never for a fresh linker.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    type HostData = HasSelf<Guest>;
    let l = linker;
    wit_clocks::wall_clock::add_to_linker::<_, HostData>(l, |guest| guest)?;
    wit_clocks::monotonic_clock::add_to_linker::<_, HostData>(l, |guest| guest)?;
    wit_random::random::add_to_linker::<_, HostData>(l, |guest| guest)?;
    wit_random::insecure::add_to_linker::<_, HostData>(l, |guest| guest)?;
    wit_random::insecure_seed::add_to_linker::<_, HostData>(l, |guest| guest)?;
    cli::stdin::add_to_linker::<_, HostData>(l, |guest| guest)?;
    cli::stdout::add_to_linker::<_, HostData>(l, |guest| guest)?;
    cli::stderr::add_to_linker::<_, HostData>(l, |guest| guest)?;
    sync::io::error::add_to_linker::<_, streams::Table>(l, Guest::table)?;
    sync::io::poll::add_to_linker::<_, HostData>(l, |guest| guest)?;
    sync::io::streams::add_to_linker::<_, HostData>(l, |guest| guest)?;
    // Wasmtime's own implementation, with empty contexts.
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
