// Package mutationcmd holds the commands for files of mutation delivery: publish, follow, status, schema and lint.
//
// A command that is interrupted can be run again with the same arguments: nothing is published or applied twice, and a copy
// stands at the end of a delivery. Memory does not grow with the files.
package mutationcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/format/lint"
	"schakel/delivery/mutation/replica"
	"schakel/server/cli"
)

// Commands holds the commands for files of mutation delivery.
type Commands struct {
	Publish Publish `cmd:"" help:"Send files of mutations to a Schakel that delivers the dataset."`
	Follow  Follow  `cmd:"" help:"Keep an exact copy of a dataset, of a Schakel or of an API like PDOK's."`
	Status  Status  `cmd:"" help:"Tell what copies a database holds, and how far they are."`
	Schema  Schema  `cmd:"" help:"Print the XML schema of a dataset of your own, or write it with that of the format."`
	Lint    Lint    `cmd:"" help:"Look for what is wrong in mutation delivery files, beyond what their XSD finds."`
}

// Lint looks at files of mutation delivery as a consumer would have to (MUT-64).
type Lint struct {
	Format   string   `enum:"text,json" default:"text" help:"How findings are printed: text or json."`
	FailOn   string   `enum:"error,warning" default:"error" help:"Least finding that makes the exit code 1: error or warning."`
	Complete bool     `help:"The history starts with the first file: a state that a change refers to must have been given before."`
	Most     int      `default:"1000" help:"Findings that are printed at most; all are counted."`
	Files    []string `arg:"" name:"file" help:"Files in the order in which they are applied: XML, or zips of deliveries; - is one on standard input."`
}

// Help implements kong.HelpProvider.
func (c *Lint) Help() string {
	return "Files are read as a stream, whatever their size; once the ids of the states they use take 64 MiB, about 68 bytes for each use go to a temporary file. Exit codes: 0 all is well; 1 something was found that --fail-on asks to fail on; 2 wrong flags, or a file that cannot be opened."
}

// Run looks at the files and prints what is found.
func (c *Lint) Run(_ context.Context, streams cli.Streams) error {
	if c.Most < 1 {
		return &cli.ExitError{Code: cli.ExitUsage, Err: errors.New("--most must be at least 1")}
	}
	return cli.PipelineError(c.run(streams))
}

func (c *Lint) run(streams cli.Streams) error {
	linter := lint.New(lint.Options{Complete: c.Complete, Most: c.Most})
	for _, name := range c.Files {
		if err := lintFile(linter, name, streams.In); err != nil {
			return err
		}
	}
	report, err := linter.Report()
	if err != nil {
		return fmt.Errorf("look for what is wrong: %w", err)
	}
	if err := printMutations(streams.Out, c.Format, report); err != nil {
		return err
	}
	if report.Errors > 0 || c.FailOn == string(lint.Warning) && report.Warnings > 0 {
		return cli.FoundError(cli.Plural(report.Errors, "error", "errors") + " and " + cli.Plural(report.Warnings, "warning", "warnings") + " in " + cli.Plural(int64(report.Files), "file", "files"))
	}
	return nil
}

// lintFile looks at a file, or at all in it when it is a zip.
func lintFile(linter *lint.Linter, name string, stdin io.Reader) error {
	source := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("open file: %w", err)
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return fmt.Errorf("%s is a folder: name the files in it, in the order in which they are applied", name)
		}
		source = file
	}
	return linter.Any(name, source)
}

