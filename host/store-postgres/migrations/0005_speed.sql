-- The last group that a standby has followed; none if it follows nothing, or says nothing of that.
ALTER TABLE rialto.hosts ADD COLUMN followed bigint;

-- Say how values lie in their tables, where that is not so yet. Large values are compressed by lz4, which takes a fraction of the
-- time of PostgreSQL's own way, where the server was built with it. What the host has compressed itself is not compressed again.
-- Values that are there stay as they are. A document changes several times: room in its page lets the next version of the row be
-- there too, and then no index changes. Tables are locked for a moment, in the order in which a group writes them.
CREATE FUNCTION rialto.tune_1() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    one record;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class WHERE oid = 'rialto.documents'::regclass
                   AND 'fillfactor=70' = ANY (reloptions)) THEN
        ALTER TABLE rialto.documents SET (fillfactor = 70);
    END IF;
    FOR one IN
        SELECT t.oid::regclass AS name, a.attname AS column, wanted.way
        FROM (VALUES
            (1, 'journal', 'entry', 'external'),
            (2, 'documents', 'body', 'lz4'),
            (3, 'deliveries', 'payload', 'lz4'),
            (4, 'outbound', 'request', 'lz4'),
            (5, 'receipts', 'body', 'lz4'),
            (6, 'audit_entries', 'body', 'lz4')
        ) AS wanted (place, parent, attribute, way)
        JOIN pg_class p ON p.oid = format('rialto.%I', wanted.parent)::regclass
        JOIN pg_class t ON t.oid = p.oid OR t.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = p.oid)
        JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = wanted.attribute
        WHERE CASE wanted.way WHEN 'external' THEN a.attstorage <> 'e' ELSE a.attcompression <> 'l' END
        ORDER BY wanted.place, t.oid
    LOOP
        IF one.way = 'external' THEN
            EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STORAGE EXTERNAL', one.name, one.column);
        ELSE
            BEGIN
                EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET COMPRESSION lz4', one.name, one.column);
            EXCEPTION WHEN feature_not_supported THEN
                RETURN;
            END;
        END IF;
    END LOOP;
END
$$;

-- As before, but what a group removes is found by its key, row by row. As a join, all documents of the partition were read for
-- the few that are removed, because the planner knows nothing of a table that was empty a moment ago.
CREATE OR REPLACE FUNCTION rialto.write_group_1(
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
) RETURNS integer LANGUAGE plpgsql
AS $$
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
    FOR i IN 1 .. cardinality(removed_ids) LOOP
        DELETE FROM rialto.documents
            WHERE partition = p AND collection = removed_collections[i] AND id = removed_ids[i];
    END LOOP;
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
    FOR i IN 1 .. cardinality(cancelled_ids) LOOP
        DELETE FROM rialto.reminders
            WHERE partition = p AND component = cancelled_components[i] AND id = cancelled_ids[i];
    END LOOP;
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
