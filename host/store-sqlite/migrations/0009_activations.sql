-- What an operator says of why, with each thing that is done.
ALTER TABLE operations ADD COLUMN note TEXT NOT NULL DEFAULT '';

-- Which release was to become current, who wanted it and why, and whether it did. Nothing is known of those
-- before this table.
CREATE TABLE activations (
    id INTEGER PRIMARY KEY,
    release INTEGER NOT NULL,
    -- The release that was current then; 0 for none.
    before INTEGER NOT NULL,
    at INTEGER NOT NULL,
    person TEXT NOT NULL,
    operator TEXT NOT NULL,
    note TEXT NOT NULL,
    -- 1 from the statement on that makes the release current.
    done INTEGER NOT NULL DEFAULT 0
);
