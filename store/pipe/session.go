package pipe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ErrPooler is returned for an address that leads to a pooler where a session is needed.
var ErrPooler = errors.New("the address of the database leads to a pooler that gives each transaction another session: " +
	"name the server itself in it as well, as ?direct=db.example.nl:5432, or have the pooler keep a session for each connection")

// How often, and for how long at most, connections are asked for their session.
const (
	askings    = 10
	askTimeout = 10 * time.Second
)

// OwnSessions returns [ErrPooler] when the connections of a pool do not keep a session each. Without a pooler one question tells.
func OwnSessions(ctx context.Context, pool *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	one, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer one.Close()
	told, session, err := sessionOf(ctx, one)
	if err != nil || told == session {
		return err
	}
	// A pooler of whatever mode. Sessions of two connections are two, and stay, unless they are passed around.
	other, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer other.Close()
	for range askings {
		_, now, errOne := sessionOf(ctx, one)
		_, next, errOther := sessionOf(ctx, other)
		if err := errors.Join(errOne, errOther); err != nil {
			return err
		}
		if now != session || next == session {
			return ErrPooler
		}
	}
	return nil
}

// sessionOf returns the process that a connection was told to have at its beginning, and the one that answers.
func sessionOf(ctx context.Context, conn *sql.Conn) (told, session uint32, err error) {
	err = conn.Raw(func(d any) error {
		p, ok := d.(*Conn)
		if !ok {
			return fmt.Errorf("the driver is a %T", d)
		}
		told = p.PgConn().PID()
		results, err := p.PgConn().Exec(ctx, `SELECT pg_backend_pid()`).ReadAll() // prepares nothing
		if err != nil || len(results) != 1 || len(results[0].Rows) != 1 {
			return fmt.Errorf("ask the database for its session: %w", err)
		}
		pid, err := strconv.ParseUint(string(results[0].Rows[0][0]), 10, 32)
		session = uint32(pid)
		return err
	})
	return told, session, err
}
