//! A bundle in memory.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::manifest::bounded;
use crate::{ALL_BYTES_MAX, About, BundleError, BundlePath, Content, FILES_MAX};

/// A bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    about: About,
    files: BTreeMap<BundlePath, File>,
    bytes: u64,
}

/// A file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// What it is.
    pub content: Content,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Bundle {
    /// A bundle without files.
    #[must_use]
    pub const fn new(about: About) -> Self {
        Self {
            about,
            files: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Add a file.
    ///
    /// # Errors
    /// When there is one of its path, it is too large, or there are too many.
    pub fn add(
        &mut self,
        path: BundlePath,
        content: Content,
        bytes: Vec<u8>,
    ) -> Result<(), BundleError> {
        bounded(path.as_str(), bytes.len() as u64, content.bytes_max())?;
        if self.files.len() >= FILES_MAX {
            return Err(BundleError::TooMany(self.files.len() + 1));
        }
        let all = self.bytes + bytes.len() as u64;
        if all > ALL_BYTES_MAX {
            return Err(BundleError::AllTooLarge { bytes: all });
        }
        if self.files.contains_key(&path) {
            return Err(BundleError::Twice {
                name: path.to_string(),
            });
        }
        self.file_and_folder(&path)?;
        self.bytes = all;
        self.files.insert(path, File { content, bytes });
        Ok(())
    }

    /// Checks that no file has the name of a folder of another one.
    fn file_and_folder(&self, path: &BundlePath) -> Result<(), BundleError> {
        let clash = |file: &BundlePath, within: &BundlePath| BundleError::FileAndFolder {
            file: file.clone(),
            within: within.clone(),
        };
        let folders = path.as_str().match_indices('/');
        for (end, _) in folders {
            let folder: BundlePath = path.as_str()[..end].parse()?;
            if self.files.contains_key(&folder) {
                return Err(clash(&folder, path));
            }
        }
        let mut others = self.files.keys();
        match others.find(|other| path.contains(other)) {
            Some(other) => Err(clash(path, other)),
            None => Ok(()),
        }
    }

    /// What it is.
    #[must_use]
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// Its files, by path.
    pub fn files(&self) -> impl Iterator<Item = (&BundlePath, &File)> {
        self.files.iter()
    }

    /// A file by its path.
    #[must_use]
    pub fn file(&self, path: &BundlePath) -> Option<&File> {
        self.files.get(path)
    }

    /// The files of which this is said.
    pub fn those(
        &self,
        is: impl Fn(&Content) -> bool,
    ) -> impl Iterator<Item = (&BundlePath, &File)> {
        self.files.iter().filter(move |(_, file)| is(&file.content))
    }

    /// Write the files into a folder, which is made or is empty.
    ///
    /// # Errors
    /// When the folder has files, or something cannot be written. Then what was written stays.
    pub fn unpack(&self, folder: &Path) -> Result<(), BundleError> {
        fs::create_dir_all(folder).map_err(BundleError::io(folder))?;
        let mut there = fs::read_dir(folder).map_err(BundleError::io(folder))?;
        if there.next().is_some() {
            return Err(BundleError::NotEmpty(folder.to_owned()));
        }
        for (path, file) in &self.files {
            let to = path.within(folder);
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(BundleError::io(parent))?;
            }
            let mut options = fs::OpenOptions::new();
            let made = options.write(true).create_new(true).open(&to);
            let written = made.and_then(|mut made| made.write_all(&file.bytes));
            written.map_err(BundleError::io(&to))?;
        }
        Ok(())
    }
}
