-- Dictionaries of Zstandard, by which bodies of documents are compressed. A compressed body is a frame: a blob, whose header has
-- the id of its dictionary. All other bodies are JSON as text.
CREATE TABLE dictionaries (
    id         INTEGER NOT NULL PRIMARY KEY,
    collection INTEGER NOT NULL,
    content    BLOB    NOT NULL,
    -- The CRC-32 of the content.
    checksum   INTEGER NOT NULL,
    -- The part of a document's bytes that should remain, in thousandths.
    remains    INTEGER NOT NULL
);
