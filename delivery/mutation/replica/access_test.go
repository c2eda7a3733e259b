package replica_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

// TestOneOfSeveralSubscriptions names the subscription that is followed wherever something is asked for by name.
func TestOneOfSeveralSubscriptions(t *testing.T) {
	t.Parallel()
	s, o := newOurs(t)
	o.Subscription = "sub_2"
	asked := map[string]bool{}
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		for _, name := range []string{"/snapshots/latest", "/deltas", "/datasets/dingen"} {
			if strings.HasSuffix(r.URL.Path, name) {
				asked[name] = r.URL.Query().Get("subscriptionId") == "sub_2"
			}
		}
		return false
	}
	s.snapshot = pack(t, format.Initial, "snap", "d-0", one(add(t, "a-1", "a", 1)))
	f := open(t, sqlitePath(t), replica.Options{})
	if _, err := run(t, f, o, replica.RebuildNever); err != nil {
		t.Fatal(err)
	}
	if !asked["/snapshots/latest"] || !asked["/deltas"] || !asked["/datasets/dingen"] {
		t.Errorf("named the subscription: %v", asked)
	}
}

// TestNoAccess asks once when there will be no token.
func TestNoAccess(t *testing.T) {
	t.Parallel()
	_, o := newOurs(t)
	asked := 0
	o.Token = func(context.Context, bool) (string, error) {
		asked++
		return "", fmt.Errorf("refused: %w", replica.ErrAccess)
	}
	if _, err := replica.NewRemote(t.Context(), o); !errors.Is(err, replica.ErrAccess) || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
