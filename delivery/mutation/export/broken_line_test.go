package export_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/mutation/export"
	"schakel/store"
	"schakel/store/storetest"
)

// brittle stands between a program and a PostgreSQL, and ends the connection on which the server said a last byte once.
type brittle struct{ left atomic.Int64 }

// plenty is more than a server ever says.
const plenty = 1 << 40

// between gives the address of a database through a brittle line.
func between(t *testing.T, address string) (*brittle, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const name = ".s.PGSQL.5432"
	server := filepath.Join(u.Query().Get("host"), name)
	l, err := net.Listen("unix", filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	b := &brittle{}
	b.left.Store(plenty)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go b.pass(client, server)
		}
	}()
	u.RawQuery = url.Values{"host": {dir}}.Encode()
	return b, u.String()
}

func (b *brittle) pass(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("unix", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, client) }()
	buffer := make([]byte, 16<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		if left := b.left.Add(-int64(n)); left <= 0 {
			b.left.Store(plenty)
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// TestBrokenLine: a database that goes away while a part is made is no broken zip: the part is made when it is back.
//
// Rules: MUT-29.
func TestBrokenLine(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	address := storetest.PostgresURL(t)
	line, through := between(t, address)
	db, err := store.Open(t.Context(), through, store.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, db, clock, "bgt")
	w.follow("north", "", "Pand")
	w.fill(80, func() []byte {
		noise := make([]byte, 20<<10)
		_, _ = rand.Read(noise)
		return fmt.Appendf(nil, "<Pand>%s</Pand>", base64.StdEncoding.EncodeToString(noise))
	})
	w.delta()
	for _, after := range []int64{100 << 10, 300 << 10, 700 << 10} {
		line.left.Store(after)
		if some, err := w.exporter.Work(w.ctx); !some && err == nil {
			t.Fatal("there is nothing to make")
		}
		line.left.Store(plenty)
		if rows := w.downloads(); rows[0].Status == store.MutationFailed {
			t.Fatalf("after %d bytes it failed for ever: %s", after, rows[0].Error)
		}
		clock.Advance(2 * time.Minute)
	}
	if n := w.work(); n != 1 {
		t.Errorf("%d parts were made", n)
	}
	if rows := w.downloads(); rows[0].Status != store.MutationCompleted {
		t.Errorf("%+v", rows[0])
	}
}

// fill begins the history with n groups, each of which adds a state.
func (w *world) fill(n int64, xml func() []byte) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		set, err := tx.LockDataset(w.ctx, w.set)
		if err != nil {
			return err
		}
		var a store.Appended
		for seq := int64(1); seq <= n; seq++ {
			id, object := uuid.NewString(), fmt.Sprint(seq)
			a.Groups = append(a.Groups, store.MutationGroup{DatasetID: w.set, Seq: seq, At: tx.Now})
			a.Mutations = append(a.Mutations, store.Mutation{DatasetID: w.set, Seq: seq, Number: 1, ObjectType: "Pand", ObjectID: object, WordtID: id})
			a.States = append(a.States, store.MutationState{
				ID: id, DatasetID: w.set, ObjectType: "Pand", ObjectID: object, BornSeq: seq, Digest: []byte{1}, Namespaces: "{}", XML: xml(),
			})
		}
		return tx.AppendGroups(w.ctx, set, a)
	})
}

func (w *world) downloads() []store.MutationDownload {
	w.t.Helper()
	rows, _, err := w.db.MutationDownloads(w.ctx, store.MutationDownloadFilter{DatasetID: w.set})
	if err != nil || len(rows) == 0 {
		w.t.Fatal(len(rows), err)
	}
	return rows
}

// TestShareWhileItEnds: who asks for what is about to go gets one of its own, not a download without bytes.
//
// Rules: MUT-51.
func TestShareWhileItEnds(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	w := newWorld(t, storetest.Postgres(t, storetest.WithClock(clock)), clock, "bgt") // SQLite has one writer
	v := w.follow("north", "")
	w.publish(20)
	d := w.delta()
	ask := func() (store.MutationDownload, error) {
		return w.exporter.Request(w.ctx, v, export.Request{By: "cli_1", DeltaID: d.ID, ObjectTypes: []string{"Pand"}})
	}
	first, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	w.work()
	if first, err = w.exporter.Custom(w.ctx, v, first.ID); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		row store.MutationDownload
		err error
	}
	answers := make(chan answer, 1)
	w.write(func(tx *store.Tx) error { // as Expire does
		if err := tx.ExpireMutationDownload(w.ctx, first.ID); err != nil {
			return err
		}
		if err := tx.Lock(w.ctx, "mutation_file", first.FileID); err != nil {
			return err
		}
		if err := tx.DropMutationFile(w.ctx, first.FileID); err != nil {
			return err
		}
		go func() {
			row, err := ask()
			answers <- answer{row, err}
		}()
		select {
		case a := <-answers:
			answers <- a
		case <-time.After(time.Second): // it waits for what comes of the file
		}
		return nil
	})
	second := <-answers
	if second.err != nil {
		t.Fatal(second.err)
	}
	w.work()
	row, err := w.exporter.Custom(w.ctx, v, second.row.ID)
	if err != nil || row.Status != store.MutationCompleted || !w.there(row.FileID) {
		t.Errorf("%v: %+v", err, row)
	}
}
