-- +goose Up
-- Events, deliveries and attempts by the day of their ids, so that a day that is over goes in one step. What there is
-- becomes the first partition of each table as it stands, without being copied: it takes one reading to check its ids.
-- The program makes the partitions of days to come; the default takes what has none, so that intake never fails for it.

-- Who sent what: a partitioned table cannot hold (ce_id, ce_source, client_id) unique over all days (guarantee G4).
ALTER INDEX event_identity RENAME TO event_identity_before;
CREATE TABLE event_identity (
    ce_id     TEXT NOT NULL,
    ce_source TEXT NOT NULL,
    client_id TEXT NOT NULL,
    event_id  TEXT NOT NULL
);
INSERT INTO event_identity (ce_id, ce_source, client_id, event_id) SELECT ce_id, ce_source, client_id, id FROM event;
ALTER TABLE event_identity ADD PRIMARY KEY (ce_id, ce_source, client_id);
CREATE INDEX event_identity_event ON event_identity (event_id);
DROP INDEX event_identity_before;

-- +goose StatementBegin
-- The smallest id of a moment, in milliseconds since 1970: a ULID, whose first ten characters are the time.
CREATE FUNCTION pg_temp.id_at(prefix TEXT, ms BIGINT) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
    digits TEXT := '';
BEGIN
    FOR i IN 1..10 LOOP
        digits := substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (ms & 31)::int + 1, 1) || digits;
        ms := ms >> 5;
    END LOOP;
    RETURN prefix || '_' || digits || repeat('0', 16);
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION pg_temp.by_day(old TEXT, prefix TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    aside   TEXT := old || '_before';
    day     BIGINT := 86400000;
    ends    BIGINT := (floor(extract(epoch FROM now()) / 86400) + 1)::bigint * day;
    newest  TEXT;
    bound   TEXT;
    i       RECORD;
    indexes TEXT[] := '{}';
    d       TEXT;
BEGIN
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', old);
    FOR i IN SELECT indexname, indexdef FROM pg_indexes
             WHERE schemaname = current_schema() AND tablename = old AND indexname <> old || '_pkey' LOOP
        indexes := indexes || i.indexdef;
        EXECUTE format('ALTER INDEX %I RENAME TO %I', i.indexname, i.indexname || '_before');
    END LOOP;
    EXECUTE format('ALTER TABLE %I RENAME TO %I', old, aside);
    EXECUTE format('ALTER TABLE %I RENAME CONSTRAINT %I TO %I', aside, old || '_pkey', aside || '_pkey');
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS, PRIMARY KEY (id)) PARTITION BY RANGE (id)', old, aside);
    FOREACH d IN ARRAY indexes LOOP
        EXECUTE d;
    END LOOP;
    EXECUTE format('SELECT max(id) FROM %I', aside) INTO newest;
    IF newest IS NULL THEN
        EXECUTE format('DROP TABLE %I', aside);
    ELSE
        -- A clock that was ahead made ids of days to come.
        FOR tries IN 1..4000 LOOP
            bound := pg_temp.id_at(prefix, ends);
            EXIT WHEN newest < bound;
            ends := ends + day;
        END LOOP;
        IF newest >= bound THEN -- an id that tells no time
            bound := newest || '0';
        END IF;
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', old, aside, bound);
    END IF;
    EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', old || '_default', old);
END $$;
-- +goose StatementEnd

SELECT pg_temp.by_day('event', 'evt'), pg_temp.by_day('delivery', 'dlv'), pg_temp.by_day('attempt', 'att');
DROP FUNCTION pg_temp.by_day(TEXT, TEXT);
DROP FUNCTION pg_temp.id_at(TEXT, BIGINT);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
