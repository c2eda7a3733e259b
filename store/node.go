package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Node is a process that shares the database, and how often it has said that it lives.
type Node struct {
	ID     string `db:"id"`
	Beats  int64  `db:"beats"`
	SeenAt Time   `db:"seen_at"` // by its own clock
}

// Beat records that a node lives. It reports whether the node was known: one that was not has begun, or was taken for dead by
// another, and has lost what it had claimed.
func (tx *Tx) Beat(ctx context.Context, node string) (known bool, err error) {
	n, err := tx.exec(ctx, `UPDATE node SET beats = beats + 1, seen_at = ? WHERE id = ?`, tx.Now, node)
	if err == nil && n == 0 {
		_, err = tx.exec(ctx, `INSERT INTO node (id, beats, seen_at) VALUES (?, 1, ?)`, node, tx.Now)
	}
	if err != nil {
		return false, fmt.Errorf("write heartbeat: %w", err)
	}
	return n == 1, nil
}

// Nodes lists the nodes that live, or died and were not noticed yet.
func (q *Queries) Nodes(ctx context.Context) ([]Node, error) {
	return listOf[Node](ctx, q, `SELECT * FROM node ORDER BY id`)
}

// BuryNode takes a node for dead whose count of beats is still the one given, and makes what it had claimed due at once. It
// reports whether it did: not when the node beat again, or another node was faster.
func (tx *Tx) BuryNode(ctx context.Context, n Node) (bool, error) {
	gone, err := tx.exec(ctx, `DELETE FROM node WHERE id = ? AND beats = ?`, n.ID, n.Beats)
	if err != nil || gone == 0 {
		return false, err
	}
	_, err = tx.FreeLeases(ctx, n.ID)
	return true, err
}

// EndNode forgets a node that stops.
func (tx *Tx) EndNode(ctx context.Context, node string) error {
	return tx.do(ctx, `DELETE FROM node WHERE id = ?`, node)
}

// SetLiving names the nodes whose claims are not taken over on PostgreSQL, not even after their leases: those nodes live,
// and have yet to write what became of them.
func (db *DB) SetLiving(nodes []string) { db.living.Store(&nodes) }

// livingNodes lists the nodes of SetLiving.
func (tx *Tx) livingNodes() []string {
	if known := tx.living.Load(); known != nil && *known != nil { // nil would be NULL, which no claim survives
		return *known
	}
	return []string{}
}

// holds reports whether a living node has a delivery in hand.
func (tx *Tx) holds(d *Delivery) bool {
	return d.LeaseOwner != "" && slices.Contains(tx.livingNodes(), d.LeaseOwner)
}

// EndRestored ends what the process that made a backup was doing, in a database that was restored from it: its leases, its logins
// and its tasks. An audit entry marks where the trail goes on from a backup.
func (tx *Tx) EndRestored(ctx context.Context) error {
	if err := tx.FreeAllLeases(ctx); err != nil {
		return err
	}
	// A login that was ended after the backup must not come back.
	if _, err := tx.exec(ctx, `DELETE FROM session`); err != nil {
		return err
	}
	if err := tx.do(ctx, `UPDATE cluster_task SET lease_until = 0`); err != nil {
		return err
	}
	return tx.InsertAudit(ctx, Audit{ActorKind: "system", ActorName: "Schakel", Action: "backup.restored", ObjectKind: "installation"})
}

// FreeTasks ends the leases of tasks, of downloads and of AMQP messages that are to be answered, checked or handled again. Only
// for a database that one process works on, before it begins any: those that held them are dead, and another start need not
// wait for them. An AMQP message that waits for its next check is checked at once.
func (tx *Tx) FreeTasks(ctx context.Context) error {
	if _, err := tx.exec(ctx, `UPDATE cluster_task SET lease_until = ? WHERE lease_until > ?`, tx.Now, tx.Now); err != nil {
		return fmt.Errorf("free tasks: %w", err)
	}
	if _, err := tx.exec(ctx, `UPDATE mutation_download SET lease_until = ? WHERE lease_until > ?`, tx.Now, tx.Now); err != nil {
		return fmt.Errorf("free downloads: %w", err)
	}
	if _, err := tx.exec(ctx, `UPDATE amqp_message SET due_at = ? WHERE status IN ('due', 'unchecked') AND due_at > ?`, tx.Now, tx.Now); err != nil {
		return fmt.Errorf("free messages: %w", err)
	}
	if _, err := tx.exec(ctx, `UPDATE amqp_message SET asked_at = ? WHERE asked <> '' AND asked_at > ?`, tx.Now, tx.Now); err != nil {
		return fmt.Errorf("free asked messages: %w", err)
	}
	return nil
}

// channel is the PostgreSQL channel on which nodes tell each other of work.
const channel = "schakel"

// Notify sends the other nodes a notification once the transaction is committed. SQLite has one node and nobody to tell. The
// payload may have 7,999 bytes.
func (tx *Tx) Notify(ctx context.Context, payload string) error {
	if tx.dialect != Postgres {
		return nil
	}
	if err := tx.later(ctx, `SELECT pg_notify(?, ?)`, channel, payload); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// Listen calls ready once it listens, and fn for every notification of any node, until ctx ends or the connection breaks;
// what was notified before ready or after the break is not told. On SQLite it waits for the end of ctx.
func (db *DB) Listen(ctx context.Context, ready func(), fn func(payload string)) error {
	if db.dialect != Postgres {
		<-ctx.Done()
		return nil
	}
	conn, err := pgx.Connect(ctx, db.at.Direct)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `LISTEN `+channel); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	ready()
	for {
		n, err := conn.WaitForNotification(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait for notification: %w", err)
		}
		fn(n.Payload)
	}
}
