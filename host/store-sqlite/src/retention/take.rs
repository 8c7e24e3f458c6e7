//! Taking a segment out of the tables: the file first, then its row, then what it has.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Component, Path, PathBuf};

use rialto_archive::{Head, LAYOUT, Verified, Writer, Written, verify};
use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use sqlx::{Row as _, SqliteConnection};

use super::{Class, Contents, RetentionError, source};
use crate::rows::unsigned;
use crate::slices::{Bound, Slices, counter};
use crate::{Inner, failed, unreadable};

/// How many files of other stores may have the name that an archive should have.
const NAMES_MAX: u32 = 1_000;

/// How the names of archives end.
const ENDING: &str = ".jsonl.gz";
/// How the name of a file ends that is being written.
const PARTIAL: &str = ".partial";

/// An archive, as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// What it has.
    pub class: Class,
    /// Of which segment.
    pub segment: u32,
    /// Its file's name in the folder of archives.
    pub file: String,
    /// The SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// Of the digest; none as long as archives are not signed.
    pub signature: Option<String>,
    /// How many items.
    pub items: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes before compression.
    pub plain_bytes: u64,
    /// The earliest instant of an item, milliseconds since 1970.
    pub from: Timestamp,
    /// The latest.
    pub to: Timestamp,
    /// When it was made.
    pub archived_at: Timestamp,
    /// Whether all of it has been taken out of the tables.
    pub done: bool,
}

impl Archive {
    /// Whether a file is this archive.
    #[must_use]
    pub fn is(&self, verified: &Verified) -> bool {
        verified.written.sha256 == self.sha256
    }
}

/// Whether a name is that of a file in its folder, and of no other one: what a database or a manifest says
/// may be somebody else's word.
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

/// What an archive with this head is called; the nth name if others have the ones before.
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
    /// Archive what a segment has of a class. Returns none when it was enough before there was a file.
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

    /// Write down that a file is an archive of this store. From now on what it has may leave the tables.
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

    /// Go on with archives whose items may still be in the tables.
    pub(super) fn finish_archives(
        &self,
        folder: &Path,
        is_enough: &dyn Fn() -> bool,
    ) -> Result<(), RetentionError> {
        for archive in self.archives()? {
            // Documents are taken out by their component.
            if archive.done || archive.class == Class::Documents || is_enough() {
                continue;
            }
            let path = folder.join(&archive.file);
            // The tables have only a part of it by now.
            if !verify(&path).is_ok_and(|verified| archive.is(&verified)) {
                let sha256 = archive.sha256;
                return Err(RetentionError::Lost { path, sha256 });
            }
            let contents = self.contents_of(archive.segment)?;
            let of = contents.iter().find(|of| of.class == archive.class);
            // The row of the contents goes with the last of the items.
            let of = of.ok_or_else(|| unreadable("an archive", "its segment has no contents"))?;
            self.finish_archive(&archive, of.last_page, is_enough)?;
        }
        Ok(())
    }

    /// Remove what an archive has from the tables, then write down that it is done. Returns whether it is.
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

    /// Write the file, see that it is on the disk as it was written, and give it its name, or one behind the
    /// names of so many `earlier` ones. What fills it says whether it is whole.
    pub(super) fn write_file(
        &self,
        head: &Head,
        earlier: u32,
        folder: &Path,
        fill: impl FnOnce(&mut Writer<BufWriter<File>>) -> Result<bool, RetentionError>,
    ) -> Result<Option<(String, Written)>, RetentionError> {
        // Nobody but the host's user reads what the store had.
        rialto_files::folder(folder)?;
        let partial = partial(folder, &name(head, 0), &head.store);
        let io = RetentionError::io;
        // Of this process and this store: what is there was not finished.
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

    /// Which store this is: 16 hexadecimal digits.
    fn name(&self) -> Result<String, StoreError> {
        let store = self.runtime.block_on(async {
            let mut reader = self.readers.acquire().await.map_err(failed)?;
            counter(&mut reader, "store").await
        })?;
        Ok(format!("{store:016x}"))
    }

    /// Remove what a process that was killed while it wrote a file for this store has left of it.
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

/// Write down that all of an archive has been taken out of the tables.
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

/// Where a file is written before it has its name. No other process writes there, of this store or of
/// another one.
fn partial(folder: &Path, name: &str, store: &str) -> PathBuf {
    let process = std::process::id();
    folder.join(format!("{name}.{store}-{process}{PARTIAL}"))
}

/// Give a file its name. A file that has it already stays: it may be what a crash has left, and is then
/// the same, byte for byte; or it is of a store that went another way after a backup was restored.
fn named(
    (of, earlier): (&Head, u32),
    folder: &Path,
    partial: &Path,
    written: &Written,
) -> Result<String, RetentionError> {
    for n in earlier..earlier.saturating_add(NAMES_MAX) {
        let name = name(of, n);
        let path: PathBuf = folder.join(&name);
        // A second name, for renaming would take the place of a file that comes at the same moment.
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
