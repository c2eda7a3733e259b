package replicate_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/replicate"
)

// BenchmarkCommit measures transactions of a hundred rows of 700 bytes, as a group commit of events has, without a replica and with one.
func BenchmarkCommit(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprintf("replica=%t", with), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "schakel.db")
			db, err := store.Open(b.Context(), "sqlite:"+path, store.Options{})
			if err == nil {
				err = db.Migrate(b.Context())
			}
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			r, err := replicate.New(db, path, replicate.Config{Folder: filepath.Join(b.TempDir(), "copy"), Now: time.Now})
			if err != nil {
				b.Fatal(err)
			}
			if with {
				go func() { ended <- r.Run(ctx) }()
			} else {
				ended <- nil
			}
			value := strings.Repeat("a value of an event, as it is. ", 23)
			row := 0
			for b.Loop() {
				err := db.Write(ctx, func(tx *store.Tx) error {
					for range 100 {
						row++
						if err := tx.SetSetting(ctx, fmt.Sprint("row ", row), value); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(r.State().Bytes)/float64(b.N), "copied-B/op")
			cancel()
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
			if err := db.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
