//! The same values as wasmtime's trees: for people, JSON and rules.

use wasmtime::component::Val;
use wasmtime::component::types::Type;

use crate::bytes::{Malformed, PLAIN, Reader, Values, append_case, append_length, append_text};
use crate::shapes::{Shape, case_size, flags_size};

/// A tree is not of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a value does not fit its type")]
pub struct DoesNotFit;

impl From<Malformed> for DoesNotFit {
    fn from(_: Malformed) -> Self {
        Self
    }
}

impl Values {
    /// The bytes of trees of these types.
    ///
    /// # Errors
    /// When there are more or fewer than types, or one is not of its type.
    pub fn of<'t>(
        types: impl ExactSizeIterator<Item = &'t Type>,
        trees: &[Val],
    ) -> Result<Self, DoesNotFit> {
        if types.len() != trees.len() {
            return Err(DoesNotFit);
        }
        let mut values = Self::default();
        for (ty, tree) in types.zip(trees) {
            values.append(&Shape::of(ty)?, tree)?;
        }
        Ok(values)
    }

    /// These values as trees of their types.
    ///
    /// # Errors
    /// When the bytes are not of these types.
    pub fn trees<'t>(
        &self,
        types: impl IntoIterator<Item = &'t Type>,
    ) -> Result<Vec<Val>, Malformed> {
        let mut reader = Reader::of(self);
        let trees = types.into_iter();
        let trees = trees.map(|ty| tree(&mut reader, &Shape::of(ty)?));
        let trees = trees.collect::<Result<_, _>>()?;
        reader.ends()?;
        Ok(trees)
    }

    fn append(&mut self, shape: &Shape, tree: &Val) -> Result<(), DoesNotFit> {
        self.size += PLAIN;
        match (shape, tree) {
            (Shape::Scalar(ty), value) => self.append_scalar(ty, value)?,
            (Shape::List(item), Val::List(items)) => {
                append_length(&mut self.bytes, items.len())?;
                items.iter().try_for_each(|v| self.append(item, v))?;
            }
            (Shape::Record(fields), Val::Record(values)) if fields.len() == values.len() => {
                for ((known, shape), (name, value)) in fields.iter().zip(values) {
                    if known != name {
                        return Err(DoesNotFit);
                    }
                    self.size += name.len();
                    self.append(shape, value)?;
                }
            }
            (Shape::Tuple(parts), Val::Tuple(values)) if parts.len() == values.len() => {
                let mut both = parts.iter().zip(values);
                both.try_for_each(|(part, value)| self.append(part, value))?;
            }
            (Shape::Variant(cases), Val::Variant(name, payload)) => {
                let at = cases.iter().position(|(known, _)| known == name);
                let at = at.ok_or(DoesNotFit)?;
                self.append_case(at, cases.len(), name.len())?;
                self.append_payload(cases[at].1.as_ref(), payload.as_deref())?;
            }
            (Shape::Enum(names), Val::Enum(name)) => {
                let at = names.iter().position(|known| known == name);
                self.append_case(at.ok_or(DoesNotFit)?, names.len(), name.len())?;
            }
            (Shape::Option(inner), Val::Option(payload)) => {
                self.append_case(usize::from(payload.is_some()), 2, 0)?;
                let inner = payload.as_ref().map(|_| &**inner);
                self.append_payload(inner, payload.as_deref())?;
            }
            (Shape::Result(payloads), Val::Result(result)) => {
                let at = usize::from(result.is_err());
                self.append_case(at, 2, 0)?;
                let (Ok(payload) | Err(payload)) = result;
                self.append_payload(payloads[at].as_deref(), payload.as_deref())?;
            }
            (Shape::Flags(names), Val::Flags(set)) => {
                let begin = self.bytes.len();
                self.bytes.resize(begin + flags_size(names.len()), 0);
                for name in set {
                    let at = names.iter().position(|known| known == name);
                    let at = at.ok_or(DoesNotFit)?;
                    self.bytes[begin + at / 8] |= 1 << (at % 8);
                    self.size += name.len() + PLAIN;
                }
            }
            _ => return Err(DoesNotFit),
        }
        Ok(())
    }

    fn append_scalar(&mut self, ty: &Type, value: &Val) -> Result<(), DoesNotFit> {
        let bytes = &mut self.bytes;
        match (ty, value) {
            (Type::Bool, Val::Bool(v)) => bytes.push(u8::from(*v)),
            (Type::S8, Val::S8(v)) => bytes.extend(v.to_le_bytes()),
            (Type::U8, Val::U8(v)) => bytes.push(*v),
            (Type::S16, Val::S16(v)) => bytes.extend(v.to_le_bytes()),
            (Type::U16, Val::U16(v)) => bytes.extend(v.to_le_bytes()),
            (Type::S32, Val::S32(v)) => bytes.extend(v.to_le_bytes()),
            (Type::U32, Val::U32(v)) => bytes.extend(v.to_le_bytes()),
            (Type::S64, Val::S64(v)) => bytes.extend(v.to_le_bytes()),
            (Type::U64, Val::U64(v)) => bytes.extend(v.to_le_bytes()),
            (Type::Float32, Val::Float32(v)) => {
                let v = if v.is_nan() { f32::NAN } else { *v };
                bytes.extend(v.to_le_bytes());
            }
            (Type::Float64, Val::Float64(v)) => {
                let v = if v.is_nan() { f64::NAN } else { *v };
                bytes.extend(v.to_le_bytes());
            }
            (Type::Char, Val::Char(v)) => bytes.extend(u32::from(*v).to_le_bytes()),
            (Type::String, Val::String(v)) => {
                append_text(bytes, v)?;
                self.size += v.len();
            }
            _ => return Err(DoesNotFit),
        }
        Ok(())
    }

    /// Append a case's index, and count its name.
    fn append_case(&mut self, at: usize, cases: usize, name: usize) -> Result<(), DoesNotFit> {
        let at = u32::try_from(at).map_err(|_| DoesNotFit)?;
        append_case(&mut self.bytes, at, case_size(cases));
        self.size += name;
        Ok(())
    }

    fn append_payload(
        &mut self,
        shape: Option<&Shape>,
        payload: Option<&Val>,
    ) -> Result<(), DoesNotFit> {
        match (shape, payload) {
            (Some(shape), Some(payload)) => self.append(shape, payload),
            (None, None) => Ok(()),
            _ => Err(DoesNotFit),
        }
    }
}

