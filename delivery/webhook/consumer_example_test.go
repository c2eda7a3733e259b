package webhook_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "github.com/mattn/go-sqlite3" // the consumer's own database
)

// A consumer that handles every event once, however often it is delivered (EDU-18a, IDEM-X01): the event's source and id
// are inserted in the same transaction as the effect. When the insert finds them there, the event was handled before and
// nothing is done; when the transaction fails, neither happened and the sender tries again. It needs a table with a
// primary key on (source, id) and nothing else: no library, no lock, no look-up before the insert.
//
// Rules: EDU-18, EDU-18a, IDEM-X01.
func Example_consumer() {
	dir, err := os.MkdirTemp("", "consumer")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sql.Open("sqlite3", filepath.Join(dir, "own.db")+"?_txlock=immediate&_busy_timeout=10000")
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	_, err = db.Exec(`CREATE TABLE handled (source TEXT, id TEXT, PRIMARY KEY (source, id)); CREATE TABLE student (name TEXT)`)
	if err != nil {
		panic(err)
	}

	handle := func(ctx context.Context, source, id, name string) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		res, err := tx.ExecContext(ctx, `INSERT INTO handled (source, id) VALUES (?, ?) ON CONFLICT DO NOTHING`, source, id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err // handled before
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO student (name) VALUES (?)`, name); err != nil {
			return err
		}
		return tx.Commit()
	}
	webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event struct {
			Source, ID string
			Data       struct{ Name string }
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&event); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := handle(r.Context(), event.Source, event.ID, event.Data.Name); err != nil {
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer webhook.Close()

	// Three events, each delivered ten times, all at once.
	var deliveries sync.WaitGroup
	for i := range 30 {
		deliveries.Go(func() {
			body := fmt.Sprintf(`{"specversion":"1.0","type":"nl.example.enrolled","source":"urn:nld:oin:1","id":"%d","data":{"name":"S%d"}}`, i%3, i%3)
			if answer, err := http.Post(webhook.URL, "application/cloudevents+json", strings.NewReader(body)); err == nil {
				_ = answer.Body.Close()
			}
		})
	}
	deliveries.Wait()
	var students int
	if err := db.QueryRow(`SELECT COUNT(*) FROM student`).Scan(&students); err != nil {
		panic(err)
	}
	fmt.Println(students, "students")
	// Output: 3 students
}
