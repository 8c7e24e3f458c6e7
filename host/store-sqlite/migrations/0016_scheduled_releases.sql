-- Releases that come into force at an instant. A host of an earlier layout would go on with the release before.
CREATE TABLE scheduled_releases (
    release INTEGER PRIMARY KEY,
    -- The instant from which on turns run on it, in milliseconds since 1970.
    effective INTEGER NOT NULL,
    at INTEGER NOT NULL,
    person TEXT NOT NULL,
    operator TEXT NOT NULL,
    note TEXT NOT NULL,
    -- Who has withdrawn it, and when; NULL if nobody has.
    withdrawn_by TEXT,
    withdrawn INTEGER
);
