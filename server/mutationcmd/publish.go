package mutationcmd

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"schakel/server/cli"
)

// Publish sends files of mutations to a Schakel, each under a key of its own content, so that running it again
// goes on where it was cut (MUT-22, MUT-29).
type Publish struct {
	Credentials
	URL           string        `name:"url" required:"" placeholder:"URL" help:"Dataset to publish in, as https://host/mutations/v1/datasets/bgt."`
	Kind          string        `env:"-" enum:"auto,groups,delta,initial" default:"auto" help:"What a file holds: groups, delta, initial, or auto for what its header says."`
	ReplaceReason string        `env:"-" placeholder:"TEXT" help:"With an initial load: replace the history that is there, and tell its followers why they begin anew."`
	As            string        `env:"-" enum:"auto,xml,zip,json,ndjson" default:"auto" help:"Form of the files: xml, zip, json, ndjson (one group a line), or auto to look into them."`
	Key           string        `env:"-" placeholder:"UUID" help:"Idempotency-Key (UUIDv4) of a single file. Default: one that follows from the dataset and the bytes of the file; for standard input a new one."`
	MaxTime       time.Duration `default:"5m" help:"How long to keep trying while nothing gets further, because the other side is busy or unreachable."`
	Quiet         bool          `env:"-" help:"Do not tell each second how far it is."`
	JSON          bool          `name:"json" env:"-" help:"Print the report as JSON."`
	Files         []string      `arg:"" name:"file" help:"Files in the order in which they are published: XML of the format, zips of deliveries, or groups as JSON or NDJSON; - is one on standard input."`
}

// Help implements kong.HelpProvider.
func (c *Publish) Help() string {
	return "The client needs the scope mutations.publish. Files are sent as a stream, whatever their size; groups are taken in one after the other, each whole or not at all. " +
		"When the line is cut the file is sent again and goes on behind the groups that are in; so does running the same command again, also after everything was published: that changes nothing. " +
		"Standard input can be read once; the key that is told goes on with it. After a refusal, mend the group that is named and run again with --key and the key that is told: what is in is passed over when it is unchanged. " +
		"Exit codes: 0 all groups of all files are in; 1 a file was refused or could not be finished, the message says why and how many groups are in, and files after it were not sent; 2 wrong flags, or a file that cannot be opened."
}

// CheckFlags checks what flags cannot say one by one.
func (c *Publish) CheckFlags() error {
	if err := cli.CheckURL(c.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if u, err := url.Parse(c.URL); err != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("--url: must end with the dataset, without ? and #")
	}
	if id, err := uuid.Parse(c.Key); c.Key != "" && (err != nil || id.Version() != 4 || len(c.Key) != 36) {
		return errors.New("--key must be a UUID of version 4")
	}
	switch {
	case c.ReplaceReason != "" && c.Kind != "initial" && c.Kind != "auto":
		return errors.New("--replace-reason goes with an initial load")
	case len(c.Files) > 1 && c.Key != "":
		return errors.New("--key is that of one file")
	case len(c.Files) > 1 && (c.ReplaceReason != "" || c.Kind == "initial"):
		return errors.New("an initial load is one file; one of many files is a zip")
	}
	return nil
}

// Run publishes the files and prints what came of it.
func (c *Publish) Run(ctx context.Context, streams cli.Streams) error {
	inputs, err := c.inputs(streams.In)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	defer closeInputs(inputs)
	token, err := c.tokens("mutations-publish", c.URL, "mutations.publish")
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	told := &toldStream{to: streams.Err}
	s := newGroupSender(c, token, told)
	report := newPublishReport(c.dataset())
	for _, in := range inputs {
		if err == nil {
			err = c.publish(ctx, s, in, report, told)
			continue
		}
		report.unsent(in)
	}
	return errors.Join(err, c.print(streams.Out, report))
}

// publish sends one file and reports it.
func (c *Publish) publish(ctx context.Context, s *groupSender, in *groupInput, report *PublishReport, told io.Writer) error {
	if err := in.identify(c); err != nil {
		report.unsent(in)
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	began := cli.Clock()
	stop := func() {}
	if !c.Quiet {
		stop = in.tell(told)
	}
	out := s.send(ctx, in)
	stop()
	out.took = cli.Clock().Sub(began)
	if !out.tells() {
		out.known = s.inside(ctx, in)
	}
	return report.add(in, out)
}

// dataset returns the address of the dataset without a slash at its end, as keys are derived from it.
func (c *Publish) dataset() string { return strings.TrimRight(c.URL, "/") }

// target returns the address to which groups are sent.
func (c *Publish) target() string {
	query := url.Values{}
	if c.Kind != "auto" {
		query.Set("kind", c.Kind)
	}
	if c.ReplaceReason != "" {
		query.Set("replaceReason", c.ReplaceReason)
	}
	if len(query) == 0 {
		return c.dataset() + "/mutation-groups"
	}
	return c.dataset() + "/mutation-groups?" + query.Encode()
}

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
