-- The layout of a store. Every table has the number of the partition to which its rows belong.
--
-- Tables whose names end with a month hold the rows of that month; see `make_months_1`. PostgreSQL's text has no
-- U+0000. Texts that have one are stored with an escape (`text.rs`); JSON never has one.

-- What this database is for, by name: 'scheme'.
CREATE TABLE rialto.facts (
    key   text NOT NULL PRIMARY KEY,
    value text NOT NULL
);

-- The head of each partition's log. A group changes this row first, so groups of one partition are one after another.
-- `epoch` is the fencing token: only the host that wrote it last may write groups.
CREATE TABLE rialto.partitions (
    partition integer NOT NULL PRIMARY KEY,
    epoch     bigint  NOT NULL DEFAULT 0,
    seq       bigint  NOT NULL DEFAULT 0,
    lsn       bigint  NOT NULL DEFAULT 0,
    next_id   bigint  NOT NULL DEFAULT 1,
    audit     bigint  NOT NULL DEFAULT 0
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Which host has a partition, and until when by the database's clock.
CREATE TABLE rialto.leases (
    partition  integer     NOT NULL PRIMARY KEY,
    epoch      bigint      NOT NULL DEFAULT 0,
    owner      text        NOT NULL DEFAULT '',
    taken_at   timestamptz NOT NULL DEFAULT 'epoch',
    expires_at timestamptz NOT NULL DEFAULT 'epoch'
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- One row for each group. `layout` is the version of `entry`, which has the group's turns and the keys of its documents.
CREATE TABLE rialto.journal (
    partition integer     NOT NULL,
    seq       bigint      NOT NULL,
    epoch     bigint      NOT NULL,
    lsn       bigint      NOT NULL,
    next_id   bigint      NOT NULL,
    turns     integer     NOT NULL,
    layout    smallint    NOT NULL,
    entry     bytea       NOT NULL,
    written   timestamptz NOT NULL,
    PRIMARY KEY (partition, seq, written)
) PARTITION BY RANGE (written);

CREATE TABLE rialto.collections (
    partition integer NOT NULL,
    id        bigint  NOT NULL,
    component text    NOT NULL,
    name      text    NOT NULL,
    PRIMARY KEY (partition, id),
    UNIQUE (partition, component, name)
);

-- Ids are in the order of their bytes.
CREATE TABLE rialto.documents (
    partition  integer NOT NULL,
    collection bigint  NOT NULL,
    id         text    NOT NULL COLLATE "C",
    version    bigint  NOT NULL,
    body       text    NOT NULL,
    PRIMARY KEY (partition, collection, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

-- For people: documents by the names of their component and collection.
CREATE VIEW rialto.named_documents AS
    SELECT d.partition, c.component, c.name AS collection, d.id, d.version, d.body
    FROM rialto.documents d
    JOIN rialto.collections c ON c.partition = d.partition AND c.id = d.collection;

-- Turns that must still happen, and how often a start of a host has given them back.
CREATE TABLE rialto.deliveries (
    partition integer NOT NULL,
    id        bigint  NOT NULL,
    head      text    NOT NULL,
    payload   bytea   NOT NULL,
    starts    bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (partition, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

CREATE TABLE rialto.reminders (
    partition  integer NOT NULL,
    component  text    NOT NULL COLLATE "C",
    id         text    NOT NULL COLLATE "C",
    due        bigint  NOT NULL,
    generation bigint  NOT NULL,
    payload    text    NOT NULL,
    subjects   text    NOT NULL,
    trace      text    NOT NULL,
    starts     bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (partition, component, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
CREATE INDEX reminders_by_due ON rialto.reminders (partition, due);

-- Requests to the outside without a report.
CREATE TABLE rialto.outbound (
    partition integer NOT NULL,
    id        bigint  NOT NULL,
    request   text    NOT NULL,
    PRIMARY KEY (partition, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

CREATE TABLE rialto.dead_letters (
    partition integer NOT NULL,
    id        bigint  NOT NULL,
    head      text    NOT NULL,
    payload   bytea   NOT NULL,
    attempts  bigint  NOT NULL,
    error     text    NOT NULL,
    at        bigint  NOT NULL,
    PRIMARY KEY (partition, id)
);

-- The poison candidate that runs.
CREATE TABLE rialto.poison_candidates (
    partition integer NOT NULL PRIMARY KEY,
    what      text    NOT NULL
);

-- Verdicts of rules.
CREATE TABLE rialto.receipts (
    partition integer     NOT NULL,
    id        bigint      NOT NULL,
    subject   text        NOT NULL COLLATE "C",
    at        bigint      NOT NULL,
    body      text        NOT NULL,
    written   timestamptz NOT NULL,
    PRIMARY KEY (partition, id, written)
) PARTITION BY RANGE (written);
CREATE INDEX receipts_by_subject ON rialto.receipts (partition, subject);

-- Which groups have turns about a subject.
CREATE TABLE rialto.history_subjects (
    partition integer     NOT NULL,
    subject   text        NOT NULL COLLATE "C",
    seq       bigint      NOT NULL,
    written   timestamptz NOT NULL,
    PRIMARY KEY (partition, subject, seq, written)
) PARTITION BY RANGE (written);

-- The audit log, by index from 0 without a gap.
CREATE TABLE rialto.audit_entries (
    partition integer     NOT NULL,
    index     bigint      NOT NULL,
    at        bigint      NOT NULL,
    body      text        NOT NULL,
    written   timestamptz NOT NULL,
    PRIMARY KEY (partition, index, written)
) PARTITION BY RANGE (written);

-- What comes in a month for which no table was made. It should stay empty.
CREATE TABLE rialto.journal_other PARTITION OF rialto.journal DEFAULT;
CREATE TABLE rialto.receipts_other PARTITION OF rialto.receipts DEFAULT;
CREATE TABLE rialto.history_subjects_other PARTITION OF rialto.history_subjects DEFAULT;
CREATE TABLE rialto.audit_entries_other PARTITION OF rialto.audit_entries DEFAULT;

-- Make the tables of this month and the two after it, where they do not exist. A table is made apart and then attached,
-- which does not hold up writers.
CREATE FUNCTION rialto.make_months_1() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    first  timestamp;
    child  text;
    is_other boolean;
BEGIN
    FOREACH parent IN ARRAY ARRAY['journal', 'receipts', 'history_subjects', 'audit_entries'] LOOP
        FOR n IN 0..2 LOOP
            first := date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => n);
            child := parent || to_char(first, '_YYYY_MM');
            -- A month of which rows are in the table of other months already stays there.
            EXECUTE format('SELECT EXISTS (SELECT 1 FROM rialto.%I WHERE written >= %L AND written < %L)',
                parent || '_other', first AT TIME ZONE 'UTC', (first + interval '1 month') AT TIME ZONE 'UTC') INTO is_other;
            IF to_regclass(format('rialto.%I', child)) IS NULL AND NOT is_other THEN
                EXECUTE format('CREATE TABLE rialto.%I (LIKE rialto.%I INCLUDING ALL)', child, parent);
                EXECUTE format('ALTER TABLE rialto.%I ATTACH PARTITION rialto.%I FOR VALUES FROM (%L) TO (%L)',
                    parent, child, first AT TIME ZONE 'UTC', (first + interval '1 month') AT TIME ZONE 'UTC');
            END IF;
        END LOOP;
    END LOOP;
END
$$;

-- Write a group, the one number `s` of the partition `p`, by the host with the epoch `e`. Returns
--   0: the group is written with this transaction;
--   1: it was written before, so that a host which lost its connection can ask again;
--   2: another host has taken over;
--   3: the group before it is not there.
-- The first statement waits for the group before and for a host that takes over. Each statement after it sees what
-- that one has committed.
CREATE FUNCTION rialto.write_group_1(
    p integer, e bigint, s bigint,
    new_lsn bigint, new_next_id bigint, new_turns integer, new_layout smallint, new_entry bytea,
    collection_ids bigint[], collection_components text[], collection_names text[],
    document_collections bigint[], document_ids text[], document_versions bigint[], document_bodies text[],
    removed_collections bigint[], removed_ids text[],
    delivery_ids bigint[], delivery_heads text[], delivery_payloads bytea[], delivery_removed bigint[],
    reminder_components text[], reminder_ids text[], reminder_dues bigint[], reminder_generations bigint[],
    reminder_payloads text[], reminder_subjects text[], reminder_traces text[],
    cancelled_components text[], cancelled_ids text[],
    outbound_ids bigint[], outbound_requests text[], outbound_removed bigint[],
    letter_ids bigint[], letter_heads text[], letter_payloads bytea[], letter_attempts bigint[],
    letter_errors text[], letter_ats bigint[], letter_removed bigint[],
    receipt_ids bigint[], receipt_subjects text[], receipt_ats bigint[], receipt_bodies text[],
    audit_ats bigint[], audit_bodies text[],
    subjects text[]
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    head rialto.partitions;
    now_ timestamptz;
BEGIN
    SELECT * INTO head FROM rialto.partitions WHERE partition = p FOR UPDATE;
    IF head.epoch IS DISTINCT FROM e THEN
        RETURN 2;
    ELSIF head.seq >= s THEN
        RETURN 1;
    ELSIF head.seq < s - 1 THEN
        RETURN 3;
    END IF;
    now_ := clock_timestamp();
    UPDATE rialto.partitions
        SET seq = s, lsn = new_lsn, next_id = new_next_id, audit = head.audit + cardinality(audit_ats)
        WHERE partition = p;
    INSERT INTO rialto.journal VALUES (p, s, e, new_lsn, new_next_id, new_turns, new_layout, new_entry, now_);
    IF cardinality(collection_ids) > 0 THEN
        INSERT INTO rialto.collections
            SELECT p, * FROM unnest(collection_ids, collection_components, collection_names)
            ON CONFLICT (partition, id) DO UPDATE SET component = excluded.component, name = excluded.name;
    END IF;
    IF cardinality(document_ids) > 0 THEN
        INSERT INTO rialto.documents
            SELECT p, * FROM unnest(document_collections, document_ids, document_versions, document_bodies)
            ON CONFLICT (partition, collection, id) DO UPDATE SET version = excluded.version, body = excluded.body;
    END IF;
    IF cardinality(removed_ids) > 0 THEN
        DELETE FROM rialto.documents d USING unnest(removed_collections, removed_ids) AS gone (collection, id)
            WHERE d.partition = p AND d.collection = gone.collection AND d.id = gone.id;
    END IF;
    IF cardinality(delivery_ids) > 0 THEN
        INSERT INTO rialto.deliveries (partition, id, head, payload)
            SELECT p, * FROM unnest(delivery_ids, delivery_heads, delivery_payloads)
            ON CONFLICT (partition, id) DO UPDATE SET head = excluded.head, payload = excluded.payload, starts = 0;
    END IF;
    IF cardinality(delivery_removed) > 0 THEN
        DELETE FROM rialto.deliveries WHERE partition = p AND id = ANY (delivery_removed);
    END IF;
    IF cardinality(reminder_ids) > 0 THEN
        INSERT INTO rialto.reminders (partition, component, id, due, generation, payload, subjects, trace)
            SELECT p, * FROM unnest(reminder_components, reminder_ids, reminder_dues, reminder_generations,
                reminder_payloads, reminder_subjects, reminder_traces)
            ON CONFLICT (partition, component, id) DO UPDATE SET due = excluded.due,
                generation = excluded.generation, payload = excluded.payload, subjects = excluded.subjects,
                trace = excluded.trace, starts = 0;
    END IF;
    IF cardinality(cancelled_ids) > 0 THEN
        DELETE FROM rialto.reminders r USING unnest(cancelled_components, cancelled_ids) AS gone (component, id)
            WHERE r.partition = p AND r.component = gone.component AND r.id = gone.id;
    END IF;
    IF cardinality(outbound_ids) > 0 THEN
        INSERT INTO rialto.outbound
            SELECT p, * FROM unnest(outbound_ids, outbound_requests)
            ON CONFLICT (partition, id) DO UPDATE SET request = excluded.request;
    END IF;
    IF cardinality(outbound_removed) > 0 THEN
        DELETE FROM rialto.outbound WHERE partition = p AND id = ANY (outbound_removed);
    END IF;
    IF cardinality(letter_ids) > 0 THEN
        INSERT INTO rialto.dead_letters
            SELECT p, * FROM unnest(letter_ids, letter_heads, letter_payloads, letter_attempts, letter_errors,
                letter_ats)
            ON CONFLICT (partition, id) DO UPDATE SET head = excluded.head, payload = excluded.payload,
                attempts = excluded.attempts, error = excluded.error, at = excluded.at;
    END IF;
    IF cardinality(letter_removed) > 0 THEN
        DELETE FROM rialto.dead_letters WHERE partition = p AND id = ANY (letter_removed);
    END IF;
    IF cardinality(receipt_ids) > 0 THEN
        INSERT INTO rialto.receipts
            SELECT p, *, now_ FROM unnest(receipt_ids, receipt_subjects, receipt_ats, receipt_bodies);
    END IF;
    IF cardinality(audit_ats) > 0 THEN
        INSERT INTO rialto.audit_entries
            SELECT p, head.audit + a.n - 1, a.at, a.body, now_
            FROM unnest(audit_ats, audit_bodies) WITH ORDINALITY AS a (at, body, n);
    END IF;
    IF cardinality(subjects) > 0 THEN
        INSERT INTO rialto.history_subjects SELECT p, subject, s, now_ FROM unnest(subjects) AS subject;
    END IF;
    RETURN 0;
END
$$;