fn tree(reader: &mut Reader<'_>, shape: &Shape) -> Result<Val, Malformed> {
    Ok(match shape {
        Shape::Scalar(ty) => scalar(reader, ty)?,
        Shape::List(item) => {
            let items = (0..reader.length()?).map(|_| tree(reader, item));
            Val::List(items.collect::<Result<_, _>>()?)
        }
        Shape::Record(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, shape)| Ok((name.clone(), tree(reader, shape)?)));
            Val::Record(fields.collect::<Result<_, _>>()?)
        }
        Shape::Tuple(parts) => {
            let values = parts.iter().map(|part| tree(reader, part));
            Val::Tuple(values.collect::<Result<_, _>>()?)
        }
        Shape::Variant(cases) => {
            let (name, shape) = case(reader, cases)?;
            Val::Variant(name.clone(), payload(reader, shape.as_ref())?)
        }
        Shape::Enum(names) => Val::Enum(case(reader, names)?.clone()),
        Shape::Option(inner) => {
            let shapes = [None, Some(&**inner)];
            let shape = *case(reader, &shapes)?;
            Val::Option(payload(reader, shape)?)
        }
        Shape::Result([ok, err]) => match case(reader, &[true, false])? {
            true => Val::Result(Ok(payload(reader, ok.as_deref())?)),
            false => Val::Result(Err(payload(reader, err.as_deref())?)),
        },
        Shape::Flags(names) => {
            let bits = reader.take(flags_size(names.len()))?;
            let named = names.iter().enumerate();
            let set = named.filter(|(n, _)| bits[n / 8] & (1 << (n % 8)) != 0);
            Val::Flags(set.map(|(_, name)| name.clone()).collect())
        }
    })
}

fn scalar(reader: &mut Reader<'_>, ty: &Type) -> Result<Val, Malformed> {
    Ok(match ty {
        Type::Bool => Val::Bool(reader.array()? != [0]),
        Type::S8 => Val::S8(i8::from_le_bytes(reader.array()?)),
        Type::U8 => Val::U8(u8::from_le_bytes(reader.array()?)),
        Type::S16 => Val::S16(i16::from_le_bytes(reader.array()?)),
        Type::U16 => Val::U16(u16::from_le_bytes(reader.array()?)),
        Type::S32 => Val::S32(i32::from_le_bytes(reader.array()?)),
        Type::U32 => Val::U32(u32::from_le_bytes(reader.array()?)),
        Type::S64 => Val::S64(i64::from_le_bytes(reader.array()?)),
        Type::U64 => Val::U64(u64::from_le_bytes(reader.array()?)),
        Type::Float32 => Val::Float32(f32::from_le_bytes(reader.array()?)),
        Type::Float64 => Val::Float64(f64::from_le_bytes(reader.array()?)),
        Type::Char => {
            let value = u32::from_le_bytes(reader.array()?);
            Val::Char(char::try_from(value).map_err(|_| Malformed)?)
        }
        Type::String => Val::String(reader.text()?.to_owned()),
        _ => return Err(Malformed),
    })
}

/// The case whose index is next.
fn case<'s, T>(reader: &mut Reader<'_>, cases: &'s [T]) -> Result<&'s T, Malformed> {
    let at = reader.case(case_size(cases.len()))?;
    let at = usize::try_from(at).map_err(|_| Malformed)?;
    cases.get(at).ok_or(Malformed)
}

fn payload(reader: &mut Reader<'_>, shape: Option<&Shape>) -> Result<Option<Box<Val>>, Malformed> {
    let tree = shape.map(|shape| tree(reader, shape)).transpose()?;
    Ok(tree.map(Box::new))
}
