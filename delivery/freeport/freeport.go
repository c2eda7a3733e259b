// Package freeport finds ports of this machine for servers that the demonstration and tests start. No two processes that
// ask it get the same port while both live; programs that do not ask it may take one.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// The ports that are handed out, the last one not included. An outgoing connection gets its own port from 32768 on, unless
// ip_local_port_range is set otherwise, so that it takes none of these, even while their server is down.
const (
	first = 20_000
	last  = 32_000
)

// triesPerPort bounds the tries with another port, for each port wanted.
const triesPerPort = 200

// Find finds n different ports that nothing on loopback listens on, and reserves them against all other callers until this
// process ends, also while the server of one is down. Other programs may take them.
//
// Find passes on the errors of the operating system.
func Find(n int) ([]int, error) {
	defer blockForks()()
	ports, held := make([]int, 0, n), make([]net.Listener, 0, n)
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for tries := 0; len(ports) < n; tries++ {
		port := first + rand.IntN(last-first) // #nosec G404 -- nobody is harmed by who guesses it
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil && !reserve(port) {
			_ = l.Close()
			err = syscall.EADDRINUSE
		}
		if errors.Is(err, syscall.EADDRINUSE) && tries < n*triesPerPort {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		ports, held = append(ports, port), append(held, l)
	}
	return ports, nil
}
