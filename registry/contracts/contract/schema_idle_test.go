package contract

import (
	"testing"
	"testing/synctest"
	"time"
)

// A schema is compiled once for documents that come one after the other, and again after a pause.
func TestSchemasAreLetGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &idling{name: "openapi-3.0"}
		var seen []*officialSchema
		for _, pause := range []time.Duration{0, idleAfter - 1, idleAfter - 1, idleAfter + 1} {
			<-time.After(pause)
			synctest.Wait()
			got, err := kept.get()
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, got)
		}
		if seen[0] != seen[1] || seen[1] != seen[2] || seen[2] == seen[3] {
			t.Errorf("compiled anew or kept at the wrong moment: %p", seen)
		}
		<-time.After(idleAfter)
	})
	if _, err := (&idling{name: "openapi-9"}).get(); err == nil {
		t.Error("compiled what is not there")
	}
}
