-- Sessions of operators who have signed in, and their personal tokens. A secret is kept as its SHA-256 alone. They hold
-- while `rialto.toml` has the operator with this person and this subject.
CREATE TABLE credentials (
    id TEXT NOT NULL PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    -- `session` or `token`.
    kind TEXT NOT NULL,
    operator TEXT NOT NULL,
    person TEXT NOT NULL,
    -- The person's subject at the issuer; NULL for an operator without one.
    subject TEXT,
    label TEXT NOT NULL,
    -- The roles of a token, with commas between them; NULL for all that the operator has.
    roles TEXT,
    made INTEGER NOT NULL,
    expires INTEGER NOT NULL
) WITHOUT ROWID;
