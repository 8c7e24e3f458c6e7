//! Wasmtime's configuration. All uses (compile, load, check, host, tests) call one function, so that code
//! compiled by one can be loaded by all.
//!
//! `docs/decisions/002-wasmtime-configuration.md` has the choices and their costs.

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// The length of an epoch in milliseconds: the resolution of deadlines.
pub const EPOCH_TICK_MS: u64 = 5;
/// Native stack that one component's WebAssembly may use.
pub const WASM_STACK_BYTES: usize = 512 << 10;
/// Bytes of an instance that stay resident if the kernel cannot tell which pages changed. All of them are
/// copied each time.
const KEEP_RESIDENT_BYTES: usize = 128 << 10;
/// The same if it can. Only changed pages are copied. Resident memory is not unmapped; unmapping would
/// interrupt each core that runs a thread of the host.
const SCANNED_RESIDENT_BYTES: usize = 4 << 20;

/// Bytes that the host needs for a component's instance, for each of its core modules.
const INSTANCE_BYTES_EACH: usize = 64 << 10;
const INSTANCE_BYTES_LEAST: usize = 1 << 20;

/// Whether a component's instructions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metering {
    /// Only time is limited. For contexts.
    Epochs,
    /// Instructions are limited too, so that verdicts are reproducible. For rules.
    Fuel,
}

/// The size of wasmtime's pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSize {
    /// Instances that may live at a time.
    pub instances: u32,
    /// Bytes of one linear memory.
    pub memory_bytes_max: usize,
    /// Core modules of one component. Components of languages with a runtime have dozens.
    pub core_modules: u32,
}

impl Default for PoolSize {
    fn default() -> Self {
        Self {
            instances: 256,
            memory_bytes_max: 64 << 20,
            core_modules: 64,
        }
    }
}

/// A wasmtime engine.
///
/// # Errors
/// When the operating system does not give the address space for the pools.
pub fn engine(metering: Metering, pool: PoolSize) -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .concurrency_support(false)
        .epoch_interruption(true)
        .consume_fuel(metering == Metering::Fuel)
        .cranelift_nan_canonicalization(metering == Metering::Fuel)
        .relaxed_simd_deterministic(true)
        .max_wasm_stack(WASM_STACK_BYTES)
        .async_stack_size(2 * WASM_STACK_BYTES)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pooling(pool)));
    Engine::new(&config)
}

fn pooling(pool: PoolSize) -> PoolingAllocationConfig {
    let mut pooling = PoolingAllocationConfig::default();
    let modules = usize::try_from(pool.core_modules).unwrap_or(usize::MAX);
    let instance_bytes = modules.saturating_mul(INSTANCE_BYTES_EACH);
    pooling
        .total_component_instances(pool.instances)
        // These are only limits. No address space is reserved for them, unlike for memories and tables.
        .total_core_instances(pool.instances.saturating_mul(pool.core_modules))
        .total_memories(pool.instances)
        .total_tables(pool.instances * 2)
        .max_component_instance_size(instance_bytes.max(INSTANCE_BYTES_LEAST))
        .max_core_instances_per_component(pool.core_modules)
        .max_memories_per_component(1)
        .max_tables_per_component(2)
        .max_memory_size(pool.memory_bytes_max)
        .table_elements(20_000);
    if can_scan_pages() {
        pooling
            .pagemap_scan(Enabled::Yes)
            .linear_memory_keep_resident(SCANNED_RESIDENT_BYTES)
            .table_keep_resident(64 << 10);
    } else {
        pooling
            .pagemap_scan(Enabled::No)
            .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
            .table_keep_resident(4 << 10);
    }
    pooling
}

/// Whether the kernel can tell which pages an instance changed, and never swaps them out. A swapped page
/// would not be reset.
pub fn can_scan_pages() -> bool {
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    PoolingAllocationConfig::is_pagemap_scan_available() && swaps.lines().count() <= 1
}
