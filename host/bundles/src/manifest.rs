//! The manifest of the artifact (OCI image specification 1.1), which lists the configuration and the files with their
//! digests.

use serde::{Deserialize, Serialize};

use crate::content::{Config, Content, Described, FORMAT, FormatOnly};
use crate::{
    ALL_BYTES_MAX, Bundle, BundleError, BundlePath, Digest, FILE_BYTES_MAX, FILES_MAX, File,
    MANIFEST_BYTES_MAX,
};

/// The media type of manifests.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The type of artifacts that are bundles.
pub const ARTIFACT: &str = "application/vnd.rialto.bundle.v1+json";
/// The media type of a bundle's configuration.
pub const CONFIG: &str = "application/vnd.rialto.bundle.config.v1+json";
/// The version of manifests.
const SCHEMA_VERSION: u32 = 2;

/// A manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    schema_version: u32,
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    pub(crate) config: Descriptor,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

/// A blob that a manifest lists.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    #[serde(default)]
    media_type: String,
    /// Its digest.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Annotations {
    /// The path of the file.
    #[serde(rename = "org.opencontainers.image.title", default)]
    title: String,
}

/// A manifest and a configuration as bytes.
pub(crate) struct Written {
    pub manifest: Vec<u8>,
    pub config: Vec<u8>,
}

impl Descriptor {
    fn of(media_type: &str, bytes: &[u8], path: Option<&BundlePath>) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
            annotations: path.map(|path| Annotations {
                title: path.to_string(),
            }),
        }
    }

    /// The file's path, as the manifest says it.
    fn title(&self) -> &str {
        let annotations = self.annotations.as_ref();
        annotations.map_or("", |annotations| &annotations.title)
    }

    /// For messages: what it is.
    pub(crate) fn what(&self) -> String {
        match self.title() {
            "" => "the configuration".to_owned(),
            title => title.to_owned(),
        }
    }

    /// Check that bytes are this blob's.
    ///
    /// # Errors
    /// When their length or digest is another one.
    pub(crate) fn check(&self, bytes: &[u8]) -> Result<(), BundleError> {
        let (what, found) = (self.what(), bytes.len() as u64);
        if found != self.size {
            let wanted = self.size;
            return Err(BundleError::Length {
                what,
                wanted,
                found,
            });
        }
        let (wanted, found) = (self.digest, Digest::of(bytes));
        if found != wanted {
            return Err(BundleError::Changed {
                what,
                wanted,
                found,
            });
        }
        Ok(())
    }
}

