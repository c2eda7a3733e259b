package outbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestLinger(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lately, here int
		stopped      bool
		want         time.Duration
	}{
		"the first":                 {here: 1},
		"one after another":         {lately: 2, here: 1},
		"many lately, few now":      {lately: lingerFrom, here: 1, want: lingerTime},
		"many now":                  {lately: lingerFrom, here: lingerTo},
		"a batch":                   {lately: 200, here: 100},
		"many lately, and it stops": {lately: lingerFrom, here: 1, stopped: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := new(Engine)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.stopped {
					cancel()
				}
				began := time.Now()
				e.linger(ctx, tt.lately, tt.here)
				if took := time.Since(began); took != tt.want {
					t.Errorf("waited %s, want %s", took, tt.want)
				}
			})
		})
	}
}
