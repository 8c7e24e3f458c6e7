-- Records may name people by pseudonyms and have encrypted parts, which a host of an earlier layout cannot read.

-- The file of people's keys with which they are encrypted: its id, and how often keys in it were destroyed. One row, or none.
CREATE TABLE personal_data (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id BLOB NOT NULL CHECK (length(id) = 16),
    shreddings INTEGER NOT NULL CHECK (shreddings >= 0)
) STRICT;
