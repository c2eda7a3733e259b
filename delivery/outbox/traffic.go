package outbox

import (
	"context"
	"time"
)

// trafficFlush is the interval at which counts are written, and what waits is looked at; a crash loses at most the counts of
// this time.
const trafficFlush = 10 * time.Second

// trafficLoop writes what this process counted for the charts, and once a minute, on one of the nodes, what waits. The charts
// lack what a crash lost; no delivery depends on it. When it stops it writes the rest.
func (e *Engine) trafficLoop(ctx context.Context) {
	every(ctx, trafficFlush, func() {
		if ctx.Err() == nil {
			e.flushTraffic(ctx)
			if err := e.cfg.DB.SampleWaiting(ctx); err != nil && ctx.Err() == nil {
				e.cfg.Log.Error("sample what waits failed", "error", err)
			}
		}
	})
	e.flushTraffic(context.WithoutCancel(ctx))
}

func (e *Engine) flushTraffic(ctx context.Context) {
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	if err := e.cfg.DB.FlushTraffic(ctx); err != nil && ctx.Err() == nil {
		e.cfg.Log.Error("write counts of traffic failed; they are written later", "error", err)
	}
}
