package mutationcmd

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
)

// groupForms lists the forms of groups and their media types.
func groupForms() map[string]string {
	return map[string]string{"xml": "application/xml", "zip": "application/zip", "json": "application/json", "ndjson": "application/x-ndjson"}
}

// groupInput is one file to publish.
type groupInput struct {
	name string
	form string
	key  string
	size int64 // in bytes; -1 when it is not known

	file  *os.File      // open while it is sent, or all the time when it can be read only once
	once  *bufio.Reader // what can be read only once; nil for a file that can be read again
	taken atomic.Bool   // something of what can be read only once was read
	at    atomic.Int64  // bytes that were sent in this try
}

// inputs looks into the files, so that nothing is sent when one of them is not there or of no form.
func (c *Publish) inputs(stdin io.Reader) (all []*groupInput, err error) {
	stdins := 0
	for _, name := range c.Files {
		in := &groupInput{name: name, size: -1, form: c.As}
		all = append(all, in)
		if name == "-" {
			stdins++
			in.name, in.once = "standard input", bufio.NewReaderSize(stdin, 64<<10)
			err = in.look(in.once)
		} else {
			err = in.open()
		}
		if err == nil && stdins > 1 {
			err = errors.New("standard input is named twice")
		}
		if err != nil {
			closeInputs(all)
			return nil, err
		}
	}
	return all, nil
}

// open looks into a file. What is no regular file, such as a pipe, stays open.
func (in *groupInput) open() error {
	file, err := os.Open(in.name)
	if err != nil {
		return fmt.Errorf("open file: %w", err)
	}
	about, err := file.Stat()
	if err == nil && about.IsDir() {
		err = fmt.Errorf("%s is a folder", in.name)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	reader := bufio.NewReaderSize(file, 64<<10)
	if !about.Mode().IsRegular() {
		in.file, in.once = file, reader
		return in.look(reader)
	}
	in.size = about.Size()
	return errors.Join(in.look(reader), file.Close())
}

// look finds the form when it was not told.
func (in *groupInput) look(r *bufio.Reader) error {
	if in.form != "auto" {
		return nil
	}
	start, err := r.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", in.name, err)
	}
	if in.form = formOf(in.name, start); in.form == "" {
		return fmt.Errorf("%s is neither XML, nor a zip, nor JSON; --as says in which form groups are", in.name)
	}
	return nil
}

// formOf returns the form of groups by their first bytes, and by the name of the file where those leave a choice.
func formOf(name string, start []byte) string {
	ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), ".")
	text := bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.HasPrefix(start, []byte("PK\x03\x04")), bytes.HasPrefix(start, []byte("PK\x05\x06")):
		return "zip"
	case bytes.HasPrefix(text, []byte("<")), bytes.HasPrefix(start, []byte("\xfe\xff")), bytes.HasPrefix(start, []byte("\xff\xfe")):
		return "xml"
	case len(text) > 0 && text[0] != '{':
		return ""
	case ext == "ndjson", ext == "jsonl":
		return "ndjson"
	case len(text) == 0, ext == "json":
		return map[string]string{"json": "json", "xml": "xml", "zip": "zip"}[ext]
	case bytes.HasPrefix(bytes.TrimLeft(text[1:], " \t\r\n"), []byte(`"mutations"`)):
		return "ndjson"
	}
	return "json"
}

// identify opens the file and finds its key.
func (in *groupInput) identify(c *Publish) (err error) {
	if in.key = strings.ToLower(c.Key); in.once != nil {
		if in.key == "" {
			in.key = uuid.NewString()
		}
		return nil
	}
	if in.file, err = os.Open(in.name); err != nil {
		return fmt.Errorf("open file: %w", err)
	}
	sum := sha256.New()
	if in.size, err = io.Copy(sum, in.file); err != nil {
		return fmt.Errorf("read %s: %w", in.name, err)
	}
	if in.key == "" {
		in.key = contentKey(c.target(), sum.Sum(nil))
	}
	return nil
}

// contentKey is the key of a file: the same for the same bytes sent to the same address. It is made as a UUID of version 5 is,
// of a SHA-256, and says that it is of version 4, which is all that an Idempotency-Key may be.
func contentKey(target string, digest []byte) string {
	return uuid.NewHash(sha256.New(), uuid.NameSpaceURL, append([]byte(target+"\n"), digest...), 4).String()
}

// again reports whether the file can be sent from its beginning.
func (in *groupInput) again() bool { return in.once == nil || !in.taken.Load() }

// close gives the file back.
func (in *groupInput) close() {
	if in.file != nil {
		_ = in.file.Close()
	}
}

func closeInputs(all []*groupInput) {
	for _, in := range all {
		in.close()
	}
}
