//! Reads values that a component passes: from its memory, or from core values. Everything that it says is checked, because a
//! component may be hostile: pointers and lengths, alignment, indices of cases, characters and UTF-8. All that is read counts
//! against the store's limit for one call, by its size as JSON: so a value that is small here and large elsewhere, because of
//! long names or many small items, is bounded too, and so is the time to read one.

use wasmtime::component::__internal::wasmtime_environ::component::StringEncoding;
use wasmtime::component::__internal::{ComponentTypes, InterfaceType, LiftContext};
use wasmtime::component::Lift;
use wasmtime::{Result, ValRaw, bail, format_err};

use crate::abi::{Cases, all, is_as_in_memory, not_plain};
use crate::bytes::{PLAIN, Values, append_case, append_length, append_text};

/// The bits of the one NaN.
const NAN_32: u32 = 0x7fc0_0000;
const NAN_64: u64 = 0x7ff8_0000_0000_0000;

/// Room for most values, so that few are moved while they are read.
const ROOM: usize = 512;

/// Reads values of one call.
pub(crate) struct Lifter<'c, 'a> {
    cx: &'c mut LiftContext<'a>,
    types: &'a ComponentTypes,
    is_utf8: bool,
    out: Vec<u8>,
    size: usize,
}

impl<'c, 'a> Lifter<'c, 'a> {
    pub fn new(cx: &'c mut LiftContext<'a>) -> Self {
        let is_utf8 = matches!(cx.options().string_encoding, StringEncoding::Utf8);
        Self {
            types: cx.types,
            cx,
            is_utf8,
            out: Vec::with_capacity(ROOM),
            size: 0,
        }
    }

    /// What was read.
    pub fn finish(self) -> Values {
        Values {
            bytes: self.out,
            size: self.size,
        }
    }

    /// Count what was read, or is about to be.
    fn count(&mut self, size: usize) -> Result<()> {
        self.cx.consume_fuel(size)?;
        self.size += size;
        Ok(())
    }

    /// Read a function's arguments or results from memory, where they begin at this address.
    pub fn load_at(&mut self, ty: InterfaceType, address: usize) -> Result<()> {
        let abi = self.types.canonical_abi(&ty);
        if !address.is_multiple_of(abi.align32 as usize) {
            bail!("a pointer to values is not aligned");
        }
        let memory = self.cx.memory().get(address..);
        let memory = memory.and_then(|memory| memory.get(..abi.size32 as usize));
        let memory = memory.ok_or_else(|| format_err!("a pointer to values is out of bounds"))?;
        self.load_all(all(self.types, ty)?, memory)
    }

    /// Read a value from these bytes of memory.
    fn load(&mut self, ty: InterfaceType, memory: &'a [u8]) -> Result<()> {
        let types = self.types;
        self.count(PLAIN)?;
        match ty {
            InterfaceType::Bool => self.out.push(u8::from(memory[0] != 0)),
            InterfaceType::S8 | InterfaceType::U8 => self.out.push(memory[0]),
            InterfaceType::S16 | InterfaceType::U16 => self.out.extend(bytes::<2>(memory)),
            InterfaceType::S32 | InterfaceType::U32 => self.out.extend(bytes::<4>(memory)),
            InterfaceType::S64 | InterfaceType::U64 => self.out.extend(bytes::<8>(memory)),
            InterfaceType::Float32 => self.float_32(u32::from_le_bytes(bytes(memory))),
            InterfaceType::Float64 => self.float_64(u64::from_le_bytes(bytes(memory))),
            InterfaceType::Char => self.char(u32::from_le_bytes(bytes(memory)))?,
            InterfaceType::String => {
                let (pointer, length) = pair(memory);
                self.string(pointer, length)?;
            }
            InterfaceType::List(list) => {
                let (pointer, length) = pair(memory);
                self.list(types[list].element, pointer, length)?;
            }
            InterfaceType::Record(record) => {
                let fields = &types[record].fields;
                for field in fields {
                    self.count(field.name.len())?;
                }
                self.load_all(fields.iter().map(|field| field.ty), memory)?;
            }
            InterfaceType::Tuple(tuple) => {
                self.load_all(types[tuple].types.iter().copied(), memory)?;
            }
            InterfaceType::Flags(flags) => {
                let names = &types[flags].names;
                for (n, byte) in memory.iter().enumerate() {
                    self.flags(names.len(), n, *byte, |at| names[at].len())?;
                }
            }
            InterfaceType::Variant(_)
            | InterfaceType::Enum(_)
            | InterfaceType::Option(_)
            | InterfaceType::Result(_) => {
                let cases = Cases::of(types, ty);
                let mut index = [0; 4];
                index[..cases.size].copy_from_slice(&memory[..cases.size]);
                let index = u32::from_le_bytes(index);
                if let Some(payload) = self.case(&cases, index)? {
                    let size = types.canonical_abi(&payload).size32 as usize;
                    self.load(payload, &memory[cases.payload..][..size])?;
                }
            }
            _ => return Err(not_plain()),
        }
        Ok(())
    }

