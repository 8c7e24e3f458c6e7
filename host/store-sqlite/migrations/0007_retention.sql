-- How much eras have of what is kept for good, and from when: instants are milliseconds since 1970, NULL in
-- eras from before this layout until somebody has looked. A row goes with what it counts.
CREATE TABLE era_contents (
    era       INTEGER NOT NULL,
    class     TEXT    NOT NULL,
    items     INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    first_at  INTEGER,
    last_at   INTEGER,
    -- Of the history: the last of its pages. Pages of an era lie between the last one of the era before and this.
    last_page INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (era, class)
) WITHOUT ROWID;

INSERT INTO era_contents
    SELECT era, 'receipts', count(*),
           sum(length(CAST(subject AS BLOB)) + length(CAST(body AS BLOB))), min(at), max(at), 0
    FROM receipts GROUP BY era;
-- A page may be in two eras, if a fold was done again: it counts for the later one.
INSERT INTO era_contents
    SELECT p.era, 'history', count(*), sum(length(h.records)), NULL, NULL, max(p.page)
    FROM (SELECT max(era) AS era, page FROM history_by_era GROUP BY page) p
    JOIN history h ON h.page = p.page
    GROUP BY p.era;

-- What was taken out of the tables, and the files where it is.
CREATE TABLE archives (
    -- Its name in the folder of archives, and what `sha256sum` says of it.
    file        TEXT    NOT NULL PRIMARY KEY,
    sha256      TEXT    NOT NULL,
    -- What it has, and from which era.
    class       TEXT    NOT NULL,
    era         INTEGER NOT NULL,
    -- Of the digest, by the host's key; none as long as archives are not signed.
    signature   TEXT,
    items       INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    plain_bytes INTEGER NOT NULL,
    from_at     INTEGER NOT NULL,
    to_at       INTEGER NOT NULL,
    archived_at INTEGER NOT NULL,
    -- Whether all of it has been taken out of the tables; until then it may be in both.
    done        INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Which store an archive is from.
INSERT INTO meta (key, value) VALUES ('store', random() & 9223372036854775807);
