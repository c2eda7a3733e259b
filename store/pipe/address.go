package pipe

import (
	"context"
	"database/sql/driver"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// directParam names the parameter of an address that tells where the server itself is.
const directParam = "direct"

// Address leads to a PostgreSQL, directly or through a pooler.
type Address struct {
	Pool   string // for transactions, which need no session
	Direct string // for what needs one: LISTEN, and the lock of a migration; the same as Pool without a pooler
	Pooler bool   // Pool leads to a pooler that gives each transaction another session, as PgBouncer does in transaction mode
}

// ParseAddress reads the address of a database: postgres://USER@HOST/NAME, or with a pooler at HOST
// postgres://USER@HOST/NAME?direct=HOST,… with one server or more, or the folder of a socket.
func ParseAddress(dsn string) (Address, error) {
	plain := Address{Pool: dsn, Direct: dsn}
	if !strings.Contains(dsn, directParam+"=") {
		return plain, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return plain, err
	}
	query := u.Query()
	hosts := query.Get(directParam)
	if hosts == "" {
		return plain, nil
	}
	query.Del(directParam)
	pool, direct := *u, *u
	pool.RawQuery = query.Encode()
	query.Del("port")
	if query.Del("host"); strings.HasPrefix(hosts, "/") {
		direct.Host = ""
		query.Set("host", hosts)
	} else {
		direct.Host = hosts
	}
	direct.RawQuery = query.Encode()
	return Address{Pool: pool.String(), Direct: direct.String(), Pooler: true}, nil
}

// Connector connects to PostgreSQL.
type Connector struct {
	driver.Connector
	Explain func(error) error // translates an error of the server
	Unnamed bool              // no statement stays prepared: the next transaction may be in another session
}

// Connect makes a connection.
func (c Connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	p := &Conn{Conn: conn.(*stdlib.Conn), explain: c.Explain}
	if !c.Unnamed {
		p.known = make(map[string]*pgconn.StatementDescription)
	}
	return p, nil
}
