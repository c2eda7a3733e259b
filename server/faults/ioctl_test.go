package faults

import (
	"syscall"
	"unsafe"
)

// ioctl makes a request of the kernel about an open file.
func ioctl(fd, request uintptr, value *uint32) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(value)))
	return errno
}
