package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"schakel/server/trial"
)

// Two processors at half use are a million microseconds a second. A node takes 100 an event, the database 50, and each further node adds 10 to both.
func TestShards(t *testing.T) {
	t.Parallel()
	o := modelOptions{Processors: 2, Busy: 0.5}
	for _, tc := range []struct {
		f          figures
		nodes      int
		rate       float64
		bottleneck string
	}{
		{figures{one: cost{100, 50}, two: cost{110, 60}}, 2, 1e6 / 60, "database"},
		{figures{one: cost{100, 50}, two: cost{100, 50}}, 2, 20_000, "database"}, // both are full at once
		{figures{one: cost{100, 1}, two: cost{300, 1}}, 1, 10_000, "nodes"},      // a second node costs more than it brings
		{figures{one: cost{40, 50}, two: cost{40, 50}}, 1, 20_000, "database"},
	} {
		got := o.shardOf(tc.f)
		if got.nodes != tc.nodes || got.rate < tc.rate-1 || got.rate > tc.rate+1 || got.bottleneck != tc.bottleneck {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
	if n := o.enough(figures{one: cost{100, 50}, two: cost{110, 60}}, 9_000); n != 1 {
		t.Errorf("%d nodes for what one carries", n)
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		trial.Must(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	measured := file("f.json", `{"machine":"2 processors","seconds":10,"results":[
		{"name":"PostgreSQL, single, 1 endpoint","microsecondsPerEvent":100,"databaseMicrosecondsPerEvent":50},
		{"name":"PostgreSQL, single, 1 endpoint, 2 nodes","microsecondsPerEvent":110,"databaseMicrosecondsPerEvent":60},
		{"name":"single, 1 endpoint","microsecondsPerEvent":100}]}`)
	var out bytes.Buffer
	trial.Must(t, run(t.Context(), []string{"--model", measured, "--rate", "100000", "--processors", "2", "--busy", "0.5"}, &out))
	for _, line := range []string{
		`PostgreSQL, single, 1 endpoint\s+1000\s+1\s+1\s+1\s+5%\s+2%\s+database\s+16667/s`,
		`PostgreSQL, single, 1 endpoint\s+10000\s+1\s+1\s+1\s+50%\s+25%\s+database`,
		`PostgreSQL, single, 1 endpoint\s+100000\s+6\s+2\s+12\s+46%\s+50%\s+database`,
	} {
		if !regexp.MustCompile(line).MatchString(out.String()) {
			t.Errorf("no line like %s:\n%s", line, out.String())
		}
	}
	for want, path := range map[string]string{
		"no such file":       filepath.Join(dir, "missing"),
		"no file of --json":  file("text", "events"),
		`--only "PostgreSQL`: file("one.json", `{"results":[{"name":"single, 1 endpoint"}]}`),
		"processor time":     file("none.json", `{"results":[{"name":"a"},{"name":"a, 2 nodes"}]}`),
	} {
		if err := run(t.Context(), []string{"--model", path}, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := run(t.Context(), []string{"--model", measured, "--busy", "2"}, &out); err == nil || !strings.Contains(err.Error(), "--busy") {
		t.Errorf("more than all processors: %v", err)
	}
}
