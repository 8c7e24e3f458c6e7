//! Moves a segment to an archive: writes the file, then its row in `archives`, then removes the items.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Component, Path, PathBuf};

use rialto_archive::{Head, LAYOUT, Writer, Written, verify};
use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use sqlx::{Row as _, SqliteConnection};

use super::{Archive, Class, Contents, RetentionError, source};
use crate::rows::unsigned;
use crate::slices::{Bound, Slices, counter};
use crate::{Inner, failed, unreadable};

/// How many files of other stores may have the wanted name of an archive.
const NAMES_MAX: u32 = 1_000;

/// The ending of archives' names.
const ENDING: &str = ".jsonl.gz";
/// The ending of the name of a file that is being written.
const PARTIAL: &str = ".partial";

/// Whether a name is a plain file name without a path. A name in a database or a manifest may be an
/// attacker's.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_normal = matches!(parts.next(), Some(Component::Normal(part)) if part == name);
    is_normal && parts.next().is_none() && !name.contains('\0') && name.ends_with(ENDING)
}

/// All archives, by class and segment.
pub(crate) async fn archives(
    connection: &mut SqliteConnection,
) -> Result<Vec<Archive>, StoreError> {
    let rows = sqlx::query(
        "SELECT class, era, file, sha256, signature, items, bytes, plain_bytes, from_at, to_at,
                archived_at, done
         FROM archives ORDER BY class, era, archived_at, length(file), file",
    )
    .fetch_all(connection)
    .await
    .map_err(failed)?;
    rows.iter()
        .map(|row| {
            let number = |column| unsigned(row.try_get(column).map_err(failed)?);
            let class: &str = row.try_get(0).map_err(failed)?;
            let file: String = row.try_get(2).map_err(failed)?;
            if !is_plain_name(&file) {
                return Err(unreadable("the name of an archive", format!("{file:?}")));
            }
            Ok(Archive {
                class: Class::of(class).ok_or_else(|| unreadable("a class", class))?,
                segment: row.try_get(1).map_err(failed)?,
                file,
                sha256: row.try_get(3).map_err(failed)?,
                signature: row.try_get(4).map_err(failed)?,
                items: number(5)?,
                bytes: number(6)?,
                plain_bytes: number(7)?,
                from: Timestamp(number(8)?),
                to: Timestamp(number(9)?),
                archived_at: Timestamp(number(10)?),
                done: row.try_get(11).map_err(failed)?,
            })
        })
        .collect()
}

/// The nth possible name of an archive with this head.
fn name(of: &Head, n: u32) -> String {
    let parts = [Some(&of.class), of.kept.as_ref(), of.component.as_ref()];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    let (parts, segment) = (parts.join("-"), of.segment);
    match n {
        0 => format!("{parts}-{segment:010}{ENDING}"),
        n => format!("{parts}-{segment:010}-{n}{ENDING}"),
    }
}

impl Inner {
    /// Archive the items of a class in a segment. Returns none if `is_enough` stopped it before there was a file.
    pub(super) fn take(
        &self,
        of: &Contents,
        folder: &Path,
        now: Timestamp,
        is_enough: &dyn Fn() -> bool,
    ) -> Result<Option<Archive>, RetentionError> {
        let open = self.row_ids.open_segment()?;
        assert!(
            of.segment < open,
            "segment {} is to be archived, and segment {open} takes new documents",
            of.segment
        );
        let mut archives = self.archives()?.into_iter();
        let other = archives.find(|other| (other.class, other.segment) == (of.class, of.segment));
        assert_eq!(other, None, "a segment that has been archived has {of:?}");
        let head = self.head(of.class, of.segment)?;
        let file = self.write_file(&head, 0, folder, |out| {
            source::write(self, of, out, is_enough)
        })?;
        let Some((file, written)) = file else {
            return Ok(None);
        };
        let archive = self.name_archive(of.class, of.segment, file, written, now)?;
        let done = self.finish_archive(&archive, of.last_page, is_enough)?;
        Ok(Some(Archive { done, ..archive }))
    }

