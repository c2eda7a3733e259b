package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"schakel/server/trial"
)

// play plays scenarios one after the other and prints a line for each as soon as it is known. One that fails does not
// keep the others from being played.
func play(ctx context.Context, o options, chosen []scenario, out io.Writer) error {
	var failed, broken error
	p := &printer{out: out}
	told := report{Seconds: o.Seconds}
	err := try(ctx, out, o.Scratch, func(t trial.T) {
		onPostgres := slices.ContainsFunc(chosen, func(s scenario) bool { return s.postgres })
		h := newHouse(t, o, onPostgres)
		told.Machine = machine(t)
		p.line(fmt.Sprintf("%s\nevents of %d bytes, %d connections, %d s each\n\n%s", told.Machine, eventBytes, o.Connected, o.Seconds, heading()))
		for _, s := range chosen {
			if s.postgres && h.postgres == nil {
				continue
			}
			results, err := perform(ctx, h, s, out)
			if err != nil {
				failed = fmt.Errorf("%s: %w", s.name, err)
			}
			for _, r := range results {
				told.add(p, r)
			}
			if ctx.Err() != nil {
				return
			}
		}
		p.line(legend)
		broken = told.write(o.JSON)
	})
	for _, e := range []error{ctx.Err(), failed, err, p.err, broken} {
		if e != nil {
			return e
		}
	}
	return nil
}

// perform plays one scenario and puts everything away.
func perform(ctx context.Context, h *house, plan scenario, out io.Writer) (results []result, err error) {
	err = try(ctx, out, h.Scratch, func(t trial.T) {
		s := newStage(t, h, plan)
		results = plan.play(s)
		for _, n := range s.nodes {
			n.Stop(t)
		}
	})
	return results, err
}

// add prints a result, with its shares of its ceiling and its relay, and keeps it.
func (told *report) add(p *printer, r result) {
	for _, other := range told.Results {
		switch {
		case other.Delivered == 0:
		case other.Name == r.Ceiling:
			r.OfCeiling = r.Delivered / other.Delivered
		case other.Name == r.Relay:
			r.OfRelay = r.Delivered / other.Delivered
		}
	}
	told.Results = append(told.Results, r)
	p.line(line(r))
}

// machine describes the machine of the measurement, and how busy it was before.
func machine(t trial.T) string {
	raw, _ := os.ReadFile("/proc/loadavg")
	load := strings.Fields(string(raw))
	return fmt.Sprintf("%d processors, %s, load average before %s, a write of 4 KiB is on disk after %s (median)",
		runtime.NumCPU(), runtime.Version(), strings.Join(load[:min(3, len(load))], " "), diskTime(t))
}

// diskTime measures how long a small write takes until it is on the disk of the scratch folder; 0 in a folder in memory.
func diskTime(t trial.T) time.Duration {
	file, err := os.Create(filepath.Join(t.TempDir(), "write"))
	trial.Must(t, err)
	defer file.Close()
	var h histogram
	for range 100 {
		began := time.Now()
		_, err := file.WriteAt(make([]byte, 4096), 0)
		trial.Must(t, err)
		trial.Must(t, file.Sync())
		h.add(time.Since(began))
	}
	return h.quantile(0.5)
}
