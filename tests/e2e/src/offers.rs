//! Components to offer to a running host: other builds of a good one, and broken ones.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use sha2::{Digest as _, Sha256};

use crate::scheme::TestScheme;

/// Bytes of the header of a component and of a core module: the same magic, another layer.
const CORE_MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";

/// The bytes of another build: the same component with one more custom section, which changes
/// nothing but the digest.
pub fn rebuilt(component: &[u8], mark: &str) -> Vec<u8> {
    let name = "test";
    let mut section = vec![u8::try_from(name.len()).unwrap_or_default()];
    section.extend(name.bytes());
    section.extend(mark.bytes());
    let mut bytes = component.to_vec();
    bytes.push(0);
    leb128(section.len(), &mut bytes);
    bytes.extend(section);
    bytes
}

/// Ways in which an offered component is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Its second half is missing.
    Truncated,
    /// A core module.
    CoreModule,
    /// No WebAssembly at all.
    PlainText,
    /// A context instead of a rule.
    NoRule,
    /// A rule that returns an error code which the scheme does not declare.
    OtherCodes,
}

impl Broken {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Truncated,
        Self::CoreModule,
        Self::PlainText,
        Self::NoRule,
        Self::OtherCodes,
    ];

    /// A file of this kind, made from the scheme's rule.
    ///
    /// # Errors
    /// When the rule cannot be read, or the file cannot be written.
    pub fn file(self, scheme: &TestScheme, rule: &str) -> anyhow::Result<PathBuf> {
        let good = read(&scheme.component(rule))?;
        let bytes = match self {
            Self::Truncated => good[..good.len() / 2].to_vec(),
            Self::CoreModule => CORE_MODULE.to_vec(),
            Self::PlainText => b"this is no component".to_vec(),
            Self::NoRule => read(&scheme.component("scheduling"))?,
            Self::OtherCodes => with_code(&good, *b"4200", *b"4299")?,
        };
        write(scheme, &format!("{self:?}.wasm"), &bytes)
    }
}

/// Another build of one of the scheme's components, as a file.
///
/// # Errors
/// When the component cannot be read, or the file cannot be written.
pub fn another_build(scheme: &TestScheme, component: &str, mark: &str) -> anyhow::Result<PathBuf> {
    let bytes = rebuilt(&read(&scheme.component(component))?, mark);
    write(scheme, &format!("{component}-{mark}.wasm"), &bytes)
}

/// Another build of a rule that refuses with another error code than `4200`, as a file.
///
/// # Errors
/// When the rule cannot be read or does not hold the code, or the file cannot be written.
pub fn other_code(
    scheme: &TestScheme,
    rule: &str,
    mark: &str,
    code: [u8; 4],
) -> anyhow::Result<PathBuf> {
    let patched = with_code(&read(&scheme.component(rule))?, *b"4200", code)?;
    write(
        scheme,
        &format!("{rule}-{mark}.wasm"),
        &rebuilt(&patched, mark),
    )
}

/// The digest of a component's file, as receipts name it.
///
/// # Errors
/// When the file cannot be read.
pub fn digest(path: &Path) -> anyhow::Result<String> {
    let digest = Sha256::digest(read(path)?);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256:{hex}"))
}

/// The component with one error code in place of another. The compiler keeps a code of four
/// digits as one constant of 32 bits.
fn with_code(component: &[u8], from: [u8; 4], to: [u8; 4]) -> anyhow::Result<Vec<u8>> {
    let constant = |code: [u8; 4]| {
        let mut bytes = vec![0x41]; // i32.const
        signed_leb128(i32::from_le_bytes(code), &mut bytes);
        bytes
    };
    let (from, to) = (constant(from), constant(to));
    ensure!(
        from.len() == to.len(),
        "the two codes are encoded in different lengths"
    );
    let mut bytes = component.to_vec();
    let mut found = 0;
    let mut at = 0;
    while at + from.len() <= bytes.len() {
        if bytes[at..].starts_with(&from) {
            bytes[at..at + to.len()].copy_from_slice(&to);
            found += 1;
        }
        at += 1;
    }
    ensure!(
        found > 0,
        "the component does not hold the code as a constant: make another patch"
    );
    Ok(bytes)
}

fn leb128(mut value: usize, bytes: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

fn signed_leb128(mut value: i32, bytes: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        let is_sign = low & 0x40 != 0;
        if (value == 0 && !is_sign) || (value == -1 && is_sign) {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("reading {}", path.display()))
}

fn write(scheme: &TestScheme, name: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
    let path = scheme.path().join(name);
    std::fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_encoded_as_webassembly_wants_them() {
        let unsigned = |value| {
            let mut bytes = Vec::new();
            leb128(value, &mut bytes);
            bytes
        };
        assert_eq!(unsigned(5), [5]);
        assert_eq!(unsigned(300), [0xac, 0x02]);
        let signed = |value| {
            let mut bytes = Vec::new();
            signed_leb128(value, &mut bytes);
            bytes
        };
        assert_eq!(signed(64), [0xc0, 0x00]);
        assert_eq!(signed(-1), [0x7f]);
        assert_eq!(
            signed(i32::from_le_bytes(*b"4200")),
            [0xb4, 0xe4, 0xc0, 0x81, 0x03]
        );
    }

    #[test]
    fn another_build_only_adds_a_section() {
        let bytes = rebuilt(b"wasm", "7");
        assert_eq!(bytes, *b"wasm\0\x06\x04test7");
    }
}
