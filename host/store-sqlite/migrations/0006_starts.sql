-- In how many starts of the host a reminder was due and not handled, as `deliveries.starts` says of deliveries;
-- and the delivery that runs while it is suspected of ending the host, at most one.
ALTER TABLE reminders ADD COLUMN starts INTEGER NOT NULL DEFAULT 0;
CREATE TABLE suspect (
    id   INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    what TEXT    NOT NULL
);
