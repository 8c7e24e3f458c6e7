//! Writes values for a component: into its memory, or as core values. The component gives the memory itself, through its
//! `realloc`, one block for each string and list.
//!
//! A block with parts is put together here, and copied into the memory when it is complete: to find the memory costs more
//! than most parts do.

use std::cell::Cell;

use wasmtime::component::__internal::wasmtime_environ::component::StringEncoding;
use wasmtime::component::__internal::{ComponentTypes, InterfaceType, LowerContext};
use wasmtime::{Result, ValRaw, bail, format_err};

use crate::abi::{Cases, is_as_in_memory, not_plain};
use crate::bytes::{Malformed, Reader, Values};
use crate::calls::lower_text;

/// The most bytes of one string or list, by the canonical ABI.
const BLOCK_MAX: usize = (1 << 31) - 1;
/// The largest alignment of a type.
const ALIGN_MAX: usize = 8;
/// Blocks of less than this are put together whatever the component's memory, and their room is kept.
const SMALL: usize = 1 << 16;

thread_local! {
    /// Room for blocks, which the calls of a thread use one after the other.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Writes values of one call.
pub(crate) struct Lowerer<'c, 'a, 'v, T: 'static> {
    cx: &'c mut LowerContext<'a, T>,
    types: &'a ComponentTypes,
    is_utf8: bool,
    values: Reader<'v>,
    /// The blocks that are being put together: behind each are those of its parts.
    blocks: Vec<u8>,
}

impl<'c, 'a, 'v, T: 'static> Lowerer<'c, 'a, 'v, T> {
    pub fn new(cx: &'c mut LowerContext<'a, T>, values: &'v Values) -> Self {
        let is_utf8 = matches!(cx.options().string_encoding, StringEncoding::Utf8);
        Self {
            types: cx.types,
            cx,
            is_utf8,
            values: Reader::of(values),
            // A call within a call has room of its own.
            blocks: ROOM.take(),
        }
    }

    /// All values were written.
    pub fn finish(self) -> Result<()> {
        Ok(self.values.ends()?)
    }

    /// Write a value into a new block of memory. Returns its address.
    pub fn store_new(&mut self, ty: InterfaceType) -> Result<usize> {
        let abi = self.types.canonical_abi(&ty);
        let address = self.cx.realloc(0, 0, abi.align32, abi.size32 as usize)?;
        self.store_at(ty, address)?;
        Ok(address)
    }

    /// Write a value into memory at this address, where there is room for it.
    pub fn store_at(&mut self, ty: InterfaceType, address: usize) -> Result<()> {
        let size = self.types.canonical_abi(&ty).size32 as usize;
        self.block(size, address, |this, at| this.store(ty, at))
    }

    /// Put a block of so many bytes together, and copy it to this address.
    fn block(
        &mut self,
        size: usize,
        address: usize,
        store: impl FnOnce(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        let before = self.blocks.len();
        // Parts have the same place as in memory, because this begins where any type may.
        let at = before.next_multiple_of(ALIGN_MAX);
        // Blocks that lie apart fit. A hostile component can give one place for many.
        if at + size > SMALL && at + size > self.cx.as_slice_mut().len() {
            bail!("values are larger than the component's memory");
        }
        self.blocks.resize(at + size, 0);
        store(self, at)?;
        copy(self.cx, address, &self.blocks[at..])?;
        self.blocks.truncate(before);
        Ok(())
    }

    /// Write a value into the last block, at this place of `blocks`.
    fn store(&mut self, ty: InterfaceType, at: usize) -> Result<()> {
        let types = self.types;
        match ty {
            InterfaceType::Bool | InterfaceType::S8 | InterfaceType::U8 => self.copy::<1>(at),
            InterfaceType::S16 | InterfaceType::U16 => self.copy::<2>(at),
            InterfaceType::S32
            | InterfaceType::U32
            | InterfaceType::Float32
            | InterfaceType::Char => self.copy::<4>(at),
            InterfaceType::S64 | InterfaceType::U64 | InterfaceType::Float64 => self.copy::<8>(at),
            InterfaceType::String => {
                if !self.is_utf8 {
                    let pair = lower_text(self.values.text()?, self.cx)?;
                    let pair = pair.map(|value| value.get_u32().to_le_bytes());
                    return self.put(at, pair.as_flattened());
                }
                let pair = self.string()?;
                self.put_pair(at, pair)
            }
            InterfaceType::List(list) => {
                let pair = self.list(types[list].element)?;
                self.put_pair(at, pair)
            }
            InterfaceType::Record(record) => {
                self.store_all(types[record].fields.iter().map(|field| field.ty), at)
            }
            InterfaceType::Tuple(tuple) => self.store_all(types[tuple].types.iter().copied(), at),
            InterfaceType::Flags(flags) => {
                let bytes = self.values.take(types[flags].abi.size32 as usize)?;
                self.put(at, bytes)
            }
            InterfaceType::Variant(_)
            | InterfaceType::Enum(_)
            | InterfaceType::Option(_)
            | InterfaceType::Result(_) => {
                let cases = Cases::of(types, ty);
                let (case, payload) = self.case(&cases)?;
                self.put(at, &case.to_le_bytes()[..cases.size])?;
                payload.map_or(Ok(()), |payload| self.store(payload, at + cases.payload))
            }
            _ => Err(not_plain()),
        }
    }

    /// Write values one behind the other.
    fn store_all(&mut self, all: impl Iterator<Item = InterfaceType>, at: usize) -> Result<()> {
        let mut end = at;
        for ty in all {
            let at = self.types.canonical_abi(&ty).next_field32_size(&mut end);
            self.store(ty, at)?;
        }
        Ok(())
    }

    /// Write a value as core values, and leave room behind them.
    pub fn lower(&mut self, ty: InterfaceType, flat: &mut &mut [ValRaw]) -> Result<()> {
        let types = self.types;
        match ty {
            InterfaceType::Bool | InterfaceType::U8 => {
                let [value] = self.values.array()?;
                push(flat, ValRaw::u32(value.into()))
            }
            InterfaceType::S8 => {
                let value = i8::from_le_bytes(self.values.array()?);
                push(flat, ValRaw::i32(value.into()))
            }
            InterfaceType::U16 => {
                let value = u16::from_le_bytes(self.values.array()?);
                push(flat, ValRaw::u32(value.into()))
            }
            InterfaceType::S16 => {
                let value = i16::from_le_bytes(self.values.array()?);
                push(flat, ValRaw::i32(value.into()))
            }
            InterfaceType::S32
            | InterfaceType::U32
            | InterfaceType::Float32
            | InterfaceType::Char => {
                let bits = u32::from_le_bytes(self.values.array()?);
                push(flat, ValRaw::u32(bits))
            }
            InterfaceType::S64 | InterfaceType::U64 | InterfaceType::Float64 => {
                let bits = u64::from_le_bytes(self.values.array()?);
                push(flat, ValRaw::u64(bits))
            }
            InterfaceType::String => {
                if !self.is_utf8 {
                    let pair = lower_text(self.values.text()?, self.cx)?;
                    return pair.into_iter().try_for_each(|value| push(flat, value));
                }
                let pair = self.string()?;
                push_pair(flat, pair)
            }
            InterfaceType::List(list) => {
                let pair = self.list(types[list].element)?;
                push_pair(flat, pair)
            }
            InterfaceType::Record(record) => {
                let mut fields = types[record].fields.iter();
                fields.try_for_each(|field| self.lower(field.ty, flat))
            }
            InterfaceType::Tuple(tuple) => {
                let mut all = types[tuple].types.iter();
                all.try_for_each(|ty| self.lower(*ty, flat))
            }
            InterfaceType::Flags(flags) => {
                let bytes = self.values.take(types[flags].abi.size32 as usize)?;
                bytes.chunks(4).try_for_each(|part| {
                    let mut word = [0; 4];
                    word[..part.len()].copy_from_slice(part);
                    push(flat, ValRaw::u32(u32::from_le_bytes(word)))
                })
            }
            InterfaceType::Variant(_)
            | InterfaceType::Enum(_)
            | InterfaceType::Option(_)
            | InterfaceType::Result(_) => {
                let cases = Cases::of(types, ty);
                let (case, payload) = self.case(&cases)?;
                push(flat, ValRaw::u32(case))?;
                let mut own = flat
                    .split_off_mut(..cases.payload_flat)
                    .ok_or_else(no_room)?;
                payload.map_or(Ok(()), |payload| self.lower(payload, &mut own))
            }
            _ => Err(not_plain()),
        }
    }

    fn case(&mut self, cases: &Cases) -> Result<(u32, Option<InterfaceType>)> {
        let case = self.values.case(cases.size)?;
        let (_, payload) = cases.case(self.types, case).ok_or(Malformed)?;
        Ok((case, payload))
    }

    /// A string as UTF-8 in a block of its own. Returns its address and length.
    fn string(&mut self) -> Result<(usize, usize)> {
        let text = self.values.utf8()?;
        if text.len() > BLOCK_MAX {
            bail!(
                "a string of {} bytes is too long for a component",
                text.len()
            );
        }
        let address = self.cx.realloc(0, 0, 1, text.len())?;
        copy(self.cx, address, text)?;
        Ok((address, text.len()))
    }

    /// The items of a list in a block of their own. Returns its address and their number.
    fn list(&mut self, item: InterfaceType) -> Result<(usize, usize)> {
        let abi = self.types.canonical_abi(&item);
        let (length, size) = (self.values.length()?, abi.size32 as usize);
        let bytes = length.checked_mul(size).filter(|bytes| *bytes <= BLOCK_MAX);
        let bytes = bytes.ok_or_else(|| format_err!("a list of {length} items is too long"))?;
        let address = self.cx.realloc(0, 0, abi.align32, bytes)?;
        if is_as_in_memory(item) {
            copy(self.cx, address, self.values.take(bytes)?)?;
        } else {
            self.block(bytes, address, |this, at| {
                (0..length).try_for_each(|n| this.store(item, at + n * size))
            })?;
        }
        Ok((address, length))
    }

    fn copy<const N: usize>(&mut self, at: usize) -> Result<()> {
        let bytes = self.values.array::<N>()?;
        self.put(at, &bytes)
    }

    fn put(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        let place = self.blocks.get_mut(at..at + bytes.len());
        let place = place.ok_or_else(|| format_err!("a value is beyond the end of its block"))?;
        place.copy_from_slice(bytes);
        Ok(())
    }

    fn put_pair(&mut self, at: usize, (address, length): (usize, usize)) -> Result<()> {
        let [address, length] = [address, length].map(u32::try_from);
        let mut pair = [0; 8];
        pair[..4].copy_from_slice(&address?.to_le_bytes());
        pair[4..].copy_from_slice(&length?.to_le_bytes());
        self.put(at, &pair)
    }
}

/// Copy bytes into the component's memory.
fn copy<T: 'static>(cx: &mut LowerContext<'_, T>, address: usize, bytes: &[u8]) -> Result<()> {
    let memory = cx.as_slice_mut().get_mut(address..);
    let memory = memory.and_then(|memory| memory.get_mut(..bytes.len()));
    let memory = memory.ok_or_else(|| format_err!("a value is beyond the end of memory"))?;
    memory.copy_from_slice(bytes);
    Ok(())
}

impl<T: 'static> Drop for Lowerer<'_, '_, '_, T> {
    fn drop(&mut self) {
        let mut room = std::mem::take(&mut self.blocks);
        if room.capacity() <= SMALL {
            room.clear();
            ROOM.set(room);
        }
    }
}

fn push(flat: &mut &mut [ValRaw], value: ValRaw) -> Result<()> {
    *flat.split_off_first_mut().ok_or_else(no_room)? = value;
    Ok(())
}

fn push_pair(flat: &mut &mut [ValRaw], (address, length): (usize, usize)) -> Result<()> {
    push(flat, ValRaw::u64(address as u64))?;
    push(flat, ValRaw::u64(length as u64))
}

fn no_room() -> wasmtime::Error {
    format_err!("there is no room for a core value")
}