    /// Add an archive to the store's table. From now on its items may be removed from the tables.
    pub(super) fn name_archive(
        &self,
        class: Class,
        segment: u32,
        file: String,
        written: Written,
        now: Timestamp,
    ) -> Result<Archive, StoreError> {
        let archive = Archive {
            class,
            segment,
            file,
            sha256: written.sha256,
            signature: None,
            items: written.items,
            bytes: written.bytes,
            plain_bytes: written.plain_bytes,
            from: Timestamp(written.from),
            to: Timestamp(written.to),
            archived_at: now,
            done: false,
        };
        self.add_archive(&archive)?;
        tracing::info!(
            file = %archive.file,
            items = archive.items,
            bytes = archive.bytes,
            sha256 = %archive.sha256,
            "a segment of the store was archived"
        );
        Ok(archive)
    }

    /// Finish archives whose items may still be in the tables.
    pub(super) fn finish_archives(
        &self,
        folder: &Path,
        is_enough: &dyn Fn() -> bool,
    ) -> Result<(), RetentionError> {
        for archive in self.archives()? {
            // Documents are removed by their component.
            if archive.done || archive.class == Class::Documents || is_enough() {
                continue;
            }
            let path = folder.join(&archive.file);
            // The tables may have only a part of its items by now.
            if !verify(&path).is_ok_and(|verified| archive.is(&verified)) {
                let sha256 = archive.sha256;
                return Err(RetentionError::Lost { path, sha256 });
            }
            if archive.class == Class::Audit {
                self.finish_entries(&archive, is_enough)?;
                continue;
            }
            let contents = self.contents_of(archive.segment)?;
            let of = contents.iter().find(|of| of.class == archive.class);
            // The row of the contents goes with the last of the items.
            let of = of.ok_or_else(|| unreadable("an archive", "its segment has no contents"))?;
            self.finish_archive(&archive, of.last_page, is_enough)?;
        }
        Ok(())
    }

    /// Remove an archive's items from the tables, then mark it as done. Returns whether it is done.
    fn finish_archive(
        &self,
        archive: &Archive,
        last_page: u64,
        is_enough: &dyn Fn() -> bool,
    ) -> Result<bool, StoreError> {
        let (class, segment) = (archive.class, archive.segment);
        if !source::remove(self, class, segment, last_page, is_enough)? {
            return Ok(false);
        }
        let mut contents = Bound::default();
        contents.add(class.name())?;
        contents.add(segment)?;
        let mut slices = self.slices();
        let text = "DELETE FROM era_contents WHERE class = ? AND era = ?";
        let removed = slices.statement(text, contents, 0)?;
        assert_eq!(
            removed, 1,
            "the contents of the segment {segment} that is archived"
        );
        is_done(&mut slices, archive)?;
        slices.finish()?;
        Ok(true)
    }

    fn add_archive(&self, archive: &Archive) -> Result<(), StoreError> {
        let mut row = Bound::default();
        row.add(archive.class.name())?;
        row.add(archive.segment)?;
        row.add(archive.file.clone())?;
        row.add(archive.sha256.clone())?;
        for number in [
            archive.items,
            archive.bytes,
            archive.plain_bytes,
            archive.from.0.min(i64::MAX as u64),
            archive.to.0.min(i64::MAX as u64),
            archive.archived_at.0,
        ] {
            row.number(number)?;
        }
        let mut slices = self.slices();
        let rows = slices.statement(
            "INSERT INTO archives (class, era, file, sha256, items, bytes, plain_bytes,
                                   from_at, to_at, archived_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
            1,
        )?;
        assert!(
            rows == 1,
            "the archive {} is kept in {rows} rows",
            archive.file
        );
        slices.finish()
    }

