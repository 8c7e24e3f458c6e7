//! The folder outside the host in which checkpoints are kept: one file for each, whose name is the size of its log.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// Write a checkpoint. A file that is there stays as it is. Checkpoints are public.
pub fn write(folder: &Path, size: u64, note: &str) -> std::io::Result<()> {
    let path = folder.join(size.to_string());
    fs::create_dir_all(folder)?;
    if path.try_exists()? {
        return Ok(());
    }
    let part = path.with_extension("part");
    let mut file = fs::File::create(&part)?;
    file.write_all(note.as_bytes())?;
    file.sync_all()?;
    fs::rename(&part, path)
}

/// Write a checkpoint with the cosignatures of witnesses, beside the one without.
pub fn write_cosigned(folder: &Path, size: u64, note: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let part = folder.join(format!("{size}.cosigned.part"));
    fs::write(&part, note)?;
    fs::rename(&part, folder.join(format!("{size}.cosigned")))
}

/// The sizes of the checkpoints of more than this many entries, in no order. Empty if the folder is not there.
pub fn sizes_above(folder: &Path, size: u64) -> std::io::Result<Vec<u64>> {
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let names = files.map(|file| file.map(|file| file.file_name()));
    let sizes = names.filter_map(|name| {
        let size_of = |name: &str| name.parse().ok().filter(|found| *found > size);
        name.map(|name| name.to_str().and_then(size_of)).transpose()
    });
    sizes.collect()
}

/// A checkpoint's text.
pub fn read(folder: &Path, size: u64) -> std::io::Result<String> {
    fs::read_to_string(folder.join(size.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_of_more_entries_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("elsewhere");
        assert!(sizes_above(&folder, 0).unwrap().is_empty());
        for size in [9, 10, 200] {
            write(&folder, size, &format!("note {size}")).unwrap();
        }
        fs::write(folder.join("300.part"), "unfinished").unwrap();
        fs::write(folder.join("README"), "what this is").unwrap();
        let mut sizes = sizes_above(&folder, 9).unwrap();
        sizes.sort_unstable();
        assert_eq!(sizes, [10, 200]);
        assert_eq!(read(&folder, 10).unwrap(), "note 10");
        // What has left the host stays.
        write(&folder, 10, "another").unwrap();
        assert_eq!(read(&folder, 10).unwrap(), "note 10");
    }
}
