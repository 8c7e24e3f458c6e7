-- Runs: parts of an era. Ids are random, so a flush changes most pages of the part of an index into which they go. A run's
-- part is small, is changed by few flushes, and then never again.

-- A run is 8,192 places.
DROP INDEX documents_by_era;
CREATE UNIQUE INDEX documents_by_run ON documents (place >> 13, collection, id);

-- A run is 131,072 ids, of which receipts have some. It may be in two eras.
DROP INDEX receipts_by_era;
CREATE INDEX receipts_by_run ON receipts (era, id >> 17, subject);

-- A run is that of the next id at the time of the flush. What is there already is one run in each era.
CREATE TABLE history_by_run (
    era     INTEGER NOT NULL,
    run     INTEGER NOT NULL,
    subject TEXT    NOT NULL,
    page    INTEGER NOT NULL,
    PRIMARY KEY (era, run, subject, page)
) WITHOUT ROWID;
INSERT INTO history_by_run SELECT era, 0, subject, page FROM history_by_era ORDER BY era, subject, page;
DROP TABLE history_by_era;
