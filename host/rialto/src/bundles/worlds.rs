//! What a component imports and exports, as WIT.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use wit_component::{DecodedWasm, WitPrinter, decode};
use wit_parser::{PackageId, Resolve};

/// The WIT of a component: its world, then the packages that the world uses.
///
/// # Errors
/// When the bytes are no component.
pub fn of(component: &[u8]) -> anyhow::Result<String> {
    let (resolve, own) = decoded(component)?;
    let others = resolve.packages.iter().map(|(id, _)| id);
    let others: Vec<PackageId> = others.filter(|id| *id != own).collect();
    let mut printer = WitPrinter::default();
    printer.print(&resolve, own, &others)?;
    let mut text = printer.output.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Whether a text says what a component imports and exports. Another version may have written it in other words.
///
/// # Errors
/// When the bytes are no component, or the text is no WIT.
pub fn is_of(text: &str, component: &[u8]) -> anyhow::Result<bool> {
    if of(component)? == text {
        return Ok(true);
    }
    let mut said = Resolve::default();
    said.push_str("world.wit", text)?;
    Ok(packages(&said)? == packages(&decoded(component)?.0)?)
}

/// How a component begins (the component model's binary format): a core module has another layer there.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

fn decoded(component: &[u8]) -> anyhow::Result<(Resolve, PackageId)> {
    ensure!(
        component.starts_with(COMPONENT),
        "it is no component that can be read"
    );
    match decode(component).context("it is no component that can be read")? {
        DecodedWasm::Component(resolve, world) => {
            let own = resolve.worlds[world].package;
            Ok((resolve, own.context("its world has no package")?))
        }
        DecodedWasm::WitPackage(..) => bail!("it is a WIT package and no component"),
    }
}

/// Each package as this version writes it, by name.
fn packages(resolve: &Resolve) -> anyhow::Result<BTreeMap<String, String>> {
    let packages = resolve.packages.iter().map(|(id, package)| {
        let mut printer = WitPrinter::default();
        printer.emit_docs(false).print(resolve, id, &[])?;
        Ok((package.name.to_string(), printer.output.to_string()))
    });
    packages.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_component_is_refused() {
        assert!(of(b"\0asm\x01\0\0\0").is_err());
        assert!(of(b"text").is_err());
    }
}
