-- The hosts of a partition: what each says of itself, each second. A host that serves and a host that waits have a row.
CREATE TABLE rialto.hosts (
    partition      integer     NOT NULL,
    host           text        NOT NULL,
    name           text        NOT NULL,
    version        text        NOT NULL,
    operators      text        NOT NULL,
    relay          text        NOT NULL,
    passes         boolean     NOT NULL,
    release        bigint      NOT NULL,
    clock_ahead_ms bigint      NOT NULL,
    started_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (partition, host)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
