//! What a hostile component says is refused, or read as wasmtime reads it. Nothing panics.

use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::prelude::*;
use rialto_values::Values;
use wasmtime::component::{Linker, Val};

use crate::component::{Compiled, ENCODINGS, HOSTCALL_BYTES_MAX, Said};
use crate::types::{self, Ty};

/// Core values that are small, aligned, at the memory's end, or anything.
fn core() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..4,
        3 => (0_u64..64).prop_map(|n| n * 8),
        1 => (4 << 16) - 16..(4 << 16) + 4_u64,
        1 => any::<u32>().prop_map(u64::from),
        1 => any::<u64>(),
    ]
}

fn memory() -> impl Strategy<Value = Vec<u8>> {
    vec(
        prop_oneof![3 => 0_u8..4, 2 => 0x20..0x7f_u8, 1 => any::<u8>()],
        0..512,
    )
}

/// What the host reads when the component says this.
fn read(compiled: &Compiled) -> wasmtime::Result<Values> {
    let taken = Arc::new(Mutex::new(None));
    let keep = taken.clone();
    let take = Arc::new(move |_: wasmtime::StoreContextMut<'_, ()>, values| {
        *keep.lock().unwrap() = Some(values);
        Ok(Values::default())
    });
    let give = Arc::new(|_: wasmtime::StoreContextMut<'_, ()>, _| Ok(Values::default()));
    let mut linker = Linker::new(&compiled.engine);
    let mut root = linker.root();
    rialto_values::link(&mut root, "take", (&compiled.params, &[]), take)?;
    rialto_values::link(&mut root, "give", (&[], &compiled.results), give)?;
    let (mut store, instance) = compiled.instance(&linker);
    let say = instance.get_func(&mut store, "say").unwrap();
    say.call(&mut store, &[], &mut [])?;
    let taken = taken.lock().unwrap().take();
    Ok(taken.unwrap())
}

/// What wasmtime reads then.
fn read_as_trees(compiled: &Compiled) -> wasmtime::Result<Values> {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let keep = taken.clone();
    let mut linker = Linker::new(&compiled.engine);
    let mut root = linker.root();
    root.func_new("take", move |_, _, params, _| {
        *keep.lock().unwrap() = params.to_vec();
        Ok(())
    })?;
    root.func_new("give", |_, _, _, results| {
        results[0] = Val::Bool(false);
        Ok(())
    })?;
    let (mut store, instance) = compiled.instance(&linker);
    // Trees are larger than bytes: no limit for these.
    store.set_hostcall_fuel(usize::MAX);
    let say = instance.get_func(&mut store, "say").unwrap();
    say.call(&mut store, &[], &mut [])?;
    let taken = taken.lock().unwrap();
    Ok(Values::of(compiled.params.iter(), &taken).unwrap())
}

/// The same was read, or both are refused, or what was refused is too large.
fn same(
    values: wasmtime::Result<Values>,
    trees: wasmtime::Result<Values>,
) -> Result<(), TestCaseError> {
    match (values, trees) {
        (Ok(values), Ok(trees)) => prop_assert_eq!(values, trees),
        (Err(error), Ok(trees)) => {
            prop_assert!(trees.size() > HOSTCALL_BYTES_MAX, "refused: {:?}", error);
        }
        (Ok(_), Err(error)) => prop_assert!(false, "taken, though: {:?}", error),
        (Err(_), Err(_)) => {}
    }
    Ok(())
}

