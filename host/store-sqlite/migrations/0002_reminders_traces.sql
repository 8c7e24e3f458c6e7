-- The trace in which a reminder was set, as a `traceparent`: what it does when it is due belongs there.
-- Empty for one that was set before there was this column.
ALTER TABLE reminders ADD COLUMN trace TEXT NOT NULL DEFAULT '';
