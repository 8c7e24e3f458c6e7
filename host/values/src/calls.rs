//! What wasmtime calls to pass values: a function of the host that components call, and a component's function that the host
//! calls.
//!
//! wasmtime reads and writes the arguments of a host's function through traits that a type implements: `ComponentType`,
//! `Lift` and `Lower`. Usually a macro does it for a type that has one shape. The types here have all shapes: they get the
//! function's own type at run time, and go by it.
//!
//! The traits are unsafe because wasmtime lays out a block of core values by `ComponentType::Lower`, and trusts that it has
//! as many as the function has. This holds because:
//!
//! - A function that components call gives a block of just as many core values as it has. [`Given`] and [`Returned`] are for
//!   one number of them each. Their type check compares it with the function's own type, when a component is linked, and so
//!   before any call. Where values are in memory, no block of theirs is used.
//! - For a component's function, [`Passed`] has room for as many as a function can have, and [`Answered`] likewise. wasmtime
//!   itself does the same for its trees. All core values are written, those that the function does not have with 0.
//! - Where arguments or results are in memory, there is one core value, their address. Nothing is read from or written to an
//!   address without a check of the bounds, in safe code ([`crate::lift`], [`crate::lower`]).
//! - `ABI`, which says how values lie in memory, is what wasmtime goes by where a value of such a type is part of another
//!   one. These types are private, and never part of another. For whole arguments wasmtime cuts out `ABI`'s size of memory,
//!   which is 0 here; their place is all that is taken from it.

#![allow(
    unsafe_code,
    reason = "the one place where this host tells wasmtime how values are passed; the module's documentation says why it is right"
)]

use std::mem::MaybeUninit;
use std::sync::Arc;

use wasmtime::component::__internal::{
    CanonicalAbiInfo, ComponentTypes, InstanceType, InterfaceType, LiftContext, LowerContext,
};
use wasmtime::component::types::Type;
use wasmtime::component::{ComponentNamedList, ComponentType, Func, Lift, LinkerInstance, Lower};
use wasmtime::{AsContextMut, Result, StoreContextMut, ValRaw, bail};

use crate::bytes::Values;
use crate::flat::{self, PARAMS_MAX, RESULTS_MAX};
use crate::lift::Lifter;
use crate::lower::Lowerer;

/// A function of the host that components call: arguments to results.
pub type HostFunction<T> =
    Arc<dyn Fn(StoreContextMut<'_, T>, Values) -> Result<Values> + Send + Sync>;

/// Link a function of the host, with these types of parameters and results, for components that import it by this name. The
/// component's own types must be the same. wasmtime refuses a component whose import has another number of core values; what
/// is in memory is read and written by the component's own types.
///
/// # Errors
/// When a function of this name is linked already.
pub fn link<'t, T: 'static>(
    instance: &mut LinkerInstance<'_, T>,
    name: &str,
    (params, results): (
        impl IntoIterator<Item = &'t Type>,
        impl IntoIterator<Item = &'t Type>,
    ),
    function: HostFunction<T>,
) -> Result<()> {
    // Those in memory are read by their address, whatever the number.
    let params = flat::all(params, PARAMS_MAX).unwrap_or(0);
    let results = flat::all(results, RESULTS_MAX).unwrap_or(0);
    macro_rules! by_numbers {
        ($($count:literal)*) => {
            match (params, results) {
                $(
                    ($count, 0) => link_one::<T, $count, 0>(instance, name, function),
                    ($count, 1) => link_one::<T, $count, 1>(instance, name, function),
                )*
                _ => bail!("{name} has more core values than a function can have"),
            }
        };
    }
    by_numbers!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
}

fn link_one<T: 'static, const PARAMS: usize, const RESULTS: usize>(
    instance: &mut LinkerInstance<'_, T>,
    name: &str,
    function: HostFunction<T>,
) -> Result<()> {
    instance.func_wrap(name, move |store, given: Given<PARAMS>| {
        function(store, given.0).map(Returned::<RESULTS>)
    })
}

