package replica_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
	"schakel/store/needs"
)

// folder writes deliveries with their manifests.
func folder(t *testing.T, list ...zipped) string {
	t.Helper()
	dir := t.TempDir()
	for n, z := range list {
		about, err := json.Marshal(z.Manifest)
		must(t, err)
		name := filepath.Join(dir, fmt.Sprintf("%03d", n))
		must(t, errors.Join(os.WriteFile(name+".zip", z.raw, 0o600), os.WriteFile(name+".json", about, 0o600)))
	}
	return dir
}

// TestKill kills a follower over and over, a moment after some transaction. The copy then shows the source as it was
// after the group that the copy says it is at, never a part of a group; and in the end it is the source.
//
// Rules: MUT-22, MUT-29, MUT-36, MUT-37.
func TestKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		w := newWorld(t, 41)
		w.groups(40)
		list := []zipped{pack(t, format.Initial, "i", "d-0", w.whole())}
		after := map[string]string{"d-0 0": w.shown()} // what the view shows after a group of a delta
		for n := range 8 {
			id, groups := fmt.Sprint("d-", n+1), []*format.Group{}
			for g := range 40 {
				groups = append(groups, w.group())
				after[fmt.Sprint(id, " ", g+1)] = w.shown()
			}
			list = append(list, pack(t, format.Delta, id, fmt.Sprint("d-", n), groups))
			after[id+" 0"] = w.shown()
		}
		dir, random := folder(t, list...), rand.New(rand.NewPCG(1, 1))
		kills := 0
		for whole := false; !whole; {
			cmd, out := start(t, database, dir, nil)
			left, lines := random.IntN(12), bufio.NewScanner(out)
			for lines.Scan() {
				if strings.HasPrefix(lines.Text(), "error") {
					t.Fatal(lines.Text())
				}
				whole = whole || strings.HasPrefix(lines.Text(), "done")
				if left--; left < 0 && !whole {
					_ = cmd.Process.Kill()
				}
			}
			_ = cmd.Wait()
			kills++
			if shown, want := shownNow(t, database, after); shown != want {
				t.Fatalf("after %d kills:\n%s\nwant\n%s", kills, shown, want)
			}
		}
		t.Logf("%d kills", kills-1)
		w.check(t, database)
	})
}

// shownNow gives the rows of the view and the rows it must have, by the progress of the copy.
func shownNow(t *testing.T, database string, after map[string]string) (shown, want string) {
	t.Helper()
	copies, err := replica.Copies(t.Context(), database)
	if err != nil || len(copies) > 1 {
		t.Fatalf("%v: %v", copies, err)
	}
	if len(copies) == 0 || copies[0].Generation == 0 {
		return "", ""
	}
	c := copies[0]
	at := c.DeltaID + " 0"
	if c.UnderWay != nil && c.UnderWay.Counts.Groups > 0 {
		at = fmt.Sprint(c.UnderWay.ID, " ", c.UnderWay.Counts.Groups)
	}
	want, known := after[at]
	if !known {
		t.Fatalf("the copy says it is at %q", at)
	}
	return rows(t, connect(t, database), `SELECT * FROM dingen`), want
}

// TestEveryByte cuts a small delivery behind each of its bytes, and a larger one behind some: what is in is whole groups, and
// the rest comes in with the next run, whole.
//
// Rules: MUT-22, MUT-28, MUT-29.
func TestEveryByte(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	for name, tt := range map[string]struct{ groups, size, step int }{"each byte": {2, 0, 1}, "some bytes": {120, 400, 997}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 42)
			w.groups(5)
			w.size = tt.size
			initial := pack(t, format.Initial, "i", "", w.whole())
			after := map[int64]string{0: w.shown()}
			var groups []*format.Group
			for n := range tt.groups {
				groups = append(groups, w.group())
				after[int64(n+1)] = w.shown()
			}
			z := pack(t, format.Delta, "d-1", "", groups)
			database := sqlitePath(t)
			f := open(t, database, replica.Options{Mutations: 20})
			db := connect(t, database)
			for cut := 1; cut <= len(z.raw); cut += tt.step {
				again := initial.delivery()
				again.Rebuild = true
				apply(t, f, again)
				d := z.delivery()
				d.Open, d.Again = pipe(z.raw[:cut]), false
				var report replica.Report
				if err := f.Apply(t.Context(), d, &report); (err == nil) != (cut == len(z.raw)) {
					t.Fatalf("cut at %d: %v", cut, err)
				}
				if got := rows(t, db, `SELECT * FROM dingen`); got != after[report.Counts.Groups] {
					t.Fatalf("cut at %d: %d groups\n%s\nwant\n%s", cut, report.Counts.Groups, got, after[report.Counts.Groups])
				}
				if cut == len(z.raw) {
					break
				}
				rest := apply(t, f, z.delivery())
				if rest.Counts.Groups+report.Counts.Groups != int64(tt.groups) || rows(t, db, `SELECT * FROM dingen`) != w.shown() {
					t.Fatalf("cut at %d: then %s", cut, asJSON(rest))
				}
			}
		})
	}
}

