package store_test

import (
	"encoding/json"
	"testing"

	"schakel/store"
)

// TestUpgradeKeepsTheSettingsInForce: the strict profile became the default, and an installation in use keeps what held
// before as settings, but for what its administrator chose.
func TestUpgradeKeepsTheSettingsInForce(t *testing.T) {
	t.Parallel()
	const partner = `INSERT INTO partner (id, own, name, status, created_at, updated_at) VALUES ('p', TRUE, 'Own', 'approved', 1, 1)`
	const chosen = `INSERT INTO setting (name, value, updated_at) VALUES ('profile', '{"version":3,"updatedAt":"2026-01-02T03:04:05Z","updatedBy":"Ada","values":{"tokens.client_auth":"private_key_jwt"}}', 1)`
	lenient := map[string]string{"idempotency.require_key_on_writes": "accept", "register.spec_versions": "accept", "tokens.client_auth": "client_secret_basic"}
	for name, tt := range map[string]struct {
		before  []string
		version int
		values  map[string]string
	}{
		"new":    {nil, 0, nil},
		"in use": {[]string{partner}, 1, lenient},
		"chosen": {[]string{partner, chosen}, 3, map[string]string{"idempotency.require_key_on_writes": "accept", "register.spec_versions": "accept", "tokens.client_auth": "private_key_jwt"}},
	} {
		for _, dialect := range []store.Dialect{store.SQLite, store.Postgres} {
			t.Run(name+"/"+string(dialect), func(t *testing.T) {
				t.Parallel()
				db := open(t, empty(t, dialect))
				same(t, db.MigrateTo(t.Context(), 11), nil, nil)
				same(t, db.Write(t.Context(), func(tx *store.Tx) error {
					for _, statement := range tt.before {
						if _, err := tx.Raw().Exec(statement); err != nil {
							return err
						}
					}
					return nil
				}), nil, nil)
				same(t, db.Migrate(t.Context()), nil, nil)
				text, err := db.Setting(t.Context(), "profile")
				same(t, err, nil, nil)
				var row struct {
					Version int               `json:"version"`
					Values  map[string]string `json:"values"`
				}
				if text != "" {
					same(t, json.Unmarshal([]byte(text), &row), nil, nil)
				}
				same(t, row.Version, nil, tt.version)
				same(t, row.Values, nil, tt.values)
			})
		}
	}
}
