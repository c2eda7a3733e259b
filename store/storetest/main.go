package storetest

import (
	"fmt"
	"os"
	"testing"
)

// Main runs the tests and then ends the private PostgreSQL, so that nothing of it is left when the test binary exits:
//
//	func TestMain(m *testing.M) { storetest.Main(m) }
//
// Without it, or when the binary is killed, panics or runs out of time, a watchdog ends the server a moment later.
func Main(m *testing.M) {
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func (s *server) stop() error {
	if s.running == nil || s.err != nil {
		return nil
	}
	_ = s.admin.Close()
	return s.running.stop()
}