    /// Read values that lie one behind the other in memory.
    fn load_all(
        &mut self,
        all: impl Iterator<Item = InterfaceType>,
        memory: &'a [u8],
    ) -> Result<()> {
        let mut end = 0;
        for ty in all {
            let abi = self.types.canonical_abi(&ty);
            let at = abi.next_field32_size(&mut end);
            self.load(ty, &memory[at..end])?;
        }
        Ok(())
    }

    /// Read a function's arguments or results from core values.
    pub fn lift_all(&mut self, ty: InterfaceType, mut flat: &[ValRaw]) -> Result<()> {
        let mut all = all(self.types, ty)?;
        all.try_for_each(|ty| self.lift(ty, &mut flat))
    }

    /// Read a value from core values, and leave those behind it.
    fn lift(&mut self, ty: InterfaceType, flat: &mut &[ValRaw]) -> Result<()> {
        let types = self.types;
        self.count(PLAIN)?;
        match ty {
            InterfaceType::Bool => self.out.push(u8::from(next(flat)?.get_u32() != 0)),
            InterfaceType::S8 | InterfaceType::U8 => self.integer(next(flat)?, 1),
            InterfaceType::S16 | InterfaceType::U16 => self.integer(next(flat)?, 2),
            InterfaceType::S32 | InterfaceType::U32 => self.integer(next(flat)?, 4),
            InterfaceType::S64 | InterfaceType::U64 => {
                self.out.extend(next(flat)?.get_u64().to_le_bytes());
            }
            InterfaceType::Float32 => self.float_32(next(flat)?.get_f32()),
            InterfaceType::Float64 => self.float_64(next(flat)?.get_f64()),
            InterfaceType::Char => self.char(next(flat)?.get_u32())?,
            InterfaceType::String => {
                let (pointer, length) = (next(flat)?.get_u32(), next(flat)?.get_u32());
                self.string(pointer, length)?;
            }
            InterfaceType::List(list) => {
                let (pointer, length) = (next(flat)?.get_u32(), next(flat)?.get_u32());
                self.list(types[list].element, pointer, length)?;
            }
            InterfaceType::Record(record) => {
                for field in &types[record].fields {
                    self.count(field.name.len())?;
                    self.lift(field.ty, flat)?;
                }
            }
            InterfaceType::Tuple(tuple) => {
                for ty in &types[tuple].types {
                    self.lift(*ty, flat)?;
                }
            }
            InterfaceType::Flags(flags) => {
                let names = &types[flags].names;
                let size = types[flags].abi.size32 as usize;
                for n in (0..size).step_by(4) {
                    let word = next(flat)?.get_u32().to_le_bytes();
                    for (m, byte) in word.iter().enumerate().take(size - n) {
                        self.flags(names.len(), n + m, *byte, |at| names[at].len())?;
                    }
                }
            }
            InterfaceType::Variant(_)
            | InterfaceType::Enum(_)
            | InterfaceType::Option(_)
            | InterfaceType::Result(_) => {
                let cases = Cases::of(types, ty);
                let index = next(flat)?.get_u32();
                let payload = self.case(&cases, index)?;
                let (mut own, rest) = flat
                    .split_at_checked(cases.payload_flat)
                    .ok_or_else(missing)?;
                *flat = rest;
                if let Some(payload) = payload {
                    self.lift(payload, &mut own)?;
                }
            }
            _ => return Err(not_plain()),
        }
        Ok(())
    }

