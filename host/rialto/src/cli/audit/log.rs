//! `rialto audit export DIR`: the signed part of the log, in the public format of transparency logs.

use std::fs;
use std::path::Path;

use anyhow::bail;
use rialto_audit::folder::Writer;
use rialto_store::AuditSnapshot;
use rialto_store_sqlite::retention::ArchivedEntries;

use super::ENTRIES_AT_ONCE;
use crate::out;

/// Write the signed part of the log to a folder.
pub(super) fn export(
    to: &Path,
    store: &mut dyn AuditSnapshot,
    mut archived: ArchivedEntries,
) -> anyhow::Result<u8> {
    let checkpoints = store.audit_checkpoints(u32::MAX)?;
    let Some(newest) = checkpoints.first() else {
        bail!(
            "the audit log has no signed checkpoint: add [audit] to rialto.toml, and serve the scheme"
        );
    };
    let folder = to.display();
    if fs::read_dir(to).is_ok_and(|mut files| files.next().is_some()) {
        bail!("{folder} is not empty: a log is exported into a folder of its own");
    }
    let mut writer = Writer::new(to)?;
    while writer.size() < newest.size {
        let at = writer.size();
        let entries = archived.all_entries(store, at, ENTRIES_AT_ONCE)?;
        if let Some(unread) = archived.take_unread().first() {
            bail!("{unread}");
        }
        let wanted = entries.iter().filter(|entry| entry.index < newest.size);
        for entry in wanted {
            if entry.index != writer.size() {
                break;
            }
            writer.entry(entry.body.as_bytes())?;
        }
        if writer.size() == at {
            bail!(
                "entry {at} is missing in the store: `rialto audit verify` names all that differs"
            );
        }
    }
    writer.finish()?;
    for checkpoint in &checkpoints {
        writer.earlier(checkpoint.size, &checkpoint.note)?;
    }
    // Last: a folder with it is complete.
    writer.checkpoint(&newest.note)?;
    out::note(format_args!(
        "{} entries are in {folder}; verify them with `rialto audit verify --log {folder} --key FILE`",
        newest.size
    ));
    Ok(0)
}
