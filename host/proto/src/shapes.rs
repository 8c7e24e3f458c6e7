//! Converts WIT types to protobuf.
//!
//! | WIT | protobuf |
//! | --- | --- |
//! | record | a message with its fields |
//! | variant | a message with a `oneof`; a case without payload has `Empty` |
//! | enum | an enum |
//! | flags | a message of booleans |
//! | option, list | an optional or repeated field; a message of its own where protobuf does not allow that |
//! | tuple, result inside of data | a message |

use wit_parser::{InterfaceId, Type, TypeDefKind, TypeId, TypeOwner};

use crate::derive::{Deriving, UseSite, text};
use crate::model::{Cardinality, EMPTY, EMPTY_FILE, Enum, Field, Form, Kind, Scalar, Value};
use crate::names;

impl Deriving<'_> {
    /// The definition of a type behind its aliases; none for WIT's own types.
    pub fn kind_of(&self, ty: Type) -> Option<TypeDefKind> {
        let Type::Id(id) = self.behind(ty) else {
            return None;
        };
        Some(self.resolve.types[id].kind.clone())
    }

    /// The type that an alias stands for.
    fn behind(&self, ty: Type) -> Type {
        match ty {
            Type::Id(id) => match self.resolve.types[id].kind {
                TypeDefKind::Type(other) => self.behind(other),
                _ => ty,
            },
            own => own,
        }
    }

    /// The type's id, if it is a record of this name that the interface itself defines.
    pub fn own_record(&self, interface: InterfaceId, ty: Type, name: &str) -> Option<TypeId> {
        let Type::Id(id) = ty else { return None };
        let found = &self.resolve.types[id];
        let own = found.owner == TypeOwner::Interface(interface);
        let record = matches!(found.kind, TypeDefKind::Record(_));
        (own && record && found.name.as_deref() == Some(name)).then_some(id)
    }

    /// The doc comment of an alias, for a field without one.
    fn alias_docs(&self, ty: Type) -> String {
        let Type::Id(id) = ty else {
            return String::new();
        };
        let found = &self.resolve.types[id];
        match found.kind {
            TypeDefKind::Type(other) => {
                let docs = text(&found.docs);
                if docs.is_empty() {
                    self.alias_docs(other)
                } else {
                    docs
                }
            }
            _ => String::new(),
        }
    }

    /// A field of a type. None only with a problem.
    pub fn field(&mut self, site: &UseSite, name: &str, ty: Type, docs: String) -> Option<Field> {
        let docs = if docs.is_empty() {
            self.alias_docs(ty)
        } else {
            docs
        };
        let (cardinality, held) = match self.kind_of(ty) {
            Some(TypeDefKind::Option(inner)) => (Cardinality::Optional, inner),
            Some(TypeDefKind::List(inner)) if self.behind(inner) != Type::U8 => {
                (Cardinality::Repeated, inner)
            }
            _ => (Cardinality::One, ty),
        };
        let kind = self.element(site, held)?;
        Some(Field {
            name: names::snake(name),
            wit: name.to_owned(),
            number: 0,
            docs,
            cardinality,
            kind,
            is_id: names::is_id(name) || self.is_id(held),
        })
    }

    /// Whether the type is an alias that is named as ids are, or stands for one.
    fn is_id(&self, ty: Type) -> bool {
        let Type::Id(id) = ty else { return false };
        let found = &self.resolve.types[id];
        let TypeDefKind::Type(other) = found.kind else {
            return false;
        };
        found.name.as_deref().is_some_and(names::is_id) || self.is_id(other)
    }

    /// The protobuf type of one value. `None` only with a problem.
    pub fn element(&mut self, site: &UseSite, ty: Type) -> Option<Kind> {
        let scalar = match self.behind(ty) {
            Type::Bool => Scalar::Bool,
            Type::U8 => Scalar::U8,
            Type::U16 => Scalar::U16,
            Type::U32 => Scalar::U32,
            Type::U64 => Scalar::U64,
            Type::S8 => Scalar::S8,
            Type::S16 => Scalar::S16,
            Type::S32 => Scalar::S32,
            Type::S64 => Scalar::S64,
            Type::F32 => Scalar::F32,
            Type::F64 => Scalar::F64,
            Type::Char => Scalar::Char,
            Type::String => Scalar::String,
            Type::ErrorContext => return self.no_form(site, "an error-context"),
            Type::Id(id) => return self.composite(site, id),
        };
        Some(Kind::Scalar(scalar))
    }

    fn composite(&mut self, site: &UseSite, id: TypeId) -> Option<Kind> {
        match self.resolve.types[id].kind.clone() {
            TypeDefKind::Record(_) | TypeDefKind::Variant(_) | TypeDefKind::Flags(_) => {
                Some(Kind::Message(self.message_of(site, id)))
            }
            TypeDefKind::Enum(_) => Some(Kind::Enum(self.enum_of(site, id))),
            TypeDefKind::List(inner) if self.behind(inner) == Type::U8 => {
                Some(Kind::Scalar(Scalar::Bytes))
            }
            TypeDefKind::List(_) => self.anonymous(
                site,
                id,
                Form::List,
                vec![("items".to_owned(), Type::Id(id))],
            ),
            TypeDefKind::Option(_) => self.anonymous(
                site,
                id,
                Form::Option,
                vec![("value".to_owned(), Type::Id(id))],
            ),
            TypeDefKind::Tuple(tuple) => {
                let items = tuple.types.iter().enumerate();
                let items = items.map(|(n, ty)| (format!("item{n}"), *ty));
                self.anonymous(site, id, Form::Tuple, items.collect())
            }
            TypeDefKind::Result(result) => {
                let name = self.label(Type::Id(id));
                let cases = [("ok", result.ok), ("err", result.err)];
                let cases = cases.map(|(name, ty)| (name.to_owned(), ty, String::new()));
                let wit = self.words(Type::Id(id));
                let (full, new) = self.name(site, site.package, &wit, &[name]);
                if new {
                    let wit = (wit, Form::Result);
                    self.put_cases(site, &full, wit, String::new(), cases.to_vec());
                }
                Some(Kind::Message(full))
            }
            TypeDefKind::Type(other) => self.element(site, other),
            other => self.no_form(site, other.as_str()),
        }
    }

    fn no_form(&mut self, site: &UseSite, what: &str) -> Option<Kind> {
        let message = format!("{what} cannot go to programs outside: use a record, or an id");
        self.problem(site, message);
        None
    }

    /// The word for a type in another type's name.
    fn label(&self, ty: Type) -> String {
        let Type::Id(id) = self.behind(ty) else {
            return names::camel(&self.words(ty));
        };
        let found = &self.resolve.types[id];
        if let Some(name) = &found.name {
            return self.named_label(id, name);
        }
        let or_empty = |ty: Option<Type>| ty.map_or("Empty".to_owned(), |ty| self.label(ty));
        match &found.kind {
            TypeDefKind::List(inner) => format!("{}List", self.label(*inner)),
            TypeDefKind::Option(inner) => format!("Optional{}", self.label(*inner)),
            TypeDefKind::Tuple(tuple) => {
                let labels = tuple.types.iter().map(|ty| self.label(*ty));
                format!("{}Tuple", labels.collect::<String>())
            }
            TypeDefKind::Result(result) => {
                format!("{}Or{}", or_empty(result.ok), or_empty(result.err))
            }
            other => names::camel(other.as_str()),
        }
    }

    /// A type in WIT's words, with the interfaces of named types. The lock identifies messages by this text.
    fn words(&self, ty: Type) -> String {
        let word = match self.behind(ty) {
            Type::Id(id) => return self.words_of(id),
            Type::Bool => "bool",
            Type::U8 => "u8",
            Type::U16 => "u16",
            Type::U32 => "u32",
            Type::U64 => "u64",
            Type::S8 => "s8",
            Type::S16 => "s16",
            Type::S32 => "s32",
            Type::S64 => "s64",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::Char => "char",
            Type::String => "string",
            Type::ErrorContext => "error-context",
        };
        word.to_owned()
    }

    fn words_of(&self, id: TypeId) -> String {
        let found = &self.resolve.types[id];
        if let (Some(name), TypeOwner::Interface(owner)) = (&found.name, found.owner) {
            let interface = &self.resolve.interfaces[owner];
            let package = interface
                .package
                .map(|package| &self.resolve.packages[package].name);
            let package = package.map(names::package).unwrap_or_default();
            let of = interface.name.as_deref().unwrap_or_default();
            return format!("{package}/{of}#{name}");
        }
        let or_none = |ty: Option<Type>| ty.map_or("_".to_owned(), |ty| self.words(ty));
        match &found.kind {
            TypeDefKind::List(inner) => format!("list<{}>", self.words(*inner)),
            TypeDefKind::Option(inner) => format!("option<{}>", self.words(*inner)),
            TypeDefKind::Tuple(tuple) => {
                let words: Vec<_> = tuple.types.iter().map(|ty| self.words(*ty)).collect();
                format!("tuple<{}>", words.join(", "))
            }
            TypeDefKind::Result(result) => {
                format!("result<{}, {}>", or_none(result.ok), or_none(result.err))
            }
            other => other.as_str().to_owned(),
        }
    }

    fn named_label(&self, id: TypeId, name: &str) -> String {
        match self.resolve.types[id].owner {
            TypeOwner::Interface(owner) => self.candidates(owner, name).swap_remove(0),
            _ => names::camel(name),
        }
    }

    /// A message for a type without a name, in the file that uses it.
    fn anonymous(
        &mut self,
        site: &UseSite,
        id: TypeId,
        form: Form,
        fields: Vec<(String, Type)>,
    ) -> Option<Kind> {
        let (wit, label) = (self.words(Type::Id(id)), self.label(Type::Id(id)));
        let (full, new) = self.name(site, site.package, &wit, &[label]);
        if new {
            let fields = fields.into_iter();
            let fields = fields.filter_map(|(name, ty)| self.field(site, &name, ty, String::new()));
            let fields: Vec<Field> = fields.collect();
            self.put(site, &full, (wit, form), String::new(), None, fields);
        }
        Some(Kind::Message(full))
    }

    /// The place of a named type, its name there, and candidates for its protobuf name.
    fn named(&mut self, site: &UseSite, id: TypeId) -> Option<(UseSite, String, Vec<String>)> {
        let found = &self.resolve.types[id];
        let owner = match found.owner {
            TypeOwner::Interface(owner) => owner,
            TypeOwner::World(_) | TypeOwner::None => {
                self.problem(
                    site,
                    "a type of a world has no package: put it into an interface",
                );
                return None;
            }
        };
        let interface = &self.resolve.interfaces[owner];
        let (package, of) = (interface.package?, interface.name.as_deref()?);
        let name = found.name.as_deref()?;
        let at = UseSite {
            package,
            at: format!("{of}.{name}"),
        };
        self.uses(site.package, package);
        Some((at, format!("{of}#{name}"), self.candidates(owner, name)))
    }

    /// The message of a record, a variant or flags.
    pub fn message_of(&mut self, site: &UseSite, id: TypeId) -> String {
        let Some((at, wit, candidates)) = self.named(site, id) else {
            return String::new();
        };
        let (full, new) = self.name(&at, at.package, &wit, &candidates);
        if !new {
            return full;
        }
        let found = &self.resolve.types[id];
        let docs = text(&found.docs);
        let mut fields = Vec::new();
        let mut form = Form::Record;
        match found.kind.clone() {
            TypeDefKind::Record(record) => {
                for field in record.fields {
                    fields.extend(self.field(&at, &field.name, field.ty, text(&field.docs)));
                }
            }
            TypeDefKind::Flags(flags) => {
                form = Form::Flags;
                for flag in flags.flags {
                    fields.extend(self.field(&at, &flag.name, Type::Bool, text(&flag.docs)));
                }
            }
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.into_iter();
                let cases = cases.map(|case| (case.name, case.ty, text(&case.docs)));
                self.put_cases(&at, &full, (wit, Form::Variant), docs, cases.collect());
                return full;
            }
            _ => {}
        }
        self.put(&at, &full, (wit, form), docs, None, fields);
        full
    }

    fn put_cases(
        &mut self,
        site: &UseSite,
        full: &str,
        wit: (String, Form),
        docs: String,
        cases: Vec<(String, Option<Type>, String)>,
    ) {
        let mut fields = Vec::new();
        for (name, ty, docs) in cases {
            let is_id = ty.is_some_and(|ty| self.is_id(ty));
            let kind = if let Some(ty) = ty {
                self.element(site, ty)
            } else {
                let file = self.file(site.package);
                file.imports.insert(EMPTY_FILE.to_owned());
                Some(Kind::Message(EMPTY.to_owned()))
            };
            fields.extend(kind.map(|kind| Field {
                name: names::snake(&name),
                wit: name,
                number: 0,
                docs,
                cardinality: Cardinality::Case,
                kind,
                is_id,
            }));
        }
        // A `oneof` shares its message's names.
        let taken = fields.iter().any(|field| field.name == "kind");
        let oneof = if taken { "which_kind" } else { "kind" };
        self.put(site, full, wit, docs, Some(oneof.to_owned()), fields);
    }

    fn enum_of(&mut self, site: &UseSite, id: TypeId) -> String {
        let Some((at, wit, candidates)) = self.named(site, id) else {
            return String::new();
        };
        let (full, new) = self.name(&at, at.package, &wit, &candidates);
        let found = &self.resolve.types[id];
        let (true, TypeDefKind::Enum(cases)) = (new, &found.kind) else {
            return full;
        };
        let name = names::last(&full).to_owned();
        let prefix = names::screaming(&name);
        let values = cases.cases.iter().map(|case| Value {
            name: format!("{prefix}_{}", names::snake(&case.name).to_uppercase()),
            wit: case.name.clone(),
            number: 0,
            docs: text(&case.docs),
        });
        let made = Enum {
            name,
            wit,
            docs: text(&found.docs),
            values: values.collect(),
            reserved: Vec::new(),
        };
        let unspecified = made.unspecified();
        if made.values.iter().any(|value| value.name == unspecified) {
            self.problem(&at, "the case `unspecified` is protobuf's own: rename it");
        }
        self.file(at.package).enums.push(made);
        full
    }
}
