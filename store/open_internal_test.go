package store

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestAddressIsShownWithoutPassword(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"sqlite:/data/a b%zz.db":                      "sqlite:/data/a b%zz.db",
		"postgres://u:secret@db/x":                    "postgres://u:xxxxx@db/x",
		"postgres://db/x?user=u&password=secret":      "postgres://db/x?password=xxxxx&user=u",
		"postgresql://db/x?user=u&sslpassword=secret": "postgresql://db/x?sslpassword=xxxxx&user=u",
		"postgres://u:sec ret@db/x":                   "postgres://…",
		"postgres://u:se%zzcret@db/x":                 "postgres://…",
		"postgres://u:secret@db:port/x":               "postgres://…",
		"mysql":                                       "mysql",
	} {
		got := withoutPassword(in)
		if got != want || strings.Contains(got, "cret") {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
	}
}

func TestReadyMeansThatItCanWrite(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "x.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.write.Exec(`PRAGMA query_only=on`); err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(t.Context()); !Away(err) || db.Ping(t.Context()) != nil {
		t.Errorf("ready although nothing can be written: %v", err)
	}
}
