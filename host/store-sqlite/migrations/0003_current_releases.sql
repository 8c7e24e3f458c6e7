-- Which releases were current at some time: one that was refused at its activation never was.
ALTER TABLE releases ADD COLUMN was_current INTEGER NOT NULL DEFAULT 0;

-- Of those that are there already nobody knows; they are taken as if they had been.
UPDATE releases SET was_current = 1;

-- By the same statement that makes it current, so that no crash comes between.
CREATE TRIGGER release_made_current AFTER UPDATE OF value ON meta
WHEN NEW.key = 'release'
BEGIN
    UPDATE releases SET was_current = 1 WHERE number = NEW.value;
END;
