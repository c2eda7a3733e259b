package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
)

// Away reports whether the database cannot be reached or cannot write now, such as during a restart or on a full disk: what failed may be
// tried again later.
func Away(err error) bool {
	if s, ok := errors.AsType[sqlite3.Error](err); ok {
		switch s.Code {
		case sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrNomem:
			return true
		}
		return false
	}
	if p, ok := errors.AsType[*pgconn.PgError](err); ok && len(p.Code) == 5 {
		switch p.Code[:2] {
		case "08", "53", "57", "58", "25", "40": // connection, resources, shut down by an operator, system, read-only, in each other's way
			return true
		}
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	// A connection that breaks while an answer is awaited ends without more words.
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || err != nil && pgconn.SafeToRetry(err)
}

// Ready asks the database for a sign of life, and whether it can write: a full disk is not seen by reading.
func (db *DB) Ready(ctx context.Context) error {
	if err := db.Ping(ctx); err != nil {
		return err
	}
	return db.Write(ctx, func(tx *Tx) error {
		return tx.one(ctx, `UPDATE setting SET updated_at = ? WHERE name = 'fanout_epoch'`, tx.Now)
	})
}

// Refused reports whether the database is well and refused what it was given, such as a value too large for an index: trying the
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
