-- Eras: so many documents that were written first one after the other, `place >> 16`. Indexes over ids begin with
-- the era, for ids are random: in an index over everything each new id would have a page of its own,
-- in the index of the newest era they share few.
DROP INDEX documents_by_id;
CREATE UNIQUE INDEX documents_by_era ON documents (place >> 16, collection, id);

-- Which eras may have a document: the filters of eras that are full (see filter.rs). A full era never
-- gets a document again.
CREATE TABLE eras (
    era    INTEGER NOT NULL PRIMARY KEY,
    filter BLOB    NOT NULL
);
-- Nobody outside can tell what the filters make of an id.
INSERT INTO meta (key, value) VALUES ('filter_key', random());

-- Of the time when they came into the tables.
ALTER TABLE receipts ADD COLUMN era INTEGER NOT NULL DEFAULT 0;
DROP INDEX receipts_by_subject;
CREATE INDEX receipts_by_era ON receipts (era, subject);

CREATE TABLE history_by_era (
    era     INTEGER NOT NULL,
    subject TEXT    NOT NULL,
    page    INTEGER NOT NULL,
    PRIMARY KEY (era, subject, page)
) WITHOUT ROWID;
INSERT INTO history_by_era SELECT 0, subject, page FROM history_subjects;
-- What stands before the colon in a subject.
CREATE TABLE subject_kinds (kind TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
INSERT INTO subject_kinds
    SELECT DISTINCT substr(subject, 1, instr(subject, ':') - 1) FROM history_subjects
    WHERE instr(subject, ':') > 1;
DROP TABLE history_subjects;
