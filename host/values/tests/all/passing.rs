//! Values are read and written as wasmtime reads and writes them.

use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::prelude::*;
use rialto_values::Values;
use wasmtime::component::{Linker, Val};

use crate::component::{Compiled, ENCODINGS, Said};
use crate::types::{self, Ty};

/// Types of parameters and of a result, with a value of each.
fn signatures() -> impl Strategy<Value = (Vec<Ty>, Ty, Vec<Val>, Val)> {
    (vec(types::any(), 0..5), types::any()).prop_flat_map(|(params, result)| {
        let values: Vec<_> = params.iter().map(types::value).collect();
        let value = types::value(&result);
        (Just(params), Just(result), values, value)
    })
}

/// A linker of functions that keep what they take, and give this.
fn by_values(
    compiled: &Compiled,
    gives: &Values,
    taken: &Arc<Mutex<Option<Values>>>,
) -> Linker<()> {
    let mut linker = Linker::new(&compiled.engine);
    let (gives, taken) = (gives.clone(), taken.clone());
    let take = Arc::new(move |_: wasmtime::StoreContextMut<'_, ()>, values| {
        *taken.lock().unwrap() = Some(values);
        Ok(Values::default())
    });
    let give = Arc::new(move |_: wasmtime::StoreContextMut<'_, ()>, _| Ok(gives.clone()));
    let mut root = linker.root();
    rialto_values::link(&mut root, "take", (&compiled.params, &[]), take).unwrap();
    rialto_values::link(&mut root, "give", (&[], &compiled.results), give).unwrap();
    linker
}

/// The same with wasmtime's trees.
fn by_trees(compiled: &Compiled, gives: &Val, taken: &Arc<Mutex<Vec<Val>>>) -> Linker<()> {
    let mut linker = Linker::new(&compiled.engine);
    let (gives, taken) = (gives.clone(), taken.clone());
    let mut root = linker.root();
    root.func_new("take", move |_, _, params, _| {
        *taken.lock().unwrap() = params.to_vec();
        Ok(())
    })
    .unwrap();
    root.func_new("give", move |_, _, _, results| {
        results[0] = gives.clone();
        Ok(())
    })
    .unwrap();
    linker
}

proptest! {
    #[test]
    fn values_pass_as_they_do_as_trees((params, result, trees, given) in signatures(), encoding in 0_usize..3) {
        let compiled = Compiled::of(&params, &result, ENCODINGS[encoding], &Said::default());
        let values = Values::of(compiled.params.iter(), &trees).unwrap();
        let gives = Values::of(compiled.results.iter(), std::slice::from_ref(&given)).unwrap();
        let back = values.trees(&compiled.params).unwrap();
        prop_assert_eq!(&Values::of(compiled.params.iter(), &back).unwrap(), &values);
        prop_assert_eq!(values.size(), trees.iter().map(types::size).sum::<usize>());

        // A component passes to the host, which reads the bytes; and the host's bytes to a component.
        let taken = Arc::new(Mutex::new(None));
        let (mut store, instance) = compiled.instance(&by_values(&compiled, &gives, &taken));
        let take = instance.get_func(&mut store, "take").unwrap();
        take.call(&mut store, &trees, &mut []).unwrap();
        prop_assert_eq!(taken.lock().unwrap().take(), Some(values.clone()));
        let give = instance.get_func(&mut store, "give").unwrap();
        let mut gave = [Val::Bool(false)];
        give.call(&mut store, &[], &mut gave).unwrap();
        prop_assert_eq!(&Values::of(compiled.results.iter(), &gave).unwrap(), &gives);
        // Both ways by bytes.
        prop_assert_eq!(&rialto_values::call(&give, &mut store, &Values::default()).unwrap(), &gives);
        rialto_values::call(&take, &mut store, &values).unwrap();
        prop_assert_eq!(taken.lock().unwrap().take(), Some(values.clone()));

        // The host passes bytes, and wasmtime reads what arrives.
        let taken = Arc::new(Mutex::new(Vec::new()));
        let (mut store, instance) = compiled.instance(&by_trees(&compiled, &given, &taken));
        let take = instance.get_func(&mut store, "take").unwrap();
        let nothing = rialto_values::call(&take, &mut store, &values).unwrap();
        prop_assert_eq!(nothing, Values::default());
        let arrived = Values::of(compiled.params.iter(), &taken.lock().unwrap()).unwrap();
        prop_assert_eq!(&arrived, &values);
        let give = instance.get_func(&mut store, "give").unwrap();
        prop_assert_eq!(&rialto_values::call(&give, &mut store, &Values::default()).unwrap(), &gives);
        let freed = instance.get_typed_func::<(), (u32,)>(&mut store, "freed").unwrap();
        prop_assert_eq!(freed.call(&mut store, ()).unwrap(), (1,));
    }

    #[test]
    fn different_values_have_different_bytes((ty, one, other) in types::any().prop_flat_map(|ty| {
        let value = types::value(&ty);
        (Just(ty), value.clone(), value)
    })) {
        let compiled = Compiled::of(std::slice::from_ref(&ty), &Ty::Plain("bool"), "utf8", &Said::default());
        let bytes = |tree: &Val| Values::of(compiled.params.iter(), std::slice::from_ref(tree)).unwrap();
        let same = format!("{one:?}") == format!("{other:?}");
        prop_assert_eq!(bytes(&one) == bytes(&other), same);
    }
}

