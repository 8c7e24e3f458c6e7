//! Makes descriptors of the files, for reflection and for decoding.

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto, OneofDescriptorProto,
    ServiceDescriptorProto, descriptor_proto, enum_descriptor_proto,
};

use crate::model::{Cardinality, EMPTY_FILE, Enum, Field, File, Kind, Message, Scalar, Service};
use crate::names;

/// Descriptors of files, and of what of protobuf's own they use, those that are used first. Files of a
/// circle come last, as they are: nobody takes such a set.
#[must_use]
pub fn descriptors(files: &[File]) -> FileDescriptorSet {
    let mut set = FileDescriptorSet::default();
    if files.iter().any(|file| file.imports.contains(EMPTY_FILE)) {
        set.file.push(empty());
    }
    let (ordered, circle) = in_order(files);
    let all = ordered.into_iter().chain(circle);
    set.file.extend(all.map(descriptor));
    set
}

/// Files, those that are used first; and those that cannot be ordered, since they use each other in a
/// circle, or what is not there. WIT packages cannot depend on each other in a circle, but compatible
/// versions of one are in one file.
pub(crate) fn in_order<'f>(
    files: impl IntoIterator<Item = &'f File>,
) -> (Vec<&'f File>, Vec<&'f File>) {
    let mut left: Vec<&File> = files.into_iter().collect();
    let mut ordered: Vec<&File> = Vec::new();
    loop {
        let before = left.len();
        left.retain(|file| {
            let known =
                |path: &String| path == EMPTY_FILE || ordered.iter().any(|file| file.path == *path);
            let ready = file.imports.iter().all(known);
            if ready {
                ordered.push(file);
            }
            !ready
        });
        if left.len() == before {
            return (ordered, left);
        }
    }
}

fn empty() -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(EMPTY_FILE.to_owned()),
        package: Some("google.protobuf".to_owned()),
        message_type: vec![DescriptorProto {
            name: Some("Empty".to_owned()),
            ..DescriptorProto::default()
        }],
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    }
}

fn descriptor(file: &File) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(file.path.clone()),
        package: Some(file.package.clone()),
        dependency: file.imports.iter().cloned().collect(),
        message_type: file.messages.iter().map(message).collect(),
        enum_type: file.enums.iter().map(enumeration).collect(),
        service: file.service.iter().map(service).collect(),
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    }
}

fn service(service: &Service) -> ServiceDescriptorProto {
    let methods = service.methods.iter().map(|method| MethodDescriptorProto {
        name: Some(method.name.clone()),
        input_type: Some(format!(".{}", method.input)),
        output_type: Some(format!(".{}", method.output)),
        ..MethodDescriptorProto::default()
    });
    ServiceDescriptorProto {
        name: Some(service.name.clone()),
        method: methods.collect(),
        options: None,
    }
}

fn message(message: &Message) -> DescriptorProto {
    let mut oneofs: Vec<String> = message.oneof.iter().cloned().collect();
    // Whether an optional field is there is, for tools that do not know of it, a `oneof` of one.
    let fields = message.fields.iter().map(|found| {
        let oneof = match found.cardinality {
            Cardinality::Case => Some(0),
            Cardinality::Optional => {
                oneofs.push(format!("_{}", found.name));
                i32::try_from(oneofs.len() - 1).ok()
            }
            Cardinality::One | Cardinality::Repeated => None,
        };
        field(found, oneof)
    });
    let field = fields.collect();
    let oneofs = oneofs.into_iter().map(|name| OneofDescriptorProto {
        name: Some(name),
        options: None,
    });
    let reserved = message.reserved.iter();
    let ranges = reserved.map(|(number, _)| descriptor_proto::ReservedRange {
        start: Some(*number),
        end: Some(number + 1),
    });
    DescriptorProto {
        name: Some(message.name.clone()),
        field,
        oneof_decl: oneofs.collect(),
        reserved_range: ranges.collect(),
        reserved_name: message
            .reserved
            .iter()
            .map(|(_, name)| name.clone())
            .collect(),
        ..DescriptorProto::default()
    }
}

fn field(field: &Field, oneof: Option<i32>) -> FieldDescriptorProto {
    let (ty, type_name) = match &field.kind {
        Kind::Scalar(scalar) => (scalar_type(*scalar), None),
        Kind::Message(name) => (Type::Message, Some(format!(".{name}"))),
        Kind::Enum(name) => (Type::Enum, Some(format!(".{name}"))),
    };
    let label = match field.cardinality {
        Cardinality::Repeated => Label::Repeated,
        Cardinality::One | Cardinality::Optional | Cardinality::Case => Label::Optional,
    };
    FieldDescriptorProto {
        name: Some(field.name.clone()),
        number: Some(field.number),
        label: Some(label.into()),
        r#type: Some(ty.into()),
        type_name,
        oneof_index: oneof,
        json_name: Some(names::json(&field.name)),
        proto3_optional: (field.cardinality == Cardinality::Optional).then_some(true),
        ..FieldDescriptorProto::default()
    }
}

fn scalar_type(scalar: Scalar) -> Type {
    match scalar {
        Scalar::Bool => Type::Bool,
        Scalar::U8 | Scalar::U16 | Scalar::U32 => Type::Uint32,
        Scalar::U64 => Type::Uint64,
        Scalar::S8 | Scalar::S16 | Scalar::S32 => Type::Int32,
        Scalar::S64 => Type::Int64,
        Scalar::F32 => Type::Float,
        Scalar::F64 => Type::Double,
        Scalar::Char | Scalar::String => Type::String,
        Scalar::Bytes => Type::Bytes,
    }
}

fn enumeration(found: &Enum) -> EnumDescriptorProto {
    let value = |name: String, number: i32| EnumValueDescriptorProto {
        name: Some(name),
        number: Some(number),
        options: None,
    };
    let unspecified = std::iter::once(value(found.unspecified(), 0));
    let values = found.values.iter();
    let values = values.map(|known| value(known.name.clone(), known.number));
    let reserved = found.reserved.iter();
    let ranges = reserved.map(|(number, _)| enum_descriptor_proto::EnumReservedRange {
        start: Some(*number),
        end: Some(*number),
    });
    EnumDescriptorProto {
        name: Some(found.name.clone()),
        value: unspecified.chain(values).collect(),
        reserved_range: ranges.collect(),
        reserved_name: found
            .reserved
            .iter()
            .map(|(_, name)| name.clone())
            .collect(),
        ..EnumDescriptorProto::default()
    }
}
