-- Which documents there are, as eight bytes for each, so that a start learns it without reading them:
-- the fingerprints of those up to a place in `documents` that no earlier row has. Some may have been
-- removed since.
CREATE TABLE keys (
    through      INTEGER NOT NULL PRIMARY KEY,
    fingerprints BLOB    NOT NULL
);
