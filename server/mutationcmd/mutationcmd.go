// Package mutationcmd holds the commands for files of mutation delivery: publish, follow, status, schema and lint.
//
// A command that is interrupted can be run again with the same arguments: nothing is published or applied twice, and a copy
// stands at the end of a delivery. Memory does not grow with the files.
package mutationcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"schakel/delivery/mutation/format/lint"
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
