-- The embedded store. A group of turns is durable with its one row in `journal`; the tables below
-- follow a moment later, merged (see fold.rs). Who reads the tables beside a running host sees them
-- about a second late.

-- Counters: 'lsn' (last turn in the tables), 'next_id', 'fence' (who may write), 'release' (the
-- current one), 'folding' and 'folded' (the place in the journal up to which its entries are being
-- and have been brought into the tables).
CREATE TABLE meta (
    key   TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO meta (key, value) VALUES
    ('lsn', 0), ('next_id', 1), ('fence', 0), ('release', 0), ('folding', 0), ('folded', 0);

-- Groups that are not yet in the tables.
CREATE TABLE journal (
    place INTEGER NOT NULL PRIMARY KEY,
    entry BLOB    NOT NULL
);

CREATE TABLE collections (
    id        INTEGER NOT NULL PRIMARY KEY,
    component TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    UNIQUE (component, name)
);

-- In the order in which they were first written, so that the documents of payments of one moment
-- lie on the same few pages; found by the index.
CREATE TABLE documents (
    place      INTEGER NOT NULL PRIMARY KEY,
    collection INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    body       TEXT    NOT NULL
);
CREATE UNIQUE INDEX documents_by_id ON documents (collection, id);

-- For people: documents by the names of their component and collection.
CREATE VIEW named_documents AS
    SELECT c.component, c.name AS collection, d.id, d.version, d.body
    FROM documents d JOIN collections c ON c.id = d.collection;

-- Turns that must still happen, with how often a start of the host has given them back.
CREATE TABLE deliveries (
    id      INTEGER NOT NULL PRIMARY KEY,
    head    TEXT    NOT NULL,
    payload BLOB    NOT NULL,
    starts  INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE reminders (
    component  TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    due        INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    payload    TEXT    NOT NULL,
    subjects   TEXT    NOT NULL,
    PRIMARY KEY (component, id)
) WITHOUT ROWID;

-- Requests to the outside without a report yet.
CREATE TABLE outbound (
    id      INTEGER NOT NULL PRIMARY KEY,
    request TEXT    NOT NULL
);

CREATE TABLE dead_letters (
    id       INTEGER NOT NULL PRIMARY KEY,
    head     TEXT    NOT NULL,
    payload  BLOB    NOT NULL,
    attempts INTEGER NOT NULL,
    error    TEXT    NOT NULL,
    at       INTEGER NOT NULL
);

-- Verdicts of rules.
CREATE TABLE receipts (
    id      INTEGER NOT NULL PRIMARY KEY,
    subject TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    body    TEXT    NOT NULL
);
CREATE INDEX receipts_by_subject ON receipts (subject);

-- What happened: turns in pages, and which subjects the turns of a page were about.
CREATE TABLE history (
    page    INTEGER NOT NULL PRIMARY KEY,
    records BLOB    NOT NULL
);
CREATE TABLE history_subjects (
    subject TEXT    NOT NULL,
    page    INTEGER NOT NULL,
    PRIMARY KEY (subject, page)
) WITHOUT ROWID;

-- Releases and the components that they name, by content.
CREATE TABLE releases (
    number     INTEGER NOT NULL PRIMARY KEY,
    digest     TEXT    NOT NULL,
    document   TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    note       TEXT    NOT NULL
);
CREATE TABLE components (
    digest TEXT NOT NULL PRIMARY KEY,
    bytes  BLOB NOT NULL
) WITHOUT ROWID;
