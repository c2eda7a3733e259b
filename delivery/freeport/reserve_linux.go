package freeport

import (
	"strconv"
	"syscall"
)

// blockForks keeps this process from starting others until the function it returns is called: for a moment they would have its
// listeners too, and keep the ports busy.
func blockForks() (end func()) {
	syscall.ForkLock.RLock()
	return syscall.ForkLock.RUnlock
}

// reserve marks a port as taken for the life of this process, and fails when a process did so before. A name of a socket that is
// no file goes with its process, however that ends.
func reserve(port int) bool {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return true // a port that may be taken is better than none
	}
	if syscall.Bind(fd, &syscall.SockaddrUnix{Name: "@schakel-port-" + strconv.Itoa(port)}) == nil {
		return true
	}
	_ = syscall.Close(fd)
	return false
}
