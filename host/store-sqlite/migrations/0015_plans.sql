-- Plans: what a release would change, approved by officers before it becomes current. A plan never changes.
CREATE TABLE plans (
    -- SHA-256 of the content.
    digest TEXT NOT NULL PRIMARY KEY,
    content TEXT NOT NULL,
    maker TEXT NOT NULL,
    made INTEGER NOT NULL,
    -- The release that it became; NULL until it is applied.
    release INTEGER
) WITHOUT ROWID;

-- The officers' approvals of plans, one for each officer and plan.
CREATE TABLE plan_signatures (
    plan TEXT NOT NULL,
    officer TEXT NOT NULL,
    -- `Ed25519`, `ES256` or `passkey`.
    kind TEXT NOT NULL,
    -- Base64url; empty for a passkey, whose confirmation the audit log has.
    signature TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (plan, officer)
) WITHOUT ROWID;

-- Rules that a person has suspended. One that is over stays as a record.
CREATE TABLE suspensions (
    id INTEGER PRIMARY KEY,
    rule TEXT NOT NULL,
    person TEXT NOT NULL,
    note TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- When it ends unless it is confirmed.
    until INTEGER NOT NULL,
    -- Who has confirmed it, and when; NULL until then.
    confirmed_by TEXT,
    confirmed INTEGER,
    -- Who has ended it, and when; NULL until then.
    ended_by TEXT,
    ended INTEGER
);

-- Canaries that were held back: they judge nothing again with these settings.
CREATE TABLE held_back (
    -- The digests of the component and of its settings.
    component TEXT NOT NULL,
    settings TEXT NOT NULL,
    at INTEGER NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (component, settings)
) WITHOUT ROWID;

-- Random bytes that nobody outside may know, by what they are for.
CREATE TABLE secrets (
    name TEXT NOT NULL PRIMARY KEY,
    bytes BLOB NOT NULL
) WITHOUT ROWID;
