package main

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"schakel/store"
)

// The program waits a while for a PostgreSQL that is away, and for nothing else.
func TestWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	away, wrong := &net.OpError{Op: "dial", Err: errors.New("connection refused")}, errors.New("wrong password")
	there := &store.DB{}
	for name, c := range map[string]struct {
		database string
		answers  []error // the last one stays
		took     time.Duration
		want     error
	}{
		"there":           {"postgres://x", []error{nil}, 0, nil},
		"there soon":      {"postgres://x", []error{away, away, nil}, 2 * databaseLook, nil},
		"never there":     {"postgresql://x", []error{away}, databaseWait, away},
		"there but wrong": {"postgres://x", []error{away, wrong}, databaseLook, wrong},
		"a file":          {"sqlite:x", []error{away}, 0, away},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				db, err := whenThere(t.Context(), c.database, quiet(), func(context.Context, string) (*store.DB, error) {
					err := c.answers[0]
					if len(c.answers) > 1 {
						c.answers = c.answers[1:]
					}
					if err != nil {
						return nil, err
					}
					return there, nil
				})
				if !errors.Is(err, c.want) || (err == nil) != (db == there) || time.Since(began) != c.took {
					t.Errorf("after %v: %v, %v", time.Since(began), db, err)
				}
			})
		})
	}
}
