-- +goose Up
-- Pages show the newest entries of one object, such as an account, or of one kind, such as settings, among very many others.
DROP INDEX audit_object;
CREATE INDEX audit_object ON audit (object_id, id);
CREATE INDEX audit_kind ON audit (object_kind, id);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
