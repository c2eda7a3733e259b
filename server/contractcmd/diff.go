package contractcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"schakel/registry/contracts/compare"
	"schakel/registry/contracts/contract"
	"schakel/server/cli"
)

// Diff compares two documents as the register does.
type Diff struct {
	RegisterFlags
	Format string `enum:"text,json,github" default:"text" help:"How changes are printed: text, json, or github (workflow commands that mark the lines in a pull request)."`
	FailOn string `enum:"breaking,warning,never" default:"breaking" help:"Least change that makes the exit code 1: breaking, warning, or never."`
	Main   string `placeholder:"NAME" help:"The document in a zip or folder."`
	Old    string `arg:"" help:"What was: a file, zip or folder, or ID@VERSION in the register of --url (ID@latest too)."`
	New    string `arg:"" help:"What is to be, in the same ways."`
}

// Help implements kong.HelpProvider.
func (c *Diff) Help() string {
	return "A change is breaking when someone who holds to the old document has to adapt. " + contractExits
}

// Run compares and prints.
func (c *Diff) Run(ctx context.Context, streams cli.Streams) error {
	return cli.PipelineError(c.run(ctx, streams))
}

func (c *Diff) run(ctx context.Context, streams cli.Streams) error {
	before, err := c.load(ctx, c.Old, streams.In)
	if err != nil {
		return err
	}
	after, err := c.load(ctx, c.New, streams.In)
	if err != nil {
		return err
	}
	changes, err := compare.Documents(before.read.Document, after.read.Document)
	if err != nil {
		return fmt.Errorf("compare %s and %s: %w", before.name, after.name, err)
	}
	d := difference{before, after, changes}
	if err := d.print(streams.Out, c.Format); err != nil {
		return err
	}
	worst := compare.Worst(changes)
	if c.FailOn != "never" && (worst == compare.Breaking || worst == compare.Warning && c.FailOn == string(compare.Warning)) {
		return cli.FoundError(fmt.Sprintf("%s has changes to fail on: %s", after.name, d.counts()))
	}
	return nil
}

// load reads a document that can be compared.
func (c *Diff) load(ctx context.Context, name string, in io.Reader) (*document, error) {
	d, err := c.find(ctx, name, in)
	if err != nil {
		return nil, err
	}
	if err := d.parse(c.Main); err != nil {
		return nil, err
	}
	if d.read == nil {
		f := d.findings[0]
		return nil, fmt.Errorf("%s cannot be compared: %s", d.place(f), strings.TrimSpace(f.Detail.String()+" "+f.Remedy.String()))
	}
	return d, nil
}

// find reads a file, or a version of a contract when there is no such file.
func (c *Diff) find(ctx context.Context, name string, in io.Reader) (*document, error) {
	id, version, ok := splitContract(name)
	if _, err := os.Stat(name); !ok || version == "" || !errors.Is(err, os.ErrNotExist) {
		return readDocument(name, in)
	}
	r, err := c.open("registry.read")
	if err != nil {
		return nil, fmt.Errorf("%s is no file, so it is a version in a register: %w", name, err)
	}
	content, exact, err := r.fetch(ctx, id, version, "content")
	if err != nil {
		return nil, err
	}
	return &document{name: id + "@" + exact, content: content}, nil
}

// splitContract reads ID or ID@VERSION; an absent version is empty.
func splitContract(name string) (id, version string, ok bool) {
	m := regexp.MustCompile(`^([a-z0-9][a-z0-9-]*)(?:@([0-9A-Za-z.+-]+))?$`).FindStringSubmatch(name)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// difference holds the changes between two documents.
type difference struct {
	before, after *document
	changes       []compare.Change
}

func (d difference) print(w io.Writer, format string) error {
	if format == cli.FormatJSON {
		return cli.PrintJSON(w, d.answer())
	}
	for _, change := range d.changes {
		text := strings.TrimSpace(change.Text.String() + " " + change.Why.String())
		where, f := d.after, contract.Finding{Pointer: change.Pointer}
		if change.Removed {
			where = d.before
		}
		placed := where.read.Document.Place([]contract.Finding{f})
		where.read.Trace(placed)
		if format != cli.FormatGitHub {
			fmt.Fprintf(w, "%s: %s %s: %s: %s\n", where.place(placed[0]), change.Level, change.Code, change.Subject, text)
			continue
		}
		// What was removed has no line in the new document, which is the one that is looked at.
		file, line, column := where.spot(placed[0])
		if change.Removed {
			file, line, column = d.after.name, 0, 0
		}
		fmt.Fprintln(w, workflowCommand(levelSeverity(change.Level), file, line, column, change.Code, change.Subject.String()+": "+text))
	}
	if format != cli.FormatGitHub {
		fmt.Fprintf(w, "%s → %s: %s\n", d.before.name, d.after.name, d.counts())
	}
	return nil
}

// levelSeverity is the severity of a finding that weighs as much as a change.
func levelSeverity(level compare.Level) string {
	return map[compare.Level]string{compare.Breaking: contract.SeverityError, compare.Warning: contract.SeverityWarning}[level]
}

func (d difference) count(level compare.Level) (n int) {
	for _, c := range d.changes {
		if c.Level == level {
			n++
		}
	}
	return n
}

// counts writes how many changes there are and which version number fits them.
func (d difference) counts() string {
	if len(d.changes) == 0 {
		return "no changes"
	}
	return fmt.Sprintf("%d breaking, %d warnings, %d other; suggested version %s",
		d.count(compare.Breaking), d.count(compare.Warning), d.count(compare.Info), d.suggested())
}

// suggested is the version number that fits the changes.
func (d difference) suggested() string {
	version := d.before.read.Document.Version
	if _, exact, found := strings.Cut(d.before.name, "@"); found {
		version = exact // a version in a register need not be that of the document
	}
	return compare.Suggest(version, d.changes)
}
