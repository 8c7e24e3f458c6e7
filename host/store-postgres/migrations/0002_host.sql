-- What a host keeps beside groups: releases, what operators did, their credentials, and the proofs of the audit log.
-- Instants are milliseconds since 1970. Every change holds the head of the partition's log, so one host writes them.

-- Counters, by name: 'release' is the current release, 'activating' the one whose activation is under way, 'audit_sent'
-- the next entry of the audit log for the collector. One that is missing is 0.
CREATE TABLE rialto.counters (
    partition integer NOT NULL,
    name      text    NOT NULL,
    value     bigint  NOT NULL,
    PRIMARY KEY (partition, name)
);

CREATE TABLE rialto.releases (
    partition   integer NOT NULL,
    number      bigint  NOT NULL,
    digest      text    NOT NULL,
    document    text    NOT NULL,
    created_at  bigint  NOT NULL,
    note        text    NOT NULL,
    maker       text    NOT NULL,
    approver    text,
    -- The release that was current when this one was stored to wait for its approval, 0 for none; NULL if it does not wait.
    waits_on    bigint,
    was_current boolean NOT NULL DEFAULT false,
    PRIMARY KEY (partition, number)
);

CREATE TABLE rialto.components (
    partition integer NOT NULL,
    digest    text    NOT NULL,
    bytes     bytea   NOT NULL,
    PRIMARY KEY (partition, digest)
);

-- Which release was to become current instead of which, who wanted it and why, and whether it did.
CREATE TABLE rialto.activations (
    partition integer NOT NULL,
    id        bigint  NOT NULL GENERATED ALWAYS AS IDENTITY,
    release   bigint  NOT NULL,
    before    bigint  NOT NULL,
    at        bigint  NOT NULL,
    person    text    NOT NULL,
    operator  text    NOT NULL,
    note      text    NOT NULL,
    done      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (partition, id)
);

CREATE TABLE rialto.scheduled_releases (
    partition    integer NOT NULL,
    release      bigint  NOT NULL,
    effective    bigint  NOT NULL,
    at           bigint  NOT NULL,
    person       text    NOT NULL,
    operator     text    NOT NULL,
    note         text    NOT NULL,
    withdrawn_by text,
    withdrawn    bigint,
    PRIMARY KEY (partition, release)
);

CREATE TABLE rialto.plans (
    partition integer NOT NULL,
    digest    text    NOT NULL COLLATE "C",
    content   text    NOT NULL,
    maker     text    NOT NULL,
    made      bigint  NOT NULL,
    release   bigint,
    PRIMARY KEY (partition, digest)
);

CREATE TABLE rialto.plan_signatures (
    partition integer NOT NULL,
    plan      text    NOT NULL COLLATE "C",
    officer   text    NOT NULL COLLATE "C",
    kind      text    NOT NULL,
    signature text    NOT NULL,
    at        bigint  NOT NULL,
    PRIMARY KEY (partition, plan, officer)
);

CREATE TABLE rialto.suspensions (
    partition    integer NOT NULL,
    id           bigint  NOT NULL GENERATED ALWAYS AS IDENTITY,
    rule         text    NOT NULL,
    person       text    NOT NULL,
    note         text    NOT NULL,
    at           bigint  NOT NULL,
    until        bigint  NOT NULL,
    confirmed_by text,
    confirmed    bigint,
    ended_by     text,
    ended        bigint,
    PRIMARY KEY (partition, id)
);

CREATE TABLE rialto.held_back (
    partition integer NOT NULL,
    component text    NOT NULL,
    settings  text    NOT NULL,
    at        bigint  NOT NULL,
    why       text    NOT NULL,
    PRIMARY KEY (partition, component, settings)
);

-- Random bytes that nobody outside may know, by what they are for.
CREATE TABLE rialto.secrets (
    partition integer NOT NULL,
    name      text    NOT NULL,
    bytes     bytea   NOT NULL,
    PRIMARY KEY (partition, name)
);

-- Sessions and personal tokens of operators. A secret is kept as its SHA-256 alone.
CREATE TABLE rialto.credentials (
    partition integer NOT NULL,
    id        text    NOT NULL COLLATE "C",
    hash      bytea   NOT NULL,
    kind      text    NOT NULL,
    operator  text    NOT NULL,
    person    text    NOT NULL,
    subject   text,
    label     text    NOT NULL,
    roles     text,
    made      bigint  NOT NULL,
    expires   bigint  NOT NULL,
    PRIMARY KEY (partition, id),
    UNIQUE (partition, hash)
);

-- Passkeys of operators. They have no secrets.
CREATE TABLE rialto.passkeys (
    partition          integer NOT NULL,
    id                 text    NOT NULL COLLATE "C",
    credential         text    NOT NULL,
    public_key         text    NOT NULL,
    person             text    NOT NULL,
    handle             text    NOT NULL,
    label              text    NOT NULL,
    transports         text    NOT NULL,
    is_backup_eligible boolean NOT NULL,
    registered         bigint  NOT NULL,
    approved_by        text,
    approved           bigint,
    ended_by           text,
    ended              bigint,
    sign_count         bigint  NOT NULL,
    used               bigint,
    PRIMARY KEY (partition, id),
    UNIQUE (partition, credential)
);

-- What operators did with the host, and what came of it. `outcome` is NULL while it goes on, and for good when the host
-- ended meanwhile.
CREATE TABLE rialto.operations (
    partition integer NOT NULL,
    id        bigint  NOT NULL,
    at        bigint  NOT NULL,
    person    text    NOT NULL,
    operator  text    NOT NULL,
    action    text    NOT NULL,
    about     text    NOT NULL,
    note      text    NOT NULL,
    outcome   text,
    reason    text    NOT NULL,
    PRIMARY KEY (partition, id)
);

-- The file of people's keys with which records are encrypted.
CREATE TABLE rialto.people_keys (
    partition  integer NOT NULL PRIMARY KEY,
    id         bytea   NOT NULL CHECK (length(id) = 16),
    shreddings bigint  NOT NULL CHECK (shreddings >= 0)
);

-- The tree of the audit log in tiles of 256 hashes, and its signed checkpoints.
CREATE TABLE rialto.audit_tiles (
    partition integer NOT NULL,
    level     integer NOT NULL,
    index     bigint  NOT NULL,
    hashes    bytea   NOT NULL,
    PRIMARY KEY (partition, level, index)
);
CREATE TABLE rialto.audit_checkpoints (
    partition integer NOT NULL,
    size      bigint  NOT NULL,
    at        bigint  NOT NULL,
    note      text    NOT NULL,
    PRIMARY KEY (partition, size)
);
