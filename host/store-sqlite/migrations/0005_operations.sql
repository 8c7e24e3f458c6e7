-- Who made a release and who approved it. Those that are there already were made by nobody whom the store knows.
ALTER TABLE releases ADD COLUMN maker TEXT NOT NULL DEFAULT '';
ALTER TABLE releases ADD COLUMN approver TEXT;
-- The release that was current when this one was stored to wait for its approval, 0 for none; NULL for one
-- that does not wait.
ALTER TABLE releases ADD COLUMN waits_on INTEGER;

-- What operators did with the host, and what came of it.
CREATE TABLE operations (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    person TEXT NOT NULL,
    operator TEXT NOT NULL,
    action TEXT NOT NULL,
    about TEXT NOT NULL,
    -- `done`, `refused`, `failed`; NULL while it goes on, and for good when the host ended meanwhile.
    outcome TEXT,
    reason TEXT NOT NULL DEFAULT ''
);
