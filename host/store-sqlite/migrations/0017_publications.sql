-- Events for the outside, in the order of their commit. `place` is the number that goes out with each; it counts up from 1
-- without a gap. Old ones are removed. A host of an earlier layout would leave numbers out.
CREATE TABLE publications (
    place INTEGER NOT NULL PRIMARY KEY,
    -- When its turn began, in milliseconds since 1970.
    at INTEGER NOT NULL,
    -- JSON.
    body TEXT NOT NULL
);

-- The last number that was given, and the last one that was sent and acknowledged.
INSERT INTO meta (key, value) VALUES ('publications', 0), ('published', 0);
