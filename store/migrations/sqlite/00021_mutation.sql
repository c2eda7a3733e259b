-- +goose Up
-- Datasets whose changes are delivered as mutation files.
CREATE TABLE dataset (
    id                TEXT PRIMARY KEY, -- chosen by the administrator; what the header of a file calls the dataset
    title             TEXT NOT NULL,
    description       TEXT NOT NULL DEFAULT '',
    status            TEXT NOT NULL, -- active or ended
    root_prefix       TEXT NOT NULL, -- the element around the message in its files
    root_space        TEXT NOT NULL,
    root_local        TEXT NOT NULL,
    namespaces        TEXT NOT NULL DEFAULT '{}', -- JSON object: prefix to namespace, declared on the root of its files
    object_types      TEXT NOT NULL, -- JSON array
    crs               BIGINT NOT NULL DEFAULT 0, -- EPSG code of its geometries: 28992, 4326, or 0 when it has none
    area_kind         TEXT NOT NULL, -- none, geometry or keys: what subscribers can bound it by
    geometry_elements TEXT NOT NULL DEFAULT '[]', -- JSON array of local names whose geometry counts; empty for every geometry
    key_elements      TEXT NOT NULL DEFAULT '[]', -- JSON array of local names whose text is a key
    per_file          BIGINT NOT NULL, -- mutations after which a file of a delivery ends (MUT-20)
    delta_schedule    TEXT NOT NULL DEFAULT '', -- as cron writes it, UTC; empty for on demand
    snapshot_schedule TEXT NOT NULL DEFAULT '',
    lineage           TEXT NOT NULL, -- a copy goes on only within one lineage (MUT-38)
    lineage_at        BIGINT NOT NULL,
    lineage_seq       BIGINT NOT NULL DEFAULT 0, -- the last group before this lineage
    lineage_reason    TEXT NOT NULL DEFAULT '',
    replaced_seq      BIGINT NOT NULL DEFAULT 0, -- states that came up to here were replaced by another history: there are none of them
    last_seq          BIGINT NOT NULL DEFAULT 0, -- the last group
    checked_at        BIGINT, -- until when it is known that all groups are in deltas
    delta_asked_at    BIGINT, -- when somebody asked for a delta at once
    snapshot_asked_at BIGINT,
    created_at        BIGINT NOT NULL,
    created_by        TEXT NOT NULL DEFAULT '',
    updated_at        BIGINT NOT NULL
);