/// Call a component's function. Its types must be those of the values.
///
/// # Errors
/// When the values do not fit the function, or the component traps or exceeds a limit. The instance must then be dropped.
pub fn call(func: &Func, mut store: impl AsContextMut, values: &Values) -> Result<Values> {
    let typed = func.typed::<Passed<'_>, Answered>(&store)?;
    typed
        .call(&mut store, Passed(values))
        .map(|answer| answer.0)
}

/// Arguments that a component passes to the host, in so many core values, or in memory.
struct Given<const N: usize>(Values);

/// The host's results to a component, in so many core values, or in memory.
struct Returned<const N: usize>(Values);

/// The host's arguments to a component.
struct Passed<'v>(&'v Values);

/// A component's results to the host.
struct Answered(Values);

/// Check that the values of this type have so many core values, or are in memory.
fn has_flat(
    ty: &InterfaceType,
    types: &InstanceType<'_>,
    (max, flat): (usize, usize),
) -> Result<()> {
    match types.types.canonical_abi(ty).flat_count(max) {
        Some(count) if count != flat => bail!("{count} core values where there should be {flat}"),
        _ => Ok(()),
    }
}

/// Whether values of this type are in memory.
fn is_in_memory(types: &ComponentTypes, ty: &InterfaceType, max: usize) -> bool {
    types.canonical_abi(ty).flat_count(max).is_none()
}

/// Read values from memory. Of their place, wasmtime gives the beginning alone, because `ABI` says that they have no bytes.
fn read_at(cx: &mut LiftContext<'_>, ty: InterfaceType, place: &[u8]) -> Result<Values> {
    let begin = cx.memory().as_ptr().addr();
    let address = place.as_ptr().addr().wrapping_sub(begin);
    let mut lifter = Lifter::new(cx);
    lifter.load_at(ty, address)?;
    Ok(lifter.finish())
}

/// Write values into memory, where there is room for them.
fn write_at<T>(
    cx: &mut LowerContext<'_, T>,
    ty: InterfaceType,
    (values, address): (&Values, usize),
) -> Result<()> {
    let mut lowerer = Lowerer::new(cx, values);
    lowerer.store_at(ty, address)?;
    lowerer.finish()
}

/// A string as a component has it: its address and its length, in its encoding.
pub(crate) fn lower_text<T>(text: &str, cx: &mut LowerContext<'_, T>) -> Result<[ValRaw; 2]> {
    let mut pair = MaybeUninit::new([ValRaw::u64(0); 2]);
    text.linear_lower_to_flat(cx, InterfaceType::String, &mut pair)?;
    // SAFETY: it had a value from its beginning.
    Ok(unsafe { pair.assume_init() })
}

// SAFETY: for all implementations, see the module's documentation.
unsafe impl<const N: usize> ComponentType for Given<N> {
    type Lower = [ValRaw; N];
    const ABI: CanonicalAbiInfo = CanonicalAbiInfo::ZERO;

    fn typecheck(ty: &InterfaceType, types: &InstanceType<'_>) -> Result<()> {
        has_flat(ty, types, (PARAMS_MAX, N))
    }
}

// SAFETY: as above.
unsafe impl<const N: usize> ComponentNamedList for Given<N> {}

// SAFETY: as above.
unsafe impl<const N: usize> Lift for Given<N> {
    fn linear_lift_from_flat(
        cx: &mut LiftContext<'_>,
        ty: InterfaceType,
        flat: &Self::Lower,
    ) -> Result<Self> {
        let mut lifter = Lifter::new(cx);
        lifter.lift_all(ty, flat.as_slice())?;
        Ok(Self(lifter.finish()))
    }

    fn linear_lift_from_memory(
        cx: &mut LiftContext<'_>,
        ty: InterfaceType,
        place: &[u8],
    ) -> Result<Self> {
        read_at(cx, ty, place).map(Self)
    }
}

