//! The versions of the database's layout, oldest first. A released version never changes, because each
//! database has its checksum.

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Number, name and statements of each version, as its file in `migrations/` is named.
const VERSIONS: [(i64, &str, &str); 22] = [
    (1, "store", include_str!("../migrations/0001_store.sql")),
    (
        2,
        "reminders traces",
        include_str!("../migrations/0002_reminders_traces.sql"),
    ),
    (
        3,
        "current releases",
        include_str!("../migrations/0003_current_releases.sql"),
    ),
    (4, "eras", include_str!("../migrations/0004_eras.sql")),
    (
        5,
        "operations",
        include_str!("../migrations/0005_operations.sql"),
    ),
    (6, "starts", include_str!("../migrations/0006_starts.sql")),
    (
        7,
        "retention",
        include_str!("../migrations/0007_retention.sql"),
    ),
    (
        8,
        "documents",
        include_str!("../migrations/0008_documents.sql"),
    ),
    (
        9,
        "activations",
        include_str!("../migrations/0009_activations.sql"),
    ),
    (
        10,
        "credentials",
        include_str!("../migrations/0010_credentials.sql"),
    ),
    (
        11,
        "passkeys",
        include_str!("../migrations/0011_passkeys.sql"),
    ),
    (12, "audit", include_str!("../migrations/0012_audit.sql")),
    (
        13,
        "audit archives",
        include_str!("../migrations/0013_audit_archives.sql"),
    ),
    (
        14,
        "personal data",
        include_str!("../migrations/0014_personal_data.sql"),
    ),
    (15, "plans", include_str!("../migrations/0015_plans.sql")),
    (
        16,
        "scheduled releases",
        include_str!("../migrations/0016_scheduled_releases.sql"),
    ),
    (
        17,
        "publications",
        include_str!("../migrations/0017_publications.sql"),
    ),
    (
        18,
        "journal files",
        include_str!("../migrations/0018_journal_files.sql"),
    ),
    (
        19,
        "receipt pages",
        include_str!("../migrations/0019_receipt_pages.sql"),
    ),
    (20, "runs", include_str!("../migrations/0020_runs.sql")),
    (
        21,
        "dictionaries",
        include_str!("../migrations/0021_dictionaries.sql"),
    ),
    (
        22,
        "filter slices",
        include_str!("../migrations/0022_filter_slices.sql"),
    ),
];

const _: () = {
    let mut n = 0;
    while n < VERSIONS.len() {
        assert!(
            VERSIONS[n].0 == n as i64 + 1,
            "versions count up from 1, and none is left out"
        );
        n += 1;
    }
};

/// The migrator to the newest version.
pub(crate) fn migrator() -> Migrator {
    let versions = VERSIONS.iter().map(|&(number, name, statements)| {
        let statements = statements.into_sql_str();
        Migration::new(
            number,
            name.into(),
            MigrationType::Simple,
            statements,
            false,
        )
    });
    Migrator::with_migrations(versions.collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn each_migration_file_has_its_version_and_name() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
        let files = std::fs::read_dir(folder).unwrap();
        let mut files: Vec<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let named = |&(number, name, _): &(i64, &str, &str)| {
            format!("{number:04}_{}.sql", name.replace(' ', "_"))
        };
        let versions: Vec<String> = VERSIONS.iter().map(named).collect();
        assert_eq!(files, versions);
    }
}
