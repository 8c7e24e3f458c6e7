-- The oldest entries of the audit log may be in archives of the class `audit`. An archive's `era` is the bundle of 256 entries
-- with which it begins. A host of an earlier layout would take archived entries for missing ones.

-- The index of the first entry that is yet to be sent to the collector.
INSERT OR IGNORE INTO meta (key, value) VALUES ('audit_sent', 0);