// SAFETY: as above.
unsafe impl<const N: usize> ComponentType for Returned<N> {
    type Lower = [ValRaw; N];
    const ABI: CanonicalAbiInfo = CanonicalAbiInfo::ZERO;

    fn typecheck(ty: &InterfaceType, types: &InstanceType<'_>) -> Result<()> {
        has_flat(ty, types, (RESULTS_MAX, N))
    }
}

// SAFETY: as above.
unsafe impl<const N: usize> ComponentNamedList for Returned<N> {}

// SAFETY: as above.
unsafe impl<const N: usize> Lower for Returned<N> {
    fn linear_lower_to_flat<T>(
        &self,
        cx: &mut LowerContext<'_, T>,
        ty: InterfaceType,
        flat: &mut MaybeUninit<Self::Lower>,
    ) -> Result<()> {
        let mut core = [ValRaw::u64(0); N];
        let mut lowerer = Lowerer::new(cx, &self.0);
        lowerer.lower(ty, &mut core.as_mut_slice())?;
        flat.write(core);
        lowerer.finish()
    }

    fn linear_lower_to_memory<T>(
        &self,
        cx: &mut LowerContext<'_, T>,
        ty: InterfaceType,
        address: usize,
    ) -> Result<()> {
        write_at(cx, ty, (&self.0, address))
    }
}

// SAFETY: as above.
unsafe impl ComponentType for Passed<'_> {
    type Lower = [ValRaw; PARAMS_MAX];
    const ABI: CanonicalAbiInfo = CanonicalAbiInfo::ZERO;

    fn typecheck(_: &InterfaceType, _: &InstanceType<'_>) -> Result<()> {
        Ok(())
    }
}

// SAFETY: as above.
unsafe impl ComponentNamedList for Passed<'_> {}

// SAFETY: as above.
unsafe impl Lower for Passed<'_> {
    fn linear_lower_to_flat<T>(
        &self,
        cx: &mut LowerContext<'_, T>,
        ty: InterfaceType,
        flat: &mut MaybeUninit<Self::Lower>,
    ) -> Result<()> {
        let mut core = [ValRaw::u64(0); PARAMS_MAX];
        let in_memory = is_in_memory(cx.types, &ty, PARAMS_MAX);
        let mut lowerer = Lowerer::new(cx, self.0);
        if in_memory {
            core[0] = ValRaw::u64(lowerer.store_new(ty)? as u64);
        } else {
            lowerer.lower(ty, &mut core.as_mut_slice())?;
        }
        flat.write(core);
        lowerer.finish()
    }

    fn linear_lower_to_memory<T>(
        &self,
        cx: &mut LowerContext<'_, T>,
        ty: InterfaceType,
        address: usize,
    ) -> Result<()> {
        write_at(cx, ty, (self.0, address))
    }
}

// SAFETY: as above.
unsafe impl ComponentType for Answered {
    type Lower = [ValRaw; RESULTS_MAX];
    const ABI: CanonicalAbiInfo = CanonicalAbiInfo::ZERO;

    fn typecheck(_: &InterfaceType, _: &InstanceType<'_>) -> Result<()> {
        Ok(())
    }
}

// SAFETY: as above.
unsafe impl ComponentNamedList for Answered {}

// SAFETY: as above.
unsafe impl Lift for Answered {
    fn linear_lift_from_flat(
        cx: &mut LiftContext<'_>,
        ty: InterfaceType,
        flat: &Self::Lower,
    ) -> Result<Self> {
        let in_memory = is_in_memory(cx.types, &ty, RESULTS_MAX);
        let mut lifter = Lifter::new(cx);
        if in_memory {
            lifter.load_at(ty, flat[0].get_u32() as usize)?;
        } else {
            lifter.lift_all(ty, flat.as_slice())?;
        }
        Ok(Self(lifter.finish()))
    }

    fn linear_lift_from_memory(
        cx: &mut LiftContext<'_>,
        ty: InterfaceType,
        place: &[u8],
    ) -> Result<Self> {
        read_at(cx, ty, place).map(Self)
    }
}