impl Manifest {
    /// Read a manifest. Its blobs need not be there: their sizes are judged as they are said.
    ///
    /// # Errors
    /// When it is none of a bundle, or lists too much.
    pub fn read(bytes: &[u8]) -> Result<Self, BundleError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Types {
            #[serde(default)]
            media_type: String,
            #[serde(default)]
            artifact_type: String,
        }
        const WHAT: &str = "the manifest";
        let unreadable = |error: serde_json::Error| BundleError::Unreadable {
            what: WHAT,
            why: error.to_string(),
        };
        bounded(WHAT, bytes.len() as u64, MANIFEST_BYTES_MAX)?;
        let types: Types = serde_json::from_slice(bytes).map_err(unreadable)?;
        of_type(WHAT, &types.media_type, MANIFEST)?;
        of_type("the artifact", &types.artifact_type, ARTIFACT)?;
        let manifest: Self = serde_json::from_slice(bytes).map_err(unreadable)?;
        of_type("the configuration", &manifest.config.media_type, CONFIG)?;
        bounded(
            "the configuration",
            manifest.config.size,
            MANIFEST_BYTES_MAX,
        )?;
        if manifest.layers.len() > FILES_MAX {
            return Err(BundleError::TooMany(manifest.layers.len()));
        }
        let mut all = 0_u64;
        for layer in &manifest.layers {
            let path: BundlePath = layer.title().parse()?;
            bounded(path.as_str(), layer.size, FILE_BYTES_MAX)?;
            all += layer.size;
        }
        if all > ALL_BYTES_MAX {
            return Err(BundleError::AllTooLarge { bytes: all });
        }
        Ok(manifest)
    }

    /// The configuration, then the files. A blob is named twice if two files have the same bytes.
    pub fn blobs(&self) -> impl Iterator<Item = &Descriptor> {
        std::iter::once(&self.config).chain(&self.layers)
    }

    /// The bundle of this manifest, which has these bytes itself.
    ///
    /// # Errors
    /// When a blob is missing or has other bytes, or the whole is not in the one form.
    pub(crate) fn bundle<'b>(
        &self,
        own: &[u8],
        blob: impl Fn(&Descriptor) -> Result<&'b [u8], BundleError>,
    ) -> Result<Bundle, BundleError> {
        const WHAT: &str = "the configuration";
        let text = blob(&self.config)?;
        self.config.check(text)?;
        let unreadable = |error: serde_json::Error| BundleError::Unreadable {
            what: WHAT,
            why: error.to_string(),
        };
        let FormatOnly { format } = serde_json::from_slice(text).map_err(unreadable)?;
        if format != FORMAT {
            return Err(BundleError::NewerFormat {
                found: format,
                known: FORMAT,
            });
        }
        let config: Config = serde_json::from_slice(text).map_err(unreadable)?;
        let mut bundle = Bundle::new(config.about);
        let mut described = config.files.into_iter();
        for layer in &self.layers {
            let path: BundlePath = layer.title().parse()?;
            let file = described.next().filter(|file| file.path == path);
            let Described { content, .. } =
                file.ok_or_else(|| BundleError::Disagree(path.to_string()))?;
            of_type(path.as_str(), &layer.media_type, content.media_type())?;
            let bytes = blob(layer)?;
            layer.check(bytes)?;
            bundle.add(path, content, bytes.to_vec())?;
        }
        if let Some(more) = described.next() {
            return Err(BundleError::Disagree(more.path.to_string()));
        }
        let again = bundle.written();
        same(WHAT, text, &again.config)?;
        same("the manifest", own, &again.manifest)?;
        Ok(bundle)
    }
}

impl Bundle {
    /// The manifest and the configuration of this bundle.
    pub(crate) fn written(&self) -> Written {
        let files = self.files().map(|(path, file)| Described {
            path: path.clone(),
            content: file.content.clone(),
        });
        let config = json(&Config {
            format: FORMAT,
            about: self.about().clone(),
            files: files.collect(),
        });
        let layer = |(path, file): (&BundlePath, &File)| {
            Descriptor::of(Content::media_type(&file.content), &file.bytes, Some(path))
        };
        let manifest = json(&Manifest {
            schema_version: SCHEMA_VERSION,
            media_type: MANIFEST.to_owned(),
            artifact_type: ARTIFACT.to_owned(),
            config: Descriptor::of(CONFIG, &config, None),
            layers: self.files().map(layer).collect(),
        });
        Written { manifest, config }
    }
}

/// A value as JSON. None of this crate's fails to become that.
pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

pub(crate) fn of_type(what: &str, found: &str, wanted: &'static str) -> Result<(), BundleError> {
    if found == wanted {
        return Ok(());
    }
    Err(BundleError::OtherType {
        what: what.to_owned(),
        found: found.chars().take(100).collect(),
        wanted,
    })
}

pub(crate) fn bounded(what: &str, bytes: u64, max: u64) -> Result<(), BundleError> {
    if bytes <= max {
        return Ok(());
    }
    Err(BundleError::TooLarge {
        what: what.to_owned(),
        bytes,
        max,
    })
}

/// Checks that bytes are those of the one form.
pub(crate) fn same(what: &'static str, found: &[u8], wanted: &[u8]) -> Result<(), BundleError> {
    if found == wanted {
        return Ok(());
    }
    let mut both = found.iter().zip(wanted);
    let at = both.position(|(one, other)| one != other);
    let at = at.unwrap_or(found.len().min(wanted.len()));
    Err(BundleError::NotOneForm { what, at })
}