func printMutations(w io.Writer, format string, r lint.Report) error {
	if format == cli.FormatJSON {
		if r.Findings == nil {
			r.Findings = []lint.Finding{}
		}
		return cli.PrintJSON(w, r)
	}
	for _, f := range r.Findings {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	if left := r.Errors + r.Warnings - int64(len(r.Findings)); left > 0 {
		fmt.Fprintf(w, "… and %d more\n", left)
	}
	_, err := fmt.Fprintf(w, "%s, %s, %s: %s, %s\n", cli.Plural(int64(r.Files), "file", "files"), cli.Plural(r.Groups, "group", "groups"),
		cli.Plural(r.Mutations, "mutation", "mutations"), cli.Plural(r.Errors, "error", "errors"), cli.Plural(r.Warnings, "warning", "warnings"))
	return err
}

// Schema writes the XML schema of a dataset of one's own (MUT-62).
type Schema struct {
	Namespace string `required:"" placeholder:"URI" help:"Namespace of the dataset's own elements."`
	Prefix    string `default:"d" help:"Prefix for it."`
	Root      string `required:"" placeholder:"NAME" help:"Element around the files, such as bgtMutaties."`
	Object    string `default:"object" help:"Element around each object, whatever is in it, where objects are published in another one than object."`
	Generic   string `default:"mutatielevering-generiek-2.0.xsd" placeholder:"LOCATION" help:"Where the schema of the format itself is, which the printed one imports; with --dir the name it is written under."`
	Dir       string `type:"path" placeholder:"FOLDER" help:"Write ROOT.xsd and the schema of the format into this folder, over files of the same name, and print nothing but their paths."`
}

// Help implements kong.HelpProvider.
func (c *Schema) Help() string {
	return `Prints the schema against which xmllint or another validator can hold the files of such a dataset: a root element around the message, and an element that stands for the objects of the format and takes any object in. Deliveries have an element named object around each object that was published without one.

The schema imports that of the format itself. With --dir both are written, so that nothing else is needed:

  schakel mutations schema --namespace urn:example:trees --root treeMutations --dir xsd
  xmllint --noout --nonet --schema xsd/treeMutations.xsd delivery.xml

Without it, --generic says where the schema is that PDOK publishes, or the one that --dir wrote.`
}

// Run prints or writes the schema.
func (c *Schema) Run(_ context.Context, streams cli.Streams) error {
	var own bytes.Buffer
	err := format.WriteSchema(&own, format.Name{Prefix: c.Prefix, Space: c.Namespace, Local: c.Root}, c.Object, c.Generic)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	if c.Dir != "" {
		return c.write(streams, own.Bytes())
	}
	if _, err := streams.Out.Write(own.Bytes()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// write writes both schemas, side by side.
func (c *Schema) write(streams cli.Streams, own []byte) error {
	name := c.Root + ".xsd"
	if filepath.Base(c.Generic) != c.Generic || c.Generic == name || c.Generic == "." || c.Generic == ".." {
		return &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("--generic is %q; with --dir it is the name of a file other than %s, without a folder", c.Generic, name)}
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil { // #nosec G301 -- schemas are for everybody
		return fmt.Errorf("make the folder: %w", err)
	}
	for _, f := range []struct {
		name    string
		content []byte
	}{{c.Generic, []byte(format.GenericSchema())}, {name, own}} {
		path := filepath.Join(c.Dir, f.name)
		if err := os.WriteFile(path, f.content, 0o644); err != nil { // #nosec G306 -- schemas are for everybody
			return fmt.Errorf("write schema: %w", err)
		}
		if _, err := fmt.Fprintln(streams.Out, path); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// Status lists what copies a database holds.
type Status struct {
	CopyFlags
	JSON bool `name:"json" help:"Print it as JSON."`
}

// Run prints a line a copy.
func (c *Status) Run(ctx context.Context, streams cli.Streams) error {
	copies, err := replica.Copies(ctx, c.Database)
	if err != nil {
		return err
	}
	if c.JSON {
		if copies == nil {
			copies = []replica.Copy{}
		}
		return cli.PrintJSON(streams.Out, copies)
	}
	if len(copies) == 0 {
		fmt.Fprintln(streams.Out, "no copies; schakel mutations follow makes one")
		return nil
	}
	w := tabwriter.NewWriter(streams.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tDATASET\tLAST DELTA\tUPDATED\tSTATE\tSOURCE")
	for _, k := range copies {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", k.Name, k.Dataset, k.DeltaID, k.UpdatedAt.Format("2006-01-02 15:04:05Z"), copyState(k), k.Source)
	}
	return w.Flush()
}

// copyState describes the state of a copy in words.
func copyState(c replica.Copy) string {
	switch {
	case c.UnderWay != nil:
		return fmt.Sprintf("%s %s under way, %s", c.UnderWay.Type, c.UnderWay.ID, areIn(c.UnderWay.Counts.Groups))
	case c.Reinitialise != "":
		return "must be made anew: " + c.Reinitialise
	case c.Generation == 0:
		return "not made yet"
	}
	return "whole"
}

// countsText writes the number of groups and of their mutations by kind.
func countsText(k archive.Counts) string {
	return cli.Plural(k.Groups, "group", "groups") + ": " + cli.Plural(k.Adds, "add", "adds") + ", " + cli.Plural(k.Changes, "change", "changes") + ", " +
		cli.Plural(k.Deletes, "delete", "deletes")
}

// areIn writes how many groups are in.
func areIn(groups int64) string { return cli.Plural(groups, "group is", "groups are") + " in" }
