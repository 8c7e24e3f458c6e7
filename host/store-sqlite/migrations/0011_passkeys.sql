-- The passkeys (Web Authentication) by which operators confirm what they approve. One that was ever approved stays, so
-- that its credential is never registered again. They have no secrets.
CREATE TABLE passkeys (
    id TEXT NOT NULL PRIMARY KEY,
    -- The credential's id, base64url.
    credential TEXT NOT NULL UNIQUE,
    -- SubjectPublicKeyInfo, PEM.
    public_key TEXT NOT NULL,
    person TEXT NOT NULL,
    -- What authenticators know the person by, base64url.
    handle TEXT NOT NULL,
    label TEXT NOT NULL,
    -- With commas between them.
    transports TEXT NOT NULL,
    is_backup_eligible INTEGER NOT NULL,
    registered INTEGER NOT NULL,
    -- Who has approved it, and when; NULL while it waits.
    approved_by TEXT,
    approved INTEGER,
    -- Who has ended it, when, and why; NULL while it has not ended.
    ended_by TEXT,
    ended INTEGER,
    sign_count INTEGER NOT NULL,
    used INTEGER
) WITHOUT ROWID;
