package freeport

import (
	"net"
	"slices"
	"strconv"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	ports, err := Find(50)
	if err != nil || len(ports) != 50 {
		t.Fatalf("%d ports, %v", len(ports), err)
	}
	for i, port := range ports {
		if slices.Contains(ports[:i], port) {
			t.Errorf("%d was given twice", port)
		}
		if port < first || port >= last {
			t.Errorf("%d is none of those that are handed out", port)
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Errorf("%d is not free: %v", port, err)
			continue
		}
		t.Cleanup(func() { _ = l.Close() })
	}
}