    /// Write an archive file, verify it, and give it its name, the one after `earlier` others. `fill` returns
    /// whether the file is complete.
    pub(super) fn write_file(
        &self,
        head: &Head,
        earlier: u32,
        folder: &Path,
        fill: impl FnOnce(&mut Writer<BufWriter<File>>) -> Result<bool, RetentionError>,
    ) -> Result<Option<(String, Written)>, RetentionError> {
        // Only the host's user may read it.
        rialto_files::folder(folder)?;
        let partial = partial(folder, &name(head, 0), &head.store);
        let io = RetentionError::io;
        // The name is of this process and this store, so an existing file is unfinished.
        match std::fs::remove_file(&partial) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io(&partial)(error));
            }
            _ => {}
        }
        let file = rialto_files::create(&partial)?;
        let mut out = Writer::new(BufWriter::new(file), head).map_err(io(&partial))?;
        if !fill(&mut out)? {
            drop(out);
            std::fs::remove_file(&partial).map_err(io(&partial))?;
            return Ok(None);
        }
        let (file, written) = out.finish().map_err(io(&partial))?;
        let file = file.into_inner().map_err(|error| error.into_error());
        let synced = file.and_then(|file| file.sync_all());
        synced.map_err(io(&partial))?;
        if verify(&partial)?.written != written {
            return Err(RetentionError::NotKept { path: partial });
        }
        let name = named((head, earlier), folder, &partial, &written)?;
        // The folder too, so that the name is there after a power cut.
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(io(folder))?;
        Ok(Some((name, written)))
    }

    /// The name of this store: 16 hexadecimal digits.
    fn name(&self) -> Result<String, StoreError> {
        let store = self.runtime.block_on(async {
            let mut reader = self.readers.acquire().await.map_err(failed)?;
            counter(&mut reader, "store").await
        })?;
        Ok(format!("{store:016x}"))
    }

    /// Remove the unfinished file of a process that was killed while it wrote for this store.
    pub(super) fn forget_partial(&self, folder: &Path) -> Result<(), RetentionError> {
        let entries = match std::fs::read_dir(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(RetentionError::io(folder))?,
        };
        let store = self.name()?;
        for entry in entries {
            let path = entry.map_err(RetentionError::io(folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(PARTIAL) && name.contains(&format!(".{store}-")) {
                std::fs::remove_file(&path).map_err(RetentionError::io(&path))?;
            }
        }
        Ok(())
    }

    pub(super) fn head(&self, class: Class, segment: u32) -> Result<Head, StoreError> {
        Ok(Head {
            rialto_archive: LAYOUT,
            store: self.name()?,
            class: class.name().to_owned(),
            segment,
            component: None,
            kept: None,
        })
    }
}

/// Mark an archive: all its items were removed from the tables.
pub(super) fn is_done(slices: &mut Slices<'_>, archive: &Archive) -> Result<(), StoreError> {
    let mut key = Bound::default();
    key.add(archive.file.clone())?;
    let text = "UPDATE archives SET done = 1 WHERE file = ?";
    let done = slices.statement(text, key, 0)?;
    assert_eq!(done, 1, "the row of the archive {}", archive.file);
    Ok(())
}

/// How many archives have a name that one with this head could have.
pub(super) fn named_like(archives: &[Archive], of: &Head) -> u32 {
    let first = name(of, 0);
    let stem = first.trim_end_matches(ENDING);
    let is_like = |archive: &&Archive| {
        let rest = archive.file.strip_prefix(stem);
        rest.is_some_and(|rest| rest.starts_with(['-', '.']))
    };
    u32::try_from(archives.iter().filter(is_like).count()).unwrap_or(u32::MAX)
}

/// The path of a file while it is written. No other process uses it, of this store or another one.
fn partial(folder: &Path, name: &str, store: &str) -> PathBuf {
    let process = std::process::id();
    folder.join(format!("{name}.{store}-{process}{PARTIAL}"))
}

/// Give a file its name. An existing file of this name stays. It may be left by a crash, and is then equal byte
/// for byte. Or it belongs to another store, which was restored from the same backup.
fn named(
    (of, earlier): (&Head, u32),
    folder: &Path,
    partial: &Path,
    written: &Written,
) -> Result<String, RetentionError> {
    for n in earlier..earlier.saturating_add(NAMES_MAX) {
        let name = name(of, n);
        let path: PathBuf = folder.join(&name);
        // A hard link, because a rename would overwrite a file that another process creates at this moment.
        match std::fs::hard_link(partial, &path) {
            Ok(()) => {
                std::fs::remove_file(partial).map_err(RetentionError::io(partial))?;
                return Ok(name);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(RetentionError::io(&path)(error)),
        }
        if verify(&path).is_ok_and(|other| other.written == *written) {
            std::fs::remove_file(partial).map_err(RetentionError::io(partial))?;
            return Ok(name);
        }
    }
    let source = std::io::Error::other("too many files have the names of archives");
    Err(RetentionError::io(folder)(source))
}
