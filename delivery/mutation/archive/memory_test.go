package archive_test

import (
	"errors"
	"io"
	"runtime"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

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
		if err != nil {
			t.Fatal(err)
		}
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