#[test]
fn values_of_another_type_are_refused() {
    let compiled = |ty| Compiled::of(&[ty], &Ty::Plain("bool"), "utf8", &Said::default());
    let (text, number) = (compiled(Ty::Plain("string")), compiled(Ty::Plain("u64")));
    let one = [Val::U64(9)];
    let values = Values::of(number.params.iter(), &one).unwrap();
    Values::of(text.params.iter(), &one).unwrap_err();
    Values::of(text.params.iter(), &[]).unwrap_err();
    values.trees(&text.params).unwrap_err();
    values.trees(&[]).unwrap_err();
    let linker = by_trees(&text, &Val::Bool(false), &Arc::default());
    let (mut store, instance) = text.instance(&linker);
    let take = instance.get_func(&mut store, "take").unwrap();
    let refused = rialto_values::call(&take, &mut store, &values).unwrap_err();
    assert!(refused.to_string().contains("do not fit"), "{refused:?}");
}

#[test]
fn a_component_with_other_core_values_is_not_linked() {
    let compiled = |ty| Compiled::of(&[ty], &Ty::Plain("bool"), "utf8", &Said::default());
    let (text, number) = (compiled(Ty::Plain("string")), compiled(Ty::Plain("u64")));
    let mut linker = Linker::new(&number.engine);
    let nothing = Arc::new(|_: wasmtime::StoreContextMut<'_, ()>, _| Ok(Values::default()));
    let mut root = linker.root();
    rialto_values::link(&mut root, "take", (&text.params, &[]), nothing.clone()).unwrap();
    rialto_values::link(&mut root, "give", (&[], &text.results), nothing).unwrap();
    let mut store = wasmtime::Store::new(&number.engine, ());
    let refused = linker.instantiate(&mut store, &number.component);
    let refused = format!("{:?}", refused.unwrap_err());
    assert!(
        refused.contains("1 core values where there should be 2"),
        "{refused}"
    );
}

#[test]
fn values_pass_up_to_the_most_core_values_and_beyond_in_memory() {
    for count in [0, 1, 15, 16, 17, 40] {
        let params = vec![Ty::Plain("u64"); count];
        let trees: Vec<Val> = (0..count as u64).map(Val::U64).collect();
        let compiled = Compiled::of(&params, &Ty::Plain("bool"), "utf8", &Said::default());
        let values = Values::of(compiled.params.iter(), &trees).unwrap();
        let gives = Values::of(compiled.results.iter(), &[Val::Bool(true)]).unwrap();
        let taken = Arc::new(Mutex::new(None));
        let (mut store, instance) = compiled.instance(&by_values(&compiled, &gives, &taken));
        let take = instance.get_func(&mut store, "take").unwrap();
        rialto_values::call(&take, &mut store, &values).unwrap();
        assert_eq!(taken.lock().unwrap().take(), Some(values), "{count}");
    }
}

#[test]
fn a_value_behind_another_is_that_of_both() {
    let types = [Ty::Plain("string"), Ty::Plain("u64")];
    let compiled = Compiled::of(&types, &Ty::Plain("bool"), "utf8", &Said::default());
    let both = [Val::String("first".to_owned()), Val::U64(2)];
    let values = Values::of(compiled.params.iter(), &both).unwrap();
    let second = Values::of(compiled.params[1..].iter(), &both[1..]).unwrap();
    assert_eq!(second.behind("first").unwrap(), values);
}

#[test]
fn blocks_in_one_place_take_no_more_of_the_host_than_the_memory() {
    // A value of 136 bytes, of which there is one.
    let wide = Ty::Option(Box::new(Ty::Tuple(vec![Ty::Plain("u64"); 16])));
    let item = Ty::Tuple(vec![wide.clone(), Ty::List(Box::new(wide))]);
    let nothing = || Val::Option(None);
    // The list takes 144,000 bytes, and that of its last item 136,000: together more than four pages of memory.
    let items = |n: usize| Val::List(vec![nothing(); n]);
    let mut all = vec![Val::Tuple(vec![nothing(), items(0)]); 999];
    all.push(Val::Tuple(vec![nothing(), items(1_000)]));
    for gives_one_place in [false, true] {
        let said = Said {
            gives_one_place,
            ..Said::default()
        };
        let params = [Ty::List(Box::new(item.clone()))];
        let compiled = Compiled::of(&params, &Ty::Plain("bool"), "utf8", &said);
        let trees = [Val::List(all.clone())];
        let values = Values::of(compiled.params.iter(), &trees).unwrap();
        let linker = by_trees(&compiled, &Val::Bool(false), &Arc::default());
        let (mut store, instance) = compiled.instance(&linker);
        let take = instance.get_func(&mut store, "take").unwrap();
        let passed = rialto_values::call(&take, &mut store, &values);
        match passed {
            Ok(_) => assert!(!gives_one_place),
            Err(error) => {
                let why = error.to_string();
                assert!(gives_one_place, "{why}");
                assert_eq!(why, "values are larger than the component's memory");
            }
        }
    }
}
