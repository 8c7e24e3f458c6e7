//! What the canonical ABI says of a type, as wasmtime has computed it: for reading and for writing.

use wasmtime::component::__internal::{ComponentTypes, InterfaceType};
use wasmtime::{Result, bail, format_err};

/// The cases of a type that has some.
pub(crate) struct Cases {
    ty: InterfaceType,
    /// The bytes of an index.
    pub size: usize,
    /// Where the payload begins in memory.
    pub payload: usize,
    /// The core values of the largest payload.
    pub payload_flat: usize,
}

impl Cases {
    /// Those of a variant, an enum, an option or a result.
    pub fn of(types: &ComponentTypes, ty: InterfaceType) -> Self {
        let info = match ty {
            InterfaceType::Variant(i) => Some(&types[i].info),
            InterfaceType::Enum(i) => Some(&types[i].info),
            InterfaceType::Option(i) => Some(&types[i].info),
            InterfaceType::Result(i) => Some(&types[i].info),
            _ => None,
        };
        let flat = types.canonical_abi(&ty).flat_count.map_or(0, usize::from);
        Self {
            ty,
            size: info.map_or(0, |info| info.size.into()),
            payload: info.map_or(0, |info| info.payload_offset32 as usize),
            payload_flat: flat.saturating_sub(1),
        }
    }

    /// The length of a case's name, and the type of its payload if it has one; none if there is no such case. The names of
    /// options and results do not count.
    pub fn case(
        &self,
        types: &ComponentTypes,
        case: u32,
    ) -> Option<(usize, Option<InterfaceType>)> {
        let case = case as usize;
        let unnamed = |payloads: [Option<InterfaceType>; 2]| {
            let payload = payloads.get(case).copied();
            payload.map(|payload| (0, payload))
        };
        match self.ty {
            InterfaceType::Variant(i) => {
                let case = types[i].cases.get_index(case);
                case.map(|(name, payload)| (name.len(), *payload))
            }
            InterfaceType::Enum(i) => {
                let names = &types[i].names;
                (case < names.len()).then(|| (names[case].len(), None))
            }
            InterfaceType::Option(i) => unnamed([None, Some(types[i].ty)]),
            InterfaceType::Result(i) => unnamed([types[i].ok, types[i].err]),
            _ => None,
        }
    }
}

/// The types of a function's arguments or results, which wasmtime gives as those of a tuple.
pub(crate) fn all(
    types: &ComponentTypes,
    ty: InterfaceType,
) -> Result<impl Iterator<Item = InterfaceType> + '_> {
    let InterfaceType::Tuple(all) = ty else {
        bail!("a function's values are no tuple");
    };
    Ok(types[all].types.iter().copied())
}

/// Whether a value has the same bytes here as in memory, whatever a component has there.
pub(crate) fn is_as_in_memory(ty: InterfaceType) -> bool {
    matches!(
        ty,
        InterfaceType::S8
            | InterfaceType::U8
            | InterfaceType::S16
            | InterfaceType::U16
            | InterfaceType::S32
            | InterfaceType::U32
            | InterfaceType::S64
            | InterfaceType::U64
    )
}

/// Values of this type do not cross between components.
pub(crate) fn not_plain() -> wasmtime::Error {
    format_err!("resources, maps, futures and streams do not cross between components")
}