// pipe opens bytes as what can only be read from start to end.
func pipe(raw []byte) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() {
			_, err := io.Copy(w, bytes.NewReader(raw))
			w.CloseWithError(err)
		}()
		return r, nil
	}
}

// TestFlatMemory follows a delivery of hundreds of megabytes, made while it is read and never on disk, in a process of its
// own, and looks at the most memory that took. Much larger ones can be played: go test -run FlatMemory -follow.bytes 10737418240.
//
// Rules: MUT-28, MUT-54.
func TestFlatMemory(t *testing.T) {
	needs.Full(t, "ten seconds of a processor")
	needs.ProcessStatus(t)
	needs.Unraced(t)
	r, w := io.Pipe()
	go func() { w.CloseWithError(generate(w, *bytesFlag)) }()
	_, out := start(t, sqlitePath(t), "-", r)
	lines := bufio.NewScanner(out)
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	var kb, groups, speed int64
	if _, err := fmt.Sscanf(last, "done %d kB %d %d", &kb, &groups, &speed); err != nil {
		t.Fatalf("%q: %v", last, err)
	}
	t.Logf("%d MB unpacked, %d groups, %d groups/s, at most %d MB of memory", *bytesFlag>>20, groups, speed, kb>>10)
	if most := int64(150 << 10); kb > most {
		t.Errorf("%d kB of memory", kb)
	}
}

// generate writes an initial delivery of about so many bytes unpacked, of states of 1 to 3 KB.
func generate(w io.Writer, size int64) error {
	h := format.Header{Root: format.Name{Prefix: "d", Space: "urn:d", Local: "dMutaties"}, Dataset: "dingen", Type: format.Initial, DeliveryID: "large", ObjectTypes: []string{"Ding"}, Namespaces: worldSpaces}
	d, err := archive.NewDeliveryWriter(w, h, archive.DeliveryOptions{})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(5, 5))
	var fill strings.Builder
	for fill.Len() < 64<<10 {
		fmt.Fprintf(&fill, "%.3f ", random.Float64()*1e6)
	}
	for n := int64(0); size > 0; n++ {
		from := random.IntN(60 << 10)
		raw := fmt.Appendf(nil, `<d:o><d:Ding><d:nr>%d</d:nr><d:vlak>%s</d:vlak></d:Ding></d:o>`, n, fill.String()[from:from+1000+random.IntN(2000)])
		s, err := format.ParseState(fmt.Sprintf("%08x-0000-4000-8000-%012d", random.Uint32(), n), raw, worldSpaces...)
		if err != nil {
			return err
		}
		size -= int64(len(raw)) + 150
		if err := d.WriteGroup(&format.Group{Mutations: []format.Mutation{{ObjectType: "Ding", ObjectID: fmt.Sprint(n), Wordt: s}}}); err != nil {
			return err
		}
	}
	_, err = d.Close()
	return err
}

// bytesFlag counts the bytes that the test of memory plays.
var bytesFlag = flag.Int64("follow.bytes", 300<<20, "unpacked bytes of the delivery that the test of memory follows")

// childMark is the variable that makes the test binary play a follower in a process of its own.
const childMark = "SCHAKEL_TEST_FOLLOW"

// child follows a folder, or a zip on standard input, when this process is started for that. It prints a line a transaction.
func child() bool {
	database, from, is := strings.Cut(os.Getenv(childMark), " ")
	if !is {
		return false
	}
	if err := play(database, from); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	return true
}

func play(database, from string) (err error) {
	ctx := context.Background()
	o := replica.Options{Progress: func(p replica.Progress) { fmt.Println(p.Delivery, p.Groups) }}
	source := replica.NewStream(os.Stdin)
	if from != "-" {
		o.Mutations = 2
		if source, err = replica.NewFolder(from); err != nil {
			return err
		}
	}
	f, err := replica.Open(ctx, database, o)
	if err != nil {
		return err
	}
	defer f.Close()
	report, err := f.Follow(ctx, source, replica.RebuildNever)
	if err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			fmt.Print("done ", strings.TrimSpace(strings.TrimPrefix(line, "VmHWM:")), " ", report.Counts.Groups, " ", int(report.PerSecond), "\n")
		}
	}
	return err
}

// start starts a follower in a process of its own.
func start(t *testing.T, database, from string, in io.Reader) (*exec.Cmd, io.Reader) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childMark+"="+database+" "+from)
	cmd.Stdin, cmd.Stderr = in, os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	must(t, err)
	t.Cleanup(func() { _ = errors.Join(cmd.Process.Kill(), cmd.Wait()) })
	return cmd, out
}
