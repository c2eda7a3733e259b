package oracle

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/delivery/mutation/archive"
	mutationarea "schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/delivery/mutation/replica"
	"schakel/store/needs"
)

var streamMB = flag.Int64("stream-mb", 40, "unpacked megabytes of the deliveries of TestStream")

const (
	mostMemory = 150 << 20 // bytes that a stage may ever take
	stageEnv   = "SCHAKEL_TEST_STAGE"
	stageDir   = "SCHAKEL_TEST_DIR"
	stageSize  = "SCHAKEL_TEST_BYTES"
)

// outcome reports the work of a stage.
type outcome struct {
	Groups  int64
	Seconds float64
	Peak    int64 // bytes of memory
}

// TestStream writes deliveries of any size, filters them by area, and follows them, each in a process of its own that stays
// small. -args -stream-mb 10240 plays them with 10 GB.
//
// Rules: MUT-28, MUT-54.
func TestStream(t *testing.T) {
	needs.Full(t, "ten seconds of a processor")
	for _, kind := range []string{"initial", "delta"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			plain := unzip(t, dir, kind)
			for _, stage := range []string{"filter", "follow"} {
				o := run(t, dir, stage, kind)
				t.Logf("%s %s: %d groups, %.0f/s, peak %d MB, %.2f of unzip -p | wc", stage, kind, o.Groups, float64(o.Groups)/o.Seconds, o.Peak>>20, plain/o.Seconds)
			}
		})
	}
}

// unzip writes the delivery and measures the time that plain tools take to read it.
func unzip(t *testing.T, dir, kind string) float64 {
	t.Helper()
	o := run(t, dir, "write", kind)
	t.Logf("write %s: %d groups, %.0f/s, peak %d MB", kind, o.Groups, float64(o.Groups)/o.Seconds, o.Peak>>20)
	needs.Program(t, "unzip")
	began := time.Now()
	out := must1(exec.CommandContext(t.Context(), "sh", "-c", "unzip -p "+filepath.Join(dir, "write.zip")+" | wc -c").Output())(t)
	took := time.Since(began).Seconds()
	t.Logf("unzip -p | wc: %s bytes, %.0f groups/s", strings.TrimSpace(string(out)), float64(o.Groups)/took)
	return took
}

// run plays a stage in a process of its own.
func run(t *testing.T, dir, stage, kind string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), stageEnv+"="+stage+" "+kind, stageDir+"="+dir, stageSize+"="+strconv.FormatInt(*streamMB<<20, 10))
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", stage, err, complaint.String())
	}
	var o outcome
	must(t, json.Unmarshal(text, &o))
	if o.Groups == 0 || o.Peak > mostMemory && !needs.Raced {
		t.Errorf("%s %s: %+v; memory may be %d", stage, kind, o, mostMemory)
	}
	return o
}

// stage does the work of such a process, and reports whether this is one.
func stage() bool {
	name, kind, found := strings.Cut(os.Getenv(stageEnv), " ")
	if !found {
		return false
	}
	began := time.Now()
	groups, err := play(name, format.DeliveryType(kind), os.Getenv(stageDir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(outcome{groups, time.Since(began).Seconds(), peak()})
	return true
}

func play(name string, kind format.DeliveryType, dir string) (int64, error) {
	switch name {
	case "write":
		return write(kind, filepath.Join(dir, "write.zip"))
	case "filter":
		return filter(kind, filepath.Join(dir, "write.zip"), filepath.Join(dir, "filter.zip"))
	}
	return followAll(kind, dir)
}

func header(kind format.DeliveryType) format.Header {
	return (&historytest.History{}).Header(dataset, kind, "d-"+string(kind))
}

func write(kind format.DeliveryType, path string) (int64, error) {
	size, err := strconv.ParseInt(os.Getenv(stageSize), 10, 64)
	if err != nil {
		return 0, err
	}
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	w, err := archive.NewDeliveryWriter(out, header(kind), archive.DeliveryOptions{})
	if err != nil {
		return 0, err
	}
	bulk, groups := historytest.Bulk{Type: kind}, int64(0)
	for written := int64(0); written < size; groups++ {
		g := bulk.Group()
		for _, m := range g.Mutations {
			for _, s := range []*format.State{m.Was, m.Wordt} {
				if s != nil {
					written += int64(len(s.XML)) + 120
				}
			}
		}
		if err := w.WriteGroup(g); err != nil {
			return groups, err
		}
	}
	_, err = w.Close()
	return groups, errors.Join(err, out.Flush())
}

func filter(kind format.DeliveryType, from, to string) (int64, error) {
	a, err := mutationarea.Parse(area.WKT(), mutationarea.Options{Dataset: mutationarea.RD})
	if err != nil {
		return 0, err
	}
	f, err := mutationarea.NewFilter(mutationarea.Config{Fields: mutationarea.Fields{CRS: mutationarea.RD}, Areas: []*mutationarea.Area{a}})
	if err != nil {
		return 0, err
	}
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	w, err := archive.NewDeliveryWriter(out, header(kind), archive.DeliveryOptions{})
	if err != nil {
		return 0, err
	}
	seen := int64(0)
	r := archive.NewDeliveryReader(bufio.NewReaderSize(in, 1<<20), archive.Limits{}, format.Limits{})
	if err := mutationarea.Copy(context.Background(), r, w, f, func(groups int64) { seen = groups }); err != nil {
		return seen, err
	}
	m, err := w.Close()
	if err == nil && (m.Counts.Groups == 0 || m.Counts.Groups >= seen) {
		err = fmt.Errorf("of %d groups %d are left", seen, m.Counts.Groups)
	}
	return seen, err
}

// followAll follows the delivery; a delta goes behind an empty initial state.
func followAll(kind format.DeliveryType, dir string) (int64, error) {
	ctx := context.Background()
	f, err := replica.Open(ctx, "sqlite:"+filepath.Join(dir, string(kind)+".db"), replica.Options{Name: dataset})
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var report replica.Report
	if kind == format.Delta {
		if err := f.Apply(ctx, empty(), &report); err != nil {
			return 0, err
		}
	}
	err = f.Apply(ctx, replica.Delivery{Open: func(context.Context) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, "write.zip")) }}, &report)
	return report.Counts.Groups, err
}

func empty() replica.Delivery {
	var doc bytes.Buffer
	w, err := archive.NewDeliveryWriter(&doc, header(format.Initial), archive.DeliveryOptions{})
	if err == nil {
		_, err = w.Close()
	}
	return replica.Delivery{Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(&doc), err }}
}

// peak is the most memory this process ever took, in bytes.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseInt(kb, 10, 64)
	return n << 10
}
