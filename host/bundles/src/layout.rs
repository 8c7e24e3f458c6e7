//! The plain file: the artifact as an OCI image layout in a tar archive.
//!
//! The entries are `oci-layout`, `index.json`, and the blobs by digest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::manifest::{ARTIFACT, Descriptor, MANIFEST, Manifest, bounded, json, of_type, same};
use crate::{ALL_BYTES_MAX, Bundle, BundleError, Digest, FILES_MAX, MANIFEST_BYTES_MAX, tar};

/// The names of the entries.
const MARK: &str = "oci-layout";
const INDEX: &str = "index.json";
const BLOBS: &str = "blobs/sha256/";
/// The layout's version.
const LAYOUT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;
/// The media type of the index.
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
/// The most bytes of the plain file: of its blobs, and of headers and padding.
const BYTES_MAX: u64 = ALL_BYTES_MAX + 3 * MANIFEST_BYTES_MAX + 1024 * (FILES_MAX as u64 + 8);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema_version: u32,
    #[serde(default)]
    media_type: String,
    manifests: Vec<Listed>,
}

/// The manifest, as the index lists it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    digest: Digest,
    size: u64,
}

impl Bundle {
    /// Write the plain file.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn pack(&self, out: &mut impl Write) -> io::Result<()> {
        let written = self.written();
        tar::entry(out, MARK, LAYOUT)?;
        tar::entry(out, INDEX, &index(&written.manifest))?;
        let files = self.files().map(|(_, file)| file.bytes.as_slice());
        let own = [written.manifest.as_slice(), written.config.as_slice()];
        // Files with the same bytes are one blob.
        let blobs: BTreeMap<Digest, &[u8]> = files
            .chain(own)
            .map(|bytes| (Digest::of(bytes), bytes))
            .collect();
        for (digest, bytes) in blobs {
            tar::entry(out, &format!("{BLOBS}{}", digest.hex()), bytes)?;
        }
        tar::end(out)
    }

    /// The bytes of the plain file.
    #[must_use]
    pub fn packed(&self) -> Vec<u8> {
        let files = self.files().map(|(_, file)| file.bytes.len());
        let mut bytes = Vec::with_capacity(tar::length(files));
        // A vector takes all bytes.
        let _ = self.pack(&mut bytes);
        bytes
    }

    /// The digest of the manifest, by which a registry knows the bundle.
    #[must_use]
    pub fn manifest_digest(&self) -> Digest {
        Digest::of(&self.written().manifest)
    }

    /// Read the bytes of a plain file.
    ///
    /// # Errors
    /// When they are not exactly what [`Self::pack`] writes.
    pub fn read(file: &[u8]) -> Result<Self, BundleError> {
        bounded("the file", file.len() as u64, BYTES_MAX)?;
        let mut entries = BTreeMap::new();
        for tar::Entry { name, bytes } in tar::read(file)? {
            let hex = name.strip_prefix(BLOBS);
            let is_blob = hex.is_some_and(|hex| format!("sha256:{hex}").parse::<Digest>().is_ok());
            if !is_blob && name != MARK && name != INDEX {
                return Err(BundleError::Stranger {
                    name: name.to_owned(),
                });
            }
            if entries.insert(name, bytes).is_some() {
                return Err(BundleError::Twice {
                    name: name.to_owned(),
                });
            }
        }
        let entry = |name: &str| {
            let bytes = entries.get(name).copied();
            bytes.ok_or_else(|| BundleError::Missing {
                name: name.to_owned(),
            })
        };
        same("the mark of the layout", entry(MARK)?, LAYOUT)?;
        let listed = manifest_of(entry(INDEX)?)?;
        let name_of = |digest: &Digest| format!("{BLOBS}{}", digest.hex());
        let own = entry(&name_of(&listed.digest))?;
        let found = Digest::of(own);
        if found != listed.digest {
            return Err(BundleError::Changed {
                what: "the manifest".to_owned(),
                wanted: listed.digest,
                found,
            });
        }
        let manifest = Manifest::read(own)?;
        let bundle = manifest.bundle(own, |blob: &Descriptor| entry(&name_of(&blob.digest)))?;
        let blobs = manifest.blobs().map(|blob| name_of(&blob.digest));
        let wanted: BTreeSet<String> = blobs.chain([name_of(&listed.digest)]).collect();
        let mut others = entries.keys().filter(|name| name.starts_with(BLOBS));
        if let Some(name) = others.find(|name| !wanted.contains(**name)) {
            return Err(BundleError::Unlisted {
                name: (*name).to_owned(),
            });
        }
        let mut comparing = Comparing { file, at: 0 };
        let is_same = bundle.pack(&mut comparing).is_ok();
        let at = comparing.at;
        if !is_same || at != file.len() {
            let what = "the file";
            return Err(BundleError::NotOneForm { what, at });
        }
        Ok(bundle)
    }

    /// Read a plain file. Returns also its digest.
    ///
    /// # Errors
    /// When it cannot be read, or is not exactly what [`Self::pack`] writes.
    pub fn open(path: &Path) -> Result<(Self, Digest), BundleError> {
        let file = fs::File::open(path).map_err(BundleError::io(path))?;
        let about = file.metadata().map_err(BundleError::io(path))?;
        bounded("the file", about.len(), BYTES_MAX)?;
        let mut bytes = Vec::new();
        // The file may grow meanwhile.
        let mut file = file.take(BYTES_MAX + 1);
        file.read_to_end(&mut bytes)
            .map_err(BundleError::io(path))?;
        let bundle = Self::read(&bytes)?;
        Ok((bundle, Digest::of(&bytes)))
    }
}

fn index(manifest: &[u8]) -> Vec<u8> {
    json(&Index {
        schema_version: 2,
        media_type: INDEX_TYPE.to_owned(),
        manifests: vec![Listed {
            media_type: MANIFEST.to_owned(),
            artifact_type: ARTIFACT.to_owned(),
            digest: Digest::of(manifest),
            size: manifest.len() as u64,
        }],
    })
}

/// The one manifest of an index.
fn manifest_of(text: &[u8]) -> Result<Listed, BundleError> {
    let what = "index.json";
    bounded(what, text.len() as u64, MANIFEST_BYTES_MAX)?;
    let index: Index = serde_json::from_slice(text).map_err(|error| BundleError::Unreadable {
        what,
        why: error.to_string(),
    })?;
    let count = index.manifests.len();
    let mut manifests = index.manifests.into_iter();
    let (Some(listed), None) = (manifests.next(), manifests.next()) else {
        return Err(BundleError::Unreadable {
            what,
            why: format!("it lists {count} manifests, and a bundle has one"),
        });
    };
    of_type("the manifest", &listed.media_type, MANIFEST)?;
    of_type("the artifact", &listed.artifact_type, ARTIFACT)?;
    Ok(listed)
}

/// Compares what is written with a file. Fails at the first byte that differs.
struct Comparing<'a> {
    file: &'a [u8],
    at: usize,
}

impl Write for Comparing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let there = &self.file[self.at..];
        let mut both = there.iter().zip(bytes);
        let equal = both.position(|(one, other)| one != other);
        let equal = equal.unwrap_or(there.len().min(bytes.len()));
        self.at += equal;
        if equal < bytes.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(equal)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
