package xsd

import (
	"bytes"
	"io/fs"
	"time"
)

// memoryFile is a file that exists in memory only.
type memoryFile struct {
	*bytes.Reader
	name string
}

// Stat describes the file.
func (m *memoryFile) Stat() (fs.FileInfo, error) { return memoryInfo{m.name, m.Reader.Size()}, nil }

// Close does nothing.
func (m *memoryFile) Close() error { return nil }

type memoryInfo struct {
	name string
	size int64
}

// Name is the name of the file.
func (i memoryInfo) Name() string { return i.name }

// Size is its length in bytes.
func (i memoryInfo) Size() int64 { return i.size }

// Mode says that anybody may read it.
func (i memoryInfo) Mode() fs.FileMode { return 0o444 }

// ModTime is not known.
func (i memoryInfo) ModTime() time.Time { return time.Time{} }

// IsDir says that it is none.
func (i memoryInfo) IsDir() bool { return false }

// Sys has nothing.
func (i memoryInfo) Sys() any { return nil }
