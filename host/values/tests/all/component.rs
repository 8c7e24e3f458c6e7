//! A component that passes values on. It imports `take` and `give`, and exports both: its `take` calls the imported one with
//! what it was given, and its `give` returns what the imported one gave. Its `say` calls `take` with core values of its own, and
//! its `lie` returns one. `freed` says how often it was told that a result was read.

use std::fmt::Write as _;

use wasmtime::component::types::{ComponentItem, Type};
use wasmtime::component::{Component, Instance, Linker};
use wasmtime::{Config, Engine, Store};

use crate::types::{Core, Ty};

/// The encodings of strings that a component may use.
pub const ENCODINGS: [&str; 3] = ["utf8", "utf16", "latin1+utf16"];
/// Where the memory that it gives away begins.
pub const HEAP: usize = 4096;
/// Bytes that one call may pass to the host.
pub const HOSTCALL_BYTES_MAX: usize = 1 << 20;

/// What `say` calls `take` with, and `lie` returns.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The first core values; the rest are 0.
    pub core: Vec<u64>,
    /// The memory from 0.
    pub memory: Vec<u8>,
    /// Whether it gives the same place for all.
    pub gives_one_place: bool,
}

/// The component, compiled, with the types of its functions.
pub struct Compiled {
    pub engine: Engine,
    pub component: Component,
    pub params: Vec<Type>,
    pub results: Vec<Type>,
}

impl Compiled {
    /// The component for these types.
    pub fn of(params: &[Ty], result: &Ty, encoding: &str, said: &Said) -> Self {
        let text = text(params, result, encoding, said);
        let mut config = Config::new();
        config.wasm_component_model(true);
        let engine = Engine::new(&config).unwrap();
        let bytes = wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let component =
            Component::new(&engine, bytes).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        let mut compiled = Self {
            engine,
            component,
            params: Vec::new(),
            results: Vec::new(),
        };
        let ty = compiled.component.component_type();
        for (name, item) in ty.exports(&compiled.engine) {
            let ComponentItem::ComponentFunc(function) = item.ty else {
                continue;
            };
            match name {
                "take" => compiled.params = function.params().map(|(_, ty)| ty).collect(),
                "give" => compiled.results = function.results().collect(),
                _ => {}
            }
        }
        compiled
    }

    /// An instance, linked with these.
    pub fn instance(&self, linker: &Linker<()>) -> (Store<()>, Instance) {
        let mut store = Store::new(&self.engine, ());
        store.set_hostcall_fuel(HOSTCALL_BYTES_MAX);
        let instance = linker.instantiate(&mut store, &self.component).unwrap();
        (store, instance)
    }
}

/// Core parameters, by the canonical ABI.
fn core_params(params: &[Ty]) -> Vec<Core> {
    let flat: Vec<Core> = params.iter().flat_map(Ty::flat).collect();
    if flat.len() > 16 {
        vec![Core::I32]
    } else {
        flat
    }
}

fn text(params: &[Ty], result: &Ty, encoding: &str, said: &Said) -> String {
    let (mut declared, mut next) = (String::new(), 0);
    let named = params.iter().enumerate();
    let named: String = named
        .map(|(n, ty)| format!("(param \"p{n}\" {}) ", ty.declare(&mut declared, &mut next)))
        .collect();
    let result_type = result.declare(&mut declared, &mut next);
    let params = core_params(params);
    let taken: String = params
        .iter()
        .map(|core| format!("{} ", core.name()))
        .collect();
    let passed: String = (0..params.len())
        .map(|n| format!("(local.get {n}) "))
        .collect();
    let own = params.iter().enumerate().map(|(n, core)| {
        let bits = said.core.get(n).copied().unwrap_or(0);
        match core {
            Core::I32 => format!("(i32.const {}) ", bits as u32),
            Core::I64 => format!("(i64.const {bits}) "),
            Core::F32 => format!("(f32.reinterpret_i32 (i32.const {})) ", bits as u32),
            Core::F64 => format!("(f64.reinterpret_i64 (i64.const {bits})) "),
        }
    });
    let own: String = own.collect();
    let (given, give) = match result.flat().as_slice() {
        [core] => (format!("(result {})", core.name()), "call $give".to_owned()),
        _ => (
            "(param i32)".to_owned(),
            "(local $at i32) (local.set $at (call $realloc (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 4096))) (call $give (local.get $at)) local.get $at".to_owned(),
        ),
    };
    let gives = match result.flat().as_slice() {
        [core] => core.name(),
        _ => "i32",
    };
    let bits = said.core.first().copied().unwrap_or(0);
    let lie = match result.flat().as_slice() {
        [Core::I64] => format!("i64.const {bits}"),
        [Core::F32] => format!("(f32.reinterpret_i32 (i32.const {}))", bits as u32),
        [Core::F64] => format!("(f64.reinterpret_i64 (i64.const {bits}))"),
        _ => format!("i32.const {}", bits as u32),
    };
    let memory = said.memory.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "\\{byte:02x}");
        text
    });
    let place = if said.gives_one_place {
        format!("(i32.const {HEAP})")
    } else {
        "(i32.and (i32.add (global.get $free) (i32.sub (local.get $align) (i32.const 1))) (i32.sub (i32.const 0) (local.get $align)))"
            .to_owned()
    };
    let options = format!(
        "(memory $libc \"memory\") (realloc (func $libc \"realloc\")) string-encoding={encoding}"
    );
    format!(
        r#"(component
{declared}
(import "take" (func $take {named}))
(import "give" (func $give (result {result_type})))
(core module $libc
  (memory (export "memory") 4)
  (data (i32.const 0) "{memory}")
  (global $free (mut i32) (i32.const {HEAP}))
  (func (export "realloc") (param $old i32) (param $was i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at {place})
    (global.set $free (i32.add (local.get $at) (local.get $size)))
    (if (i32.gt_u (global.get $free) (i32.mul (memory.size) (i32.const 65536)))
      (then (drop (memory.grow (i32.add (i32.const 1) (i32.div_u (local.get $size) (i32.const 65536)))))))
    (memory.copy (local.get $at) (local.get $old) (select (local.get $was) (local.get $size) (i32.lt_u (local.get $was) (local.get $size))))
    (local.get $at)))
(core instance $libc (instantiate $libc))
(core func $take_core (canon lower (func $take) {options}))
(core func $give_core (canon lower (func $give) {options}))
(core module $main
  (import "host" "take" (func $take (param {taken})))
  (import "host" "give" (func $give {given}))
  (import "libc" "realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
  (func (export "take") (param {taken}) {passed} call $take)
  (func (export "say") {own} call $take)
  (global $freed (mut i32) (i32.const 0))
  (func (export "lie") (result {gives}) {lie})
  (func (export "free") (param {gives}) (global.set $freed (i32.add (global.get $freed) (i32.const 1))))
  (func (export "freed") (result i32) (global.get $freed))
  (func (export "give") (result {gives}) {give}))
(core instance $main (instantiate $main
  (with "host" (instance (export "take" (func $take_core)) (export "give" (func $give_core))))
  (with "libc" (instance $libc))))
(func (export "take") {named} (canon lift (core func $main "take") {options}))
(func (export "say") (canon lift (core func $main "say")))
(func (export "give") (result {result_type}) (canon lift (core func $main "give") {options} (post-return (func $main "free"))))
(func (export "freed") (result u32) (canon lift (core func $main "freed")))
(func (export "lie") (result {result_type}) (canon lift (core func $main "lie") {options})))"#
    )
}
