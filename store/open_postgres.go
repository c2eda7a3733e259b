package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"schakel/store/pipe"
)

// connectTimeout sets how long a connection may take to come about when the address of the database does not say.
const connectTimeout = 10 * time.Second

// What a server is asked to do about a node that is frozen or gone: a transaction it left open would keep others from its
// rows. Statements have no limit of their own, because a migration or a backup may take long; what people and machines wait
// for is bounded by its request, and the transactions of the engine by its deadline.
var sessionSettings = [...]struct{ name, value string }{
	{"idle_in_transaction_session_timeout", "60s"},
	// Compiling a plan over the partitions of all days takes seconds, and spares milliseconds.
	{"jit", "off"},
	// Nor does a page need more than one process, and what it reads is mostly in memory: without these the planner reads tables from
	// end to end for a hundred rows.
	{"max_parallel_workers_per_gather", "0"},
	{"random_page_cost", "1.1"},
	{"tcp_keepalives_idle", "30"}, // seconds; then a probe every 10, and after 3 without an answer the node is gone
	{"tcp_keepalives_interval", "10"},
	{"tcp_keepalives_count", "3"},
}

// openPool makes the pool of connections to a PostgreSQL. What the address says itself, such as connect_timeout or
// idle_in_transaction_session_timeout, is left as it is.
func openPool(dsn string) (*sqlx.DB, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(dsn, "connect_timeout=") {
		cfg.ConnectTimeout = connectTimeout
	}
	given := cfg.RuntimeParams
	prepare := func(ctx context.Context, conn *pgx.Conn) error {
		for _, s := range sessionSettings {
			if _, ok := given[s.name]; ok {
				continue
			}
			_, err := conn.Exec(ctx, `SET `+s.name+` = '`+s.value+`'`, pgx.QueryExecModeSimpleProtocol)
			if _, unknown := errors.AsType[*pgconn.PgError](err); err != nil && !unknown { // other databases speak the protocol too
				return fmt.Errorf("set %s: %w", s.name, err)
			}
		}
		return nil
	}
	connector := pipe.Connector{Connector: stdlib.GetConnector(*cfg, stdlib.OptionAfterConnect(prepare)), Explain: conflict}
	return sqlx.NewDb(sql.OpenDB(connector), "pgx"), nil
}