proptest! {
    #[test]
    fn garbage_is_refused_or_read_as_wasmtime_does(
        params in vec(types::any(), 1..4),
        encoding in 0_usize..3,
        core in vec(core(), 16),
        memory in memory(),
    ) {
        let said = Said { core, memory, ..Said::default() };
        let compiled = Compiled::of(&params, &Ty::Plain("bool"), ENCODINGS[encoding], &said);
        same(read(&compiled), read_as_trees(&compiled))?;
    }

    #[test]
    fn garbage_as_a_result_is_refused_or_read_as_wasmtime_does(
        result in types::any(),
        encoding in 0_usize..3,
        core in core(),
        memory in memory(),
    ) {
        let said = Said { core: vec![core], memory, ..Said::default() };
        let compiled = Compiled::of(&[], &result, ENCODINGS[encoding], &said);
        let mut linker = Linker::new(&compiled.engine);
        linker.define_unknown_imports_as_traps(&compiled.component).unwrap();
        let (mut store, instance) = compiled.instance(&linker);
        let lie = instance.get_func(&mut store, "lie").unwrap();
        let values = rialto_values::call(&lie, &mut store, &Values::default());
        let (mut store, instance) = compiled.instance(&linker);
        // Trees are larger than bytes: no limit for these.
        store.set_hostcall_fuel(usize::MAX);
        let lie = instance.get_func(&mut store, "lie").unwrap();
        let mut trees = [Val::Bool(false)];
        let trees = lie.call(&mut store, &[], &mut trees).map(|()| trees);
        let trees = trees.map(|trees| Values::of(compiled.results.iter(), &trees).unwrap());
        same(values, trees)?;
    }
}

/// A component that says one string or list, at this address with this length.
fn says(ty: Ty, core: [u64; 2], memory: &[u8]) -> wasmtime::Result<Values> {
    let said = Said {
        core: core.to_vec(),
        memory: memory.to_vec(),
        ..Said::default()
    };
    read(&Compiled::of(&[ty], &Ty::Plain("bool"), "utf8", &said))
}

#[test]
fn strings_and_lists_that_lie_are_refused() {
    let refused = |ty, core, memory, why: &str| {
        let error = says(ty, core, memory).unwrap_err();
        assert!(format!("{error:?}").contains(why), "{why}: {error:?}");
    };
    let text = || Ty::Plain("string");
    let list = |item| Ty::List(Box::new(item));
    refused(text(), [0, 2], &[0xff, 0xff], "utf-8");
    refused(text(), [u64::from(u32::MAX), 2], &[], "out of bounds");
    refused(text(), [8, u64::from(u32::MAX)], &[], "out of bounds");
    refused(list(Ty::Plain("u64")), [4, 1], &[], "not aligned");
    refused(
        list(Ty::Plain("u64")),
        [8, (4 << 16) / 8],
        &[],
        "out of bounds",
    );
    refused(
        list(Ty::Plain("u64")),
        [8, u64::from(u32::MAX)],
        &[],
        "out of bounds",
    );
    refused(list(Ty::Plain("char")), [0, 1], &[0, 0, 0x11, 0], "char");
    refused(list(Ty::Enum(3)), [0, 1], &[3], "out of range");
}

#[test]
fn one_call_passes_no_more_than_it_may() {
    let list = |item| Ty::List(Box::new(item));
    let passes = |ty: &Ty, encoding, length: u64, memory: &[u8]| {
        let said = Said {
            core: vec![0, length],
            memory: memory.to_vec(),
            ..Said::default()
        };
        read(&Compiled::of(
            std::slice::from_ref(ty),
            &Ty::Plain("bool"),
            encoding,
            &said,
        ))
    };
    // Each of the strings is the same 64 kB, and in UTF-16 these are 32,000 characters.
    let mut texts = Vec::new();
    for _ in 0..60 {
        texts.extend(1024_u32.to_le_bytes());
        texts.extend(32_000_u32.to_le_bytes());
    }
    let long = Ty::Record(vec![
        Ty::Flags(8),
        Ty::Tuple(vec![Ty::Tuple(vec![Ty::Plain("bool")])]),
    ]);
    for (ty, encoding, memory, few, many) in [
        (list(Ty::Plain("string")), "utf8", &*texts, 30, 60),
        (list(Ty::Plain("string")), "utf16", &texts, 10, 60),
        (list(Ty::Plain("string")), "latin1+utf16", &texts, 30, 60),
        (list(Ty::Plain("u8")), "utf8", &[], 80_000, 100_000),
        (list(Ty::Enum(7)), "utf8", &[], 60_000, 100_000),
        (list(long), "utf8", &[], 16_000, 25_000),
    ] {
        let values = passes(&ty, encoding, few, memory).unwrap();
        assert!(values.size() < HOSTCALL_BYTES_MAX, "{ty:?}");
        let error = passes(&ty, encoding, many, memory).unwrap_err();
        assert!(
            format!("{error:?}").contains("too much data"),
            "{ty:?}: {error:?}"
        );
    }
}
