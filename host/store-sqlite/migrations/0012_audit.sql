-- The audit log: entries that never change, in the order of their commit. `place` counts up from 0 without a gap.
CREATE TABLE audit_entries (
    place INTEGER NOT NULL PRIMARY KEY,
    -- When, in milliseconds since 1970; nearly in the order of `place`.
    at INTEGER NOT NULL,
    -- JSON; these bytes are hashed.
    entry TEXT NOT NULL
);

-- The hashes of its Merkle tree, in tiles of 256 (c2sp.org/tlog-tiles). The last tile of a level may have fewer.
CREATE TABLE audit_tiles (
    level INTEGER NOT NULL,
    place INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (level, place)
) WITHOUT ROWID;

-- Signed checkpoints: the newest one, and one of each minute before (c2sp.org/tlog-checkpoint).
CREATE TABLE audit_checkpoints (
    size INTEGER NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    note TEXT NOT NULL
);

-- How many entries the table has.
INSERT INTO meta (key, value) VALUES ('audit', 0);