    /// The lowest bytes of a number.
    fn integer(&mut self, value: &ValRaw, size: usize) {
        self.out.extend(&value.get_u32().to_le_bytes()[..size]);
    }

    fn float_32(&mut self, bits: u32) {
        let bits = if f32::from_bits(bits).is_nan() {
            NAN_32
        } else {
            bits
        };
        self.out.extend(bits.to_le_bytes());
    }

    fn float_64(&mut self, bits: u64) {
        let bits = if f64::from_bits(bits).is_nan() {
            NAN_64
        } else {
            bits
        };
        self.out.extend(bits.to_le_bytes());
    }

    fn char(&mut self, value: u32) -> Result<()> {
        let value = char::try_from(value)?;
        self.out.extend(u32::from(value).to_le_bytes());
        Ok(())
    }

    /// The flags of one byte, by the length of a flag's name.
    fn flags(
        &mut self,
        names: usize,
        at: usize,
        byte: u8,
        name: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let known = byte & known_bits(names, at);
        self.out.push(known);
        let set = (0..8).filter(|bit| known & (1 << bit) != 0);
        set.map(|bit| name(at * 8 + bit))
            .try_for_each(|name| self.count(name + PLAIN))
    }

    /// A case's index. Returns the type of its payload.
    fn case(&mut self, cases: &Cases, index: u32) -> Result<Option<InterfaceType>> {
        let Some((name, payload)) = cases.case(self.types, index) else {
            bail!("discriminant {index} out of range");
        };
        append_case(&mut self.out, index, cases.size);
        self.count(name)?;
        Ok(payload)
    }

    fn string(&mut self, pointer: u32, length: u32) -> Result<()> {
        if !self.is_utf8 {
            let flat = [ValRaw::u32(pointer), ValRaw::u32(length)];
            let text = String::linear_lift_from_flat(self.cx, InterfaceType::String, &flat)?;
            self.size += text.len();
            return Ok(append_text(&mut self.out, &text)?);
        }
        let length = length as usize;
        let text = self.cx.memory().get(pointer as usize..);
        let text = text.and_then(|memory| memory.get(..length));
        let text =
            text.ok_or_else(|| format_err!("string pointer/length out of bounds of memory"))?;
        self.count(length)?;
        Ok(append_text(&mut self.out, str::from_utf8(text)?)?)
    }

    fn list(&mut self, item: InterfaceType, pointer: u32, length: u32) -> Result<()> {
        let abi = self.types.canonical_abi(&item);
        let (size, length) = (abi.size32 as usize, length as usize);
        let items = self.cx.memory().get(pointer as usize..);
        let items = items.and_then(|memory| memory.get(..length.checked_mul(size)?));
        let items =
            items.ok_or_else(|| format_err!("list pointer/length out of bounds of memory"))?;
        if !pointer.is_multiple_of(abi.align32) {
            bail!("list pointer is not aligned");
        }
        append_length(&mut self.out, length)?;
        if is_as_in_memory(item) {
            self.count(length.saturating_mul(PLAIN))?;
            self.out.extend(items);
            return Ok(());
        }
        for n in 0..length {
            self.load(item, &items[n * size..][..size])?;
        }
        Ok(())
    }
}

/// The bits of a byte of flags that have names.
fn known_bits(names: usize, byte: usize) -> u8 {
    match names.saturating_sub(byte * 8) {
        left @ 0..8 => (1 << left) - 1,
        _ => u8::MAX,
    }
}

/// The first bytes of memory that is as long as its type says.
fn bytes<const N: usize>(memory: &[u8]) -> [u8; N] {
    let mut first = [0; N];
    first.copy_from_slice(&memory[..N]);
    first
}

/// A pointer and a length.
fn pair(memory: &[u8]) -> (u32, u32) {
    let [pointer, length] =
        [&memory[..4], &memory[4..]].map(|part| u32::from_le_bytes(bytes(part)));
    (pointer, length)
}

fn next<'f>(flat: &mut &'f [ValRaw]) -> Result<&'f ValRaw> {
    flat.split_off_first().ok_or_else(missing)
}

fn missing() -> wasmtime::Error {
    format_err!("a core value is missing")
}
