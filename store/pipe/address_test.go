package pipe

import "testing"

func TestAddressWithAPooler(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]Address{
		"postgres://u:p@db/s?sslmode=require": {Pool: "postgres://u:p@db/s?sslmode=require", Direct: "postgres://u:p@db/s?sslmode=require"},
		"postgres://u:p@pooler:6432/s?direct=db:5432&sslmode=require": {
			Pool: "postgres://u:p@pooler:6432/s?sslmode=require", Direct: "postgres://u:p@db:5432/s?sslmode=require", Pooler: true,
		},
		"postgres://u@pooler/s?direct=a:1,b:2&target_session_attrs=read-write": {
			Pool: "postgres://u@pooler/s?target_session_attrs=read-write", Direct: "postgres://u@a:1,b:2/s?target_session_attrs=read-write", Pooler: true,
		},
		"postgres:///s?host=/run/pgbouncer&port=6432&direct=/run/postgresql": {
			Pool: "postgres:///s?host=%2Frun%2Fpgbouncer&port=6432", Direct: "postgres:///s?host=%2Frun%2Fpostgresql", Pooler: true,
		},
	} {
		if got, err := ParseAddress(dsn); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", dsn, got, err, want)
		}
	}
	if _, err := ParseAddress("postgres://u:%zz@db/s?direct=x"); err == nil {
		t.Error("an address that cannot be read is accepted")
	}
}
