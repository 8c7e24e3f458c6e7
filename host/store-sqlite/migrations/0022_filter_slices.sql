-- Bloom filters of 64 full eras, as they are in memory, in 64 slices: what `eras` has, in a form that is read quickly.
CREATE TABLE filter_slices (
    slice INTEGER NOT NULL PRIMARY KEY,
    words BLOB    NOT NULL
);
