package store

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
)

// Refused tells whether the database is well and refused what it was given, such as a value too large for an index: trying the
// same again cannot help, and something else may well succeed.
func Refused(err error) bool {
	if s, ok := errors.AsType[sqlite3.Error](err); ok {
		return s.Code == sqlite3.ErrTooBig || s.Code == sqlite3.ErrMismatch || s.Code == sqlite3.ErrRange
	}
	if p, ok := errors.AsType[*pgconn.PgError](err); ok && len(p.Code) == 5 {
		class := p.Code[:2]
		return class == "22" || class == "54" // data exception, program limit exceeded
	}
	return false
}
