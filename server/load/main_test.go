package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"schakel/server/trial"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"--only", "batch", "--seconds=60", "--endpoints", "7", "--batch", "50", "--json", "f"}, &bytes.Buffer{})
	trial.Must(t, err)
	want := options{Only: "batch", Seconds: 60, Endpoints: 7, Batch: 50, Backlog: 50_000, Connected: 96, JSON: "f", Postgres: os.Getenv("SCHAKEL_BENCH_POSTGRES"), Receive: "127.0.0.1:18080", Rate: 100_000, Processors: 16, Busy: 0.6}
	if !reflect.DeepEqual(*o, want) {
		t.Errorf("got %+v, want %+v", *o, want)
	}
	for _, wrong := range []string{"--seconds=0", "--endpoints=1", "--batch=1", "--connections=0", "--backlog=0", "--peer=localhost", "--unknown", "word"} {
		if _, err := parse([]string{wrong}, &bytes.Buffer{}); err == nil {
			t.Errorf("%s was taken", wrong)
		}
	}
	var help bytes.Buffer
	if o, err := parse([]string{"--help"}, &help); o != nil || err != nil || !strings.Contains(help.String(), "--only=REGEXP") {
		t.Errorf("help: %v %v %s", o, err, help.String())
	}
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	all := scenarios(options{Endpoints: 100, Batch: 100})
	names := map[string]bool{}
	for _, s := range all {
		if names[s.name] {
			t.Errorf("two scenarios are called %q", s.name)
		}
		names[s.name] = true
		for _, other := range []string{s.ceiling(), s.relay()} {
			if other != "" && s.nodes > 0 && !names[other] {
				t.Errorf("%q is read against %q, which is not played before it", s.name, other)
			}
		}
		if len(s.name) > nameWidth {
			t.Errorf("the name %q is longer than its column", s.name)
		}
	}
	for pattern, want := range map[string][]string{
		"^single, 1 endpoint$": {"ceiling, single", "relay, single", "single, 1 endpoint"},
		"^paced":               {"paced 1,000/s, 1 endpoint"},
	} {
		chosen, err := choose(all, pattern)
		var got []string
		for _, s := range chosen {
			got = append(got, s.name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q: %v", pattern, got, want, err)
		}
	}
	for _, wrong := range []string{"(", "no such scenario"} {
		if _, err := choose(all, wrong); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	r := result{
		Name: "single", Accepted: 8123.4, Delivered: 8001.6, OfCeiling: 0.0614, P50: 3.456, P99: 12.34, Answer99: 123.4, Processor: 105.5,
		Memory: 80.2, TotalEvents: 80_000, Waiting: 1000, Drain: 0.25, Repeats: 2,
	}
	first, second, _ := strings.Cut(line(r), "\n")
	want := []string{"single", "8123", "8002", "6.1%", "-", "3.46", "12.3", "123", "106", "-", "-", "80", "-", "-"}
	if got := strings.Fields(first); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := "    1000 were on their way when publishing ended, and arrived within 0.2 s; 2 events arrived more than once"; second != want {
		t.Errorf("got %q, want %q", second, want)
	}
	if utf8.RuneCountInString(heading()) != utf8.RuneCountInString(line(result{Name: "x", Others: 0.5})) {
		t.Errorf("the heading is not as long as a line:\n%s\n%s", heading(), first)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	var told report
	p := &printer{out: &bytes.Buffer{}}
	told.add(p, result{Name: "ceiling, single", Delivered: 1000})
	told.add(p, result{Name: "relay, single", Delivered: 500, Ceiling: "ceiling, single"})
	told.add(p, result{Name: "single", Delivered: 100, Ceiling: "ceiling, single", Relay: "relay, single"})
	file := filepath.Join(t.TempDir(), "figures.json")
	trial.Must(t, told.write(file))
	raw, err := os.ReadFile(file)
	trial.Must(t, err)
	var back report
	trial.Must(t, json.Unmarshal(raw, &back))
	if r := back.Results[2]; r.OfCeiling != 0.1 || r.OfRelay != 0.2 {
		t.Errorf("shares %g and %g", r.OfCeiling, r.OfRelay)
	}
}

func TestOpenDeliveries(t *testing.T) {
	t.Parallel()
	page := "# HELP schakel_deliveries x\nschakel_deliveries{status=\"pending\"} 12\nschakel_deliveries{status=\"dead\"} 1e+03\nschakel_deliveries_in_flight 5\n"
	if got := openDeliveries(page); got != 1012 {
		t.Errorf("got %d", got)
	}
}
