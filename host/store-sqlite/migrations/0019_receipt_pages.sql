-- Bodies of receipts in compressed pages, because the receipts of one scheme have much in common. A page is named by the
-- first id in it.
CREATE TABLE receipt_pages (
    page   INTEGER NOT NULL PRIMARY KEY,
    era    INTEGER NOT NULL,
    bodies BLOB    NOT NULL
);
CREATE INDEX receipt_pages_by_era ON receipt_pages (era);
-- The page that has the body; NULL if `body` has it, as in earlier layouts.
ALTER TABLE receipts ADD COLUMN page INTEGER;
