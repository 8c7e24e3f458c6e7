//! Writes files as `.proto` text. A test compiles the text and compares it with
//! [`descriptors`](mod@crate::descriptors).

use std::fmt::Write as _;

use crate::model::{Cardinality, Enum, Field, File, Kind, Message, Service};
use crate::names;

/// Widest line of a comment.
const COMMENT_WIDTH: usize = 100;

/// A file's text.
#[must_use]
pub fn proto(file: &File) -> String {
    let mut text = String::new();
    comment(
        &mut text,
        "",
        "Written from the WIT; changes here are lost.",
    );
    text.push_str("syntax = \"proto3\";\n\n");
    comment(&mut text, "", &file.docs);
    let _ = writeln!(text, "package {};", file.package);
    if !file.imports.is_empty() {
        text.push('\n');
    }
    for import in &file.imports {
        let _ = writeln!(text, "import \"{import}\";");
    }
    if let Some(found) = &file.service {
        service(&mut text, file, found);
    }
    for found in &file.messages {
        message(&mut text, file, found);
    }
    for found in &file.enums {
        enumeration(&mut text, found);
    }
    text
}

fn service(text: &mut String, file: &File, service: &Service) {
    text.push('\n');
    comment(text, "", &service.docs);
    let _ = writeln!(text, "service {} {{", service.name);
    for (n, method) in service.methods.iter().enumerate() {
        if n > 0 {
            text.push('\n');
        }
        comment(text, "  ", &method.docs);
        if let Some(error) = &method.error {
            let error = format!("A refusal has a `{error}` among its status's details.");
            comment(text, "  ", &error);
        }
        let (input, output) = (within(file, &method.input), within(file, &method.output));
        let _ = writeln!(text, "  rpc {}({input}) returns ({output});", method.name);
    }
    text.push_str("}\n");
}

fn message(text: &mut String, file: &File, message: &Message) {
    text.push('\n');
    comment(text, "", &message.docs);
    let _ = writeln!(text, "message {} {{", message.name);
    reserved(text, &message.reserved);
    let (cases, others): (Vec<_>, Vec<_>) = message
        .fields
        .iter()
        .partition(|field| field.cardinality == Cardinality::Case);
    for found in others {
        field(text, "  ", file, found);
    }
    if let Some(oneof) = &message.oneof {
        let _ = writeln!(text, "  oneof {oneof} {{");
        for found in cases {
            field(text, "    ", file, found);
        }
        text.push_str("  }\n");
    }
    text.push_str("}\n");
}

fn field(text: &mut String, indent: &str, file: &File, field: &Field) {
    comment(text, indent, &field.docs);
    if let Kind::Scalar(scalar) = field.kind {
        comment(text, indent, scalar.range().unwrap_or_default());
    }
    let word = match field.cardinality {
        Cardinality::One | Cardinality::Case => "",
        Cardinality::Optional => "optional ",
        Cardinality::Repeated => "repeated ",
    };
    let kind = match &field.kind {
        Kind::Scalar(scalar) => scalar.word().to_owned(),
        Kind::Message(name) | Kind::Enum(name) => within(file, name),
    };
    let Field { name, number, .. } = field;
    let _ = writeln!(text, "{indent}{word}{kind} {name} = {number};");
}

fn enumeration(text: &mut String, found: &Enum) {
    text.push('\n');
    comment(text, "", &found.docs);
    let _ = writeln!(text, "enum {} {{", found.name);
    reserved(text, &found.reserved);
    comment(text, "  ", "Nothing was said: the host refuses it.");
    let _ = writeln!(text, "  {} = 0;", found.unspecified());
    for value in &found.values {
        comment(text, "  ", &value.docs);
        let _ = writeln!(text, "  {} = {};", value.name, value.number);
    }
    text.push_str("}\n");
}

fn reserved(text: &mut String, reserved: &[(i32, String)]) {
    if reserved.is_empty() {
        return;
    }
    let numbers: Vec<_> = reserved
        .iter()
        .map(|(number, _)| number.to_string())
        .collect();
    let names: Vec<_> = reserved
        .iter()
        .map(|(_, name)| format!("\"{name}\""))
        .collect();
    let _ = writeln!(text, "  reserved {};", numbers.join(", "));
    let _ = writeln!(text, "  reserved {};", names.join(", "));
}

/// A type's name in a file. A name of another package is written in full from the root, so that it cannot
/// mean a name of this package.
fn within(file: &File, full: &str) -> String {
    match full.rsplit_once('.') {
        Some((package, _)) if package == file.package => names::last(full).to_owned(),
        _ => format!(".{full}"),
    }
}

fn comment(text: &mut String, indent: &str, docs: &str) {
    for line in docs.lines() {
        let mut written = format!("{indent}//");
        for word in line.split_whitespace() {
            if written.len() + word.len() >= COMMENT_WIDTH {
                let _ = writeln!(text, "{written}");
                written = format!("{indent}//");
            }
            written.push(' ');
            written.push_str(word);
        }
        let _ = writeln!(text, "{written}");
    }
}
