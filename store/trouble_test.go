package store_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"

	"schakel/store"
)

// TestAway tells a database that is away, which is worth another try, from what is wrong with a request.
//
// Rules: EDU-19.
func TestAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		away bool
	}{
		{nil, false},
		{errors.New("no such column"), false},
		{sqlite3.Error{Code: sqlite3.ErrFull}, true},
		{sqlite3.Error{Code: sqlite3.ErrConstraint}, false},
		{&pgconn.PgError{Code: "57P01"}, true}, // an operator, or a crash, ended the connection
		{&pgconn.PgError{Code: "53100"}, true}, // disk full
		{&pgconn.PgError{Code: "40P01"}, true}, // two transactions waited for each other
		{&pgconn.PgError{Code: "23505"}, false},
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, true},
		{io.ErrUnexpectedEOF, true}, // the server was killed while it worked
		{driver.ErrBadConn, true},
	} {
		for _, err := range []error{c.err, fmt.Errorf("read keys: %w", c.err)} {
			if got := store.Away(err); c.err != nil && got != c.away {
				t.Errorf("%v: %t, want %t", err, got, c.away)
			}
		}
	}
}