-- What was taken in by one request or one import. A request that is sent again goes on behind what is in.
CREATE TABLE mutation_publication (
    id          TEXT PRIMARY KEY,
    dataset_id  TEXT NOT NULL REFERENCES dataset (id),
    client_id   TEXT NOT NULL, -- or the account of who imported it
    request_key TEXT NOT NULL DEFAULT '', -- Idempotency-Key
    kind        TEXT NOT NULL, -- groups, delta or initial
    name        TEXT NOT NULL DEFAULT '', -- of the file
    status      TEXT NOT NULL, -- running, done, failed or cancelled
    groups      BIGINT NOT NULL DEFAULT 0,
    adds        BIGINT NOT NULL DEFAULT 0,
    changes     BIGINT NOT NULL DEFAULT 0,
    deletes     BIGINT NOT NULL DEFAULT 0,
    first_seq   BIGINT NOT NULL DEFAULT 0,
    last_seq    BIGINT NOT NULL DEFAULT 0,
    bytes       BIGINT NOT NULL DEFAULT 0, -- read
    bytes_total BIGINT NOT NULL DEFAULT 0, -- 0 when it is not known
    hash        BLOB NOT NULL, -- SHA-256 that runs over the groups that are in
    error       TEXT NOT NULL DEFAULT '',
    created_by  TEXT NOT NULL DEFAULT '',
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE UNIQUE INDEX mutation_publication_key ON mutation_publication (dataset_id, client_id, request_key) WHERE request_key <> '';
CREATE INDEX mutation_publication_dataset ON mutation_publication (dataset_id, id);

-- The history of a dataset: groups in the order in which they were taken in.
CREATE TABLE mutation_group (
    dataset_id     TEXT NOT NULL,
    seq            BIGINT NOT NULL, -- from 1, without gaps
    publication_id TEXT NOT NULL,
    at             BIGINT NOT NULL,
    PRIMARY KEY (dataset_id, seq)
) WITHOUT ROWID;

CREATE TABLE mutation (
    dataset_id  TEXT NOT NULL,
    seq         BIGINT NOT NULL,
    number      BIGINT NOT NULL, -- in the group, from 1
    object_type TEXT NOT NULL,
    object_id   TEXT NOT NULL,
    was_id      TEXT NOT NULL DEFAULT '', -- empty: it adds
    wordt_id    TEXT NOT NULL DEFAULT '', -- empty: it deletes
    PRIMARY KEY (dataset_id, seq, number)
) WITHOUT ROWID;

-- Versions of objects, each with the groups in which it came and went.
CREATE TABLE mutation_state (
    id          TEXT PRIMARY KEY, -- UUID, never given twice (MUT-10)
    dataset_id  TEXT NOT NULL,
    object_type TEXT NOT NULL,
    object_id   TEXT NOT NULL,
    source_id   TEXT NOT NULL DEFAULT '', -- what its publisher calls it: never twice until its history is replaced
    born_seq    BIGINT NOT NULL,
    died_seq    BIGINT NOT NULL DEFAULT 0, -- 0: it is there
    digest      BLOB NOT NULL, -- SHA-256 over its fields
    namespaces  TEXT NOT NULL DEFAULT '{}', -- JSON object: prefix to namespace, declared around the XML
    xml         BLOB NOT NULL
);
CREATE INDEX mutation_state_source ON mutation_state (dataset_id, source_id) WHERE source_id <> '';
CREATE INDEX mutation_state_object ON mutation_state (dataset_id, object_type, object_id, digest) WHERE died_seq = 0;
CREATE INDEX mutation_state_born ON mutation_state (dataset_id, born_seq, id);
CREATE INDEX mutation_state_died ON mutation_state (dataset_id, died_seq) WHERE died_seq > 0;

-- Zips, in pieces. One without a finish is on its way in.
CREATE TABLE mutation_file (
    id          TEXT PRIMARY KEY,
    dataset_id  TEXT NOT NULL,
    size        BIGINT NOT NULL DEFAULT 0,
    digest      BLOB NOT NULL, -- SHA-256
    created_at  BIGINT NOT NULL,
    touched_at  BIGINT NOT NULL, -- when the last piece came
    finished_at BIGINT,
    gone_at     BIGINT -- when its bytes were removed
);
CREATE TABLE mutation_chunk (
    file_id TEXT NOT NULL,
    number  BIGINT NOT NULL, -- from 0
    data    BLOB NOT NULL,
    PRIMARY KEY (file_id, number)
);

-- Deltas: the groups behind one up to another. Their rows stay, so that it is known what is gone.
CREATE TABLE mutation_delta (
    id          TEXT PRIMARY KEY, -- UUID
    dataset_id  TEXT NOT NULL REFERENCES dataset (id),
    number      BIGINT NOT NULL, -- from 1, without gaps
    previous_id TEXT NOT NULL DEFAULT '',
    lineage     TEXT NOT NULL,
    from_seq    BIGINT NOT NULL, -- the group before its first
    to_seq      BIGINT NOT NULL, -- its last group
    from_at     BIGINT NOT NULL,
    to_at       BIGINT NOT NULL, -- it stays for 31 days from here (MUT-33)
    manifest    TEXT NOT NULL, -- JSON
    file_id     TEXT NOT NULL,
    bytes       BIGINT NOT NULL,
    sha256      TEXT NOT NULL, -- of the zip, hexadecimal
    created_at  BIGINT NOT NULL,
    announced_at BIGINT,
    gone_at     BIGINT,
    UNIQUE (dataset_id, number)
);
CREATE INDEX mutation_delta_untold ON mutation_delta (dataset_id, number) WHERE announced_at IS NULL;
CREATE INDEX mutation_delta_there ON mutation_delta (to_at) WHERE gone_at IS NULL;

-- Initial states: everything there was at the end of a delta.
CREATE TABLE mutation_snapshot (
    id          TEXT PRIMARY KEY, -- UUID
    dataset_id  TEXT NOT NULL REFERENCES dataset (id),
    delta_id    TEXT NOT NULL DEFAULT '', -- the last delta that it includes (MUT-34)
    delta_number BIGINT NOT NULL DEFAULT 0,
    seq         BIGINT NOT NULL,
    lineage     TEXT NOT NULL,
    status      TEXT NOT NULL, -- running, done or failed
    total       BIGINT NOT NULL DEFAULT 0, -- states to write
    done        BIGINT NOT NULL DEFAULT 0, -- written
    error       TEXT NOT NULL DEFAULT '',
    manifest    TEXT NOT NULL DEFAULT '',
    file_id     TEXT NOT NULL DEFAULT '',
    bytes       BIGINT NOT NULL DEFAULT 0,
    sha256      TEXT NOT NULL DEFAULT '',
    created_at  BIGINT NOT NULL,
    finished_at BIGINT,
    gone_at     BIGINT
);
CREATE INDEX mutation_snapshot_dataset ON mutation_snapshot (dataset_id, id);

-- What subscribers bound a dataset by. It never changes: another area is another row (MUT-49).
CREATE TABLE mutation_area (
    id         TEXT PRIMARY KEY,
    dataset_id TEXT NOT NULL REFERENCES dataset (id),
    partner_id TEXT NOT NULL REFERENCES partner (id),
    name       TEXT NOT NULL DEFAULT '',
    kind       TEXT NOT NULL, -- geometry or keys
    given      TEXT NOT NULL, -- as it was given
    given_crs  BIGINT NOT NULL DEFAULT 0,
    wkt        TEXT NOT NULL DEFAULT '', -- the boundary that is used, in the CRS of the dataset (MUT-41)
    keys       TEXT NOT NULL DEFAULT '[]', -- JSON array
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL DEFAULT ''
);
CREATE INDEX mutation_area_partner ON mutation_area (partner_id, dataset_id);

-- Subscriptions to datasets are subscriptions without event types, at an endpoint of kind files.
ALTER TABLE subscription ADD COLUMN dataset_id TEXT NOT NULL DEFAULT '';
CREATE INDEX subscription_dataset ON subscription (dataset_id) WHERE dataset_id <> '';

-- What a subscription to a dataset gets, and how far its copy is.
CREATE TABLE mutation_follower (
    subscription_id TEXT PRIMARY KEY REFERENCES subscription (id),
    dataset_id      TEXT NOT NULL,
    area_id         TEXT NOT NULL DEFAULT '', -- empty for everything
    object_types    TEXT NOT NULL DEFAULT '[]', -- JSON array; empty for all
    delta_id        TEXT NOT NULL DEFAULT '', -- the last that was fetched to its end
    delta_number    BIGINT NOT NULL DEFAULT 0,
    snapshot_id     TEXT NOT NULL DEFAULT '',
    fetched_at      BIGINT
);
CREATE INDEX mutation_follower_dataset ON mutation_follower (dataset_id);

-- Downloads that are made for one subscriber: of an area, of some object types.
CREATE TABLE mutation_download (
    id              TEXT PRIMARY KEY, -- UUID
    dataset_id      TEXT NOT NULL REFERENCES dataset (id),
    partner_id      TEXT NOT NULL,
    subscription_id TEXT NOT NULL DEFAULT '',
    requested_by    TEXT NOT NULL DEFAULT '', -- the client; empty: made because the subscription has an area
    delta_id        TEXT NOT NULL DEFAULT '', -- of a delta, or
    snapshot_id     TEXT NOT NULL DEFAULT '', -- of a snapshot
    area_id         TEXT NOT NULL DEFAULT '', -- of the subscription
    geofilter       TEXT NOT NULL DEFAULT '', -- WKT, asked for besides
    object_types    TEXT NOT NULL DEFAULT '[]',
    lineage         TEXT NOT NULL,
    status          TEXT NOT NULL, -- pending, running, completed or failed
    progress        BIGINT NOT NULL DEFAULT 0, -- of 100
    error           TEXT NOT NULL DEFAULT '',
    manifest        TEXT NOT NULL DEFAULT '',
    file_id         TEXT NOT NULL DEFAULT '',
    bytes           BIGINT NOT NULL DEFAULT 0,
    sha256          TEXT NOT NULL DEFAULT '',
    owner           TEXT NOT NULL DEFAULT '', -- the node that makes it
    lease_until     BIGINT,
    created_at      BIGINT NOT NULL,
    finished_at     BIGINT,
    announced_at    BIGINT,
    gone_at         BIGINT
);
CREATE INDEX mutation_download_waiting ON mutation_download (id) WHERE status IN ('pending', 'running');
CREATE INDEX mutation_download_delta ON mutation_download (delta_id, subscription_id);
CREATE INDEX mutation_download_snapshot ON mutation_download (snapshot_id, subscription_id);
CREATE INDEX mutation_download_partner ON mutation_download (partner_id, id);
CREATE INDEX mutation_download_untold ON mutation_download (dataset_id) WHERE status = 'completed' AND announced_at IS NULL;
CREATE INDEX mutation_download_there ON mutation_download (created_at) WHERE gone_at IS NULL;
CREATE INDEX mutation_download_gone ON mutation_download (gone_at) WHERE gone_at IS NOT NULL;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
