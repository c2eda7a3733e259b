package archive_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// TestDensity writes objects that repeat themselves, in large files and in many small ones, before and behind others: readers
// do not take the delivery for a bomb, and the standard library reads the same bytes.
//
// Rules: MUT-30
func TestDensity(t *testing.T) {
	t.Parallel()
	same, noise := strings.Repeat("a", 400<<10), strings.Builder{}
	dice := rand.New(rand.NewPCG(1, 2))
	for range 200 << 10 {
		noise.WriteByte(byte('!' + dice.IntN(90)))
	}
	other := strings.NewReplacer("<", "(", "&", "+", ">", ")").Replace(noise.String())
	for name, c := range map[string]struct {
		texts   []string
		perFile int
	}{
		"one file":             {[]string{same, same, same, same, same, same, same, same, same, same}, 100},
		"small files":          {strings.Split(strings.Repeat(same+" ", 12), " ")[:12], 1},
		"tiny files":           {strings.Split(strings.Repeat(same[:20<<10]+" ", 200), " ")[:200], 1},
		"behind what is loose": {append([]string{other, other, other}, strings.Split(strings.Repeat(same+" ", 90), " ")[:90]...), 100},
		"in turn":              {[]string{same, other, same, same, same, same, same, other, same, same, same, same}, 5},
	} {
		var out bytes.Buffer
		w, err := archive.NewDeliveryWriter(&out, header("l-1"), archive.DeliveryOptions{PerFile: c.perFile})
		must(t, err)
		size := 0
		for n, text := range c.texts {
			s := &format.State{ID: fmt.Sprint(n), XML: fmt.Appendf(nil, "<o><t>%s</t></o>", text)}
			size += len(text)
			must(t, w.WriteGroup(&format.Group{Mutations: []format.Mutation{{Wordt: s}}}))
		}
		wrote, err := w.Close()
		must(t, err)
		d := archive.NewDeliveryReader(iotest.HalfReader(bytes.NewReader(out.Bytes())), archive.Limits{}, format.Limits{})
		for err == nil {
			_, _, err = d.Next()
		}
		if !errors.Is(err, io.EOF) || wrote.Check(d.Seen()) != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ratio := size / out.Len(); ratio > 130 {
			t.Errorf("%s: %d bytes come of each", name, ratio)
		}
		z, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
		must(t, err)
		for _, f := range z.File {
			in, err := f.Open()
			if err == nil {
				_, err = io.Copy(io.Discard, in)
			}
			if err != nil {
				t.Errorf("%s: the library: %v", name, err)
			}
		}
	}
}

// TestCrowd writes many files: the later ones get larger, so that there are never more than readers take.
//
// Rules: MUT-20, MUT-27
func TestCrowd(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := archive.NewDeliveryWriter(&out, header("l-1"), archive.DeliveryOptions{PerFile: 1})
	must(t, err)
	w.Crowd(10, 2, 1<<30)
	for n := range 100 {
		must(t, w.WriteGroup(&format.Group{Mutations: []format.Mutation{{Wordt: state(t, n)}}}))
	}
	m, err := w.Close()
	must(t, err)
	_, seen, err := drain(out.Bytes(), archive.Limits{Entries: 20})
	// 9 of 1, then 2 of 2, of 4, of 8 and of 16, and 1 for the last 31.
	if err != nil || m.Check(seen) != nil || m.Files != 9+8+1 || m.Counts.Groups != 100 {
		t.Errorf("%v: %+v", err, m)
	}
}

// TestLargeFiles writes few mutations with many bytes: a file ends after so many, and no group is cut.
//
// Rules: MUT-20
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := archive.NewDeliveryWriter(&out, header("l-1"), archive.DeliveryOptions{})
	must(t, err)
	w.Crowd(10, 2, 300<<10)
	for n := range 10 {
		s := &format.State{ID: fmt.Sprint(n), XML: []byte("<o><t>" + strings.Repeat("x", 100<<10) + "</t></o>")}
		must(t, w.WriteGroup(&format.Group{Mutations: []format.Mutation{{Wordt: s}}}))
	}
	m, err := w.Close()
	if _, seen, readErr := drain(out.Bytes(), archive.Limits{Entry: 401 << 10}); err != nil || readErr != nil || m.Check(seen) != nil || m.Files != 3 && m.Files != 4 {
		t.Errorf("%v, %v: %+v", err, readErr, m)
	}
}

// TestFlatMemory writes and reads a delivery at the same time, through a pipe that cannot seek, and weighs the memory in
// use after the first and after the last tenth. It runs alone, since it weighs the whole process.
//
// Rules: MUT-28, MUT-54
func TestFlatMemory(t *testing.T) {
	const groups = 10_000
	var some []*format.Group
	for n := range 100 {
		some = append(some, changes(t, n))
	}
	out, in := io.Pipe()
	go func() {
		w, err := archive.NewDeliveryWriter(in, header("l-1"), archive.DeliveryOptions{PerFile: 500})
		for n := 0; n < groups && err == nil; n++ {
			err = w.WriteGroup(some[n%len(some)])
		}
		if err == nil {
			_, err = w.Close()
		}
		in.CloseWithError(err)
	}()
	d := archive.NewDeliveryReader(out, archive.Limits{}, format.Limits{})
	early, count := uint64(0), 0
	for {
		_, _, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if count++; count == groups/10 {
			early = inUse()
		}
	}
	if late := inUse(); late > early+4<<20 || count != groups {
		t.Errorf("%d groups; %d bytes in use early, %d at the end", count, early, late)
	}
	runtime.KeepAlive(d)
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
