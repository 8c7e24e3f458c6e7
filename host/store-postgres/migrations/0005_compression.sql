-- Large values are compressed by lz4, which takes a fraction of the time of PostgreSQL's own way, where the server was built with
-- it. What the host has compressed or encoded densely itself is not compressed again. Values that are there stay as they are.
--
-- A document changes several times. Room in its page lets the next version of the row be there too, and then no index changes.
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT t.oid::regclass AS name, a.attname AS column, wanted.way
        FROM (VALUES
            ('journal', 'entry', 'as it is'),
            ('deliveries', 'payload', 'lz4'),
            ('outbound', 'request', 'lz4'),
            ('documents', 'body', 'lz4'),
            ('receipts', 'body', 'lz4'),
            ('audit_entries', 'body', 'lz4')
        ) AS wanted (parent, attribute, way)
        JOIN pg_class p ON p.oid = format('rialto.%I', wanted.parent)::regclass
        JOIN pg_class t ON t.oid = p.oid OR t.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = p.oid)
        JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = wanted.attribute
    LOOP
        IF one.way = 'as it is' THEN
            EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STORAGE EXTERNAL', one.name, one.column);
        ELSE
            BEGIN
                EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET COMPRESSION lz4', one.name, one.column);
            EXCEPTION WHEN feature_not_supported THEN
                RAISE NOTICE 'the server has no lz4: large values stay with pglz';
            END;
        END IF;
    END LOOP;
END
$$;
ALTER TABLE rialto.documents SET (fillfactor = 70);
