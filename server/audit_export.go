package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"schakel/registry/audit"
	"schakel/server/cli"
	"schakel/server/release"
	"schakel/store"
)

// AuditExportCmd writes entries for another system.
type AuditExportCmd struct {
	DatabaseFlags
	To     string `default:"-" placeholder:"FILE" help:"File to add to, readable for its owner alone; - is standard output. Entries that are in it are not written again."`
	Form   string `enum:"nen7513,syslog,cloudevents" default:"nen7513" help:"A line for each entry: nen7513 (JSON with the members that NEN 7513 and Normen ask for), syslog (a message of RFC 5424 with that JSON) or cloudevents (an event with it as data)."`
	Source string `placeholder:"URI" help:"With --form cloudevents: their source. Default: that of the OIN of the organisation."`
	After  int64  `placeholder:"SEQ" help:"With --to -: begin behind this entry. Default: the first that is there."`
}

// Help is shown with --help.
func (c *AuditExportCmd) Help() string {
	return "Each line is an entry with the members that NEN 7513 and Normen ask for; /docs/audit lists them. schakel serve --audit-syslog and --audit-events " +
		"send entries as they come; this command is for files. Run it from a timer: it goes on behind the " +
		"last whole line of the file, also after it was killed, so that the file has every entry once. Exit code 1: retention removed entries before they were exported."
}

// CheckFlags checks what flags cannot say one by one.
func (c *AuditExportCmd) CheckFlags() error {
	if c.Source != "" && c.Form != audit.FormCloudEvents {
		return errors.New("--source goes with --form cloudevents")
	}
	if c.After < 0 || c.After > 0 && c.To != "-" {
		return errors.New("--after must be an entry's number and goes with --to -: a file tells itself where it ends")
	}
	return nil
}

// Run writes what is new.
func (c *AuditExportCmd) Run(ctx context.Context, streams cli.Streams) error {
	return cli.PipelineError(c.run(ctx, streams))
}

func (c *AuditExportCmd) run(ctx context.Context, streams cli.Streams) error {
	db, err := openExisting(ctx, c.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	write, err := c.form(ctx, db)
	if err != nil {
		return err
	}
	if c.To == "-" {
		_, err := exportAudit(ctx, db, streams.Out, write, c.After)
		return err
	}
	f, err := os.OpenFile(c.To, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open export: %w", err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another export is being written to %s: %w", c.To, err)
	}
	last, err := goOn(f, c.Form)
	if err != nil {
		return fmt.Errorf("%s: %w", c.To, err)
	}
	n, err := exportAudit(ctx, db, f, write, last)
	if err := errors.Join(f.Sync(), err); err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "added %s to %s\n", cli.Plural(int64(n), "entry", "entries"), c.To)
	return nil
}

// form makes what writes a line for an entry.
func (c *AuditExportCmd) form(ctx context.Context, db *store.DB) (func(audit.Line) ([]byte, error), error) {
	switch c.Form {
	case audit.FormSyslog:
		host, version := thisHost(), release.Current().Version
		return func(l audit.Line) ([]byte, error) { return l.Syslog(host, version) }, nil
	case audit.FormCloudEvents:
		source, err := c.source(ctx, db)
		return func(l audit.Line) ([]byte, error) {
			e := l.Event()
			e["specversion"], e["source"] = "1.0", source
			return json.Marshal(e)
		}, err
	}
	return audit.Line.JSON, nil
}

// source is the source of events: that of what the program itself sends, as far as the database knows it.
func (c *AuditExportCmd) source(ctx context.Context, db *store.DB) (string, error) {
	if c.Source != "" {
		return c.Source, nil
	}
	own, err := db.OwnPartner(ctx)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", fmt.Errorf("find own organisation: %w", err)
	}
	if own.OIN == "" {
		return "", &cli.ExitError{Code: cli.ExitUsage, Err: errors.New("give --source: the organisation has no OIN; the program itself takes the address of --base-url")}
	}
	return sourceOf(own.OIN), nil
}

// thisHost names this machine in syslog messages.
func thisHost() string {
	name, _ := os.Hostname() // without one the field is empty
	return name
}

// exportAudit writes the entries behind one.
func exportAudit(ctx context.Context, db *store.DB, to io.Writer, write func(audit.Line) ([]byte, error), after int64) (n int, err error) {
	head, err := db.AuditHead(ctx)
	if err != nil {
		return 0, fmt.Errorf("read head of the audit trail: %w", err)
	}
	if after > head.Seq {
		return 0, fmt.Errorf("entry %d was exported, and the audit trail ends at %d: this is another database, or one that was restored", after, head.Seq)
	}
	out := bufio.NewWriter(to)
	const atOnce = 500
	first := after
	for at := after; ; {
		rows, err := db.AuditsAfter(ctx, at, atOnce)
		if err != nil {
			return n, fmt.Errorf("read audit trail: %w", err)
		}
		for _, a := range rows {
			if n == 0 {
				first = a.Seq - 1
			}
			line, err := write(audit.LineOf(head.Chain, a))
			if err == nil {
				_, err = out.Write(append(line, '\n'))
			}
			if err != nil {
				return n, fmt.Errorf("write entry %d: %w", a.Seq, err)
			}
			n, at = n+1, a.Seq
		}
		if len(rows) < atOnce {
			break
		}
	}
	if err := out.Flush(); err != nil {
		return n, fmt.Errorf("write entries: %w", err)
	}
	if after > 0 && first > after {
		return n, cli.FoundError(fmt.Sprintf("entries %d to %d are missing: retention removed them before they were exported", after+1, first))
	}
	return n, nil
}

// maxLine bounds the end of an export that is read, in bytes; an entry is much shorter.
const maxLine = 4 << 20

// goOn finds the last entry in an export, takes away what a kill left behind it, and puts the place to write at its end.
func goOn(f *os.File, form string) (last int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	from := max(0, info.Size()-maxLine)
	end := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(end, from); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	whole := bytes.LastIndexByte(end, '\n') + 1
	if whole == 0 && from > 0 {
		return 0, errors.New("its last line has no end: this is no export of the audit trail")
	}
	if whole > 0 {
		line := end[bytes.LastIndexByte(end[:whole-1], '\n')+1 : whole]
		if last, err = audit.ReadSeq(form, line); err != nil {
			return 0, fmt.Errorf("its last line is no entry: this is no export of the audit trail in this form: %w", err)
		}
	} else if len(end) > 0 && end[0] != '{' && end[0] != '<' {
		return 0, errors.New("this is no export of the audit trail")
	}
	if err := f.Truncate(from + int64(whole)); err != nil {
		return 0, err
	}
	_, err = f.Seek(0, io.SeekEnd)
	return last, err
}
