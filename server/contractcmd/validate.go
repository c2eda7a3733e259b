package contractcmd

import (
	"cmp"
	"context"
	"fmt"

	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/lint"
	"schakel/registry/sorted"
	"schakel/server/cli"
)

// Validate looks at documents as the register does at an upload.
type Validate struct {
	Format string   `enum:"text,json,github" default:"text" help:"How findings are printed: text, json, or github (workflow commands that mark the lines in a pull request)."`
	FailOn string   `enum:"error,warning" default:"error" help:"Least finding that makes the exit code 1: error or warning."`
	Advice bool     `help:"Also hold the documents against the rules of the NL API Design Rules and for events, and count their score."`
	Main   string   `placeholder:"NAME" help:"The document in a zip or folder. Default: the only file at its top, or the one called openapi or asyncapi."`
	Files  []string `arg:"" name:"file" help:"Files to look at: JSON, YAML, a zip, or a folder with a document and the files it refers to; - is standard input."`
}

// Help implements kong.HelpProvider.
func (c *Validate) Help() string {
	return "OpenAPI 3.0, 3.1 and 3.2 and AsyncAPI 2.6, 3.0 and 3.1. Nothing is fetched, and no register is needed; a register can refuse a version of a specification besides, when its chain asks for newer ones. " + contractExits
}

// Run looks at the files and prints what is found.
func (c *Validate) Run(_ context.Context, streams cli.Streams) error {
	return cli.PipelineError(c.run(streams))
}

func (c *Validate) run(streams cli.Streams) error {
	var all []judgement
	bad := 0
	for _, name := range c.Files {
		d, err := readDocument(name, streams.In)
		if err != nil {
			return err
		}
		if err := d.parse(c.Main); err != nil {
			return err
		}
		j := judge(d, c.Advice)
		if j.failsOn(c.FailOn) {
			bad++
		}
		all = append(all, j)
	}
	if err := printJudgements(streams.Out, c.Format, all); err != nil {
		return err
	}
	if bad > 0 {
		return cli.FoundError(fmt.Sprintf("%d of %d documents have findings to fail on", bad, len(all)))
	}
	return nil
}

// judgement holds the findings of one document.
type judgement struct {
	*document
	findings    []contract.Finding
	publishable bool // whatever the advice
	score       int  // 0 to 100 with advice, else -1
}

func judge(d *document, advice bool) judgement {
	j := judgement{document: d, findings: d.findings, score: -1}
	if d.read == nil {
		return j
	}
	j.findings = d.read.Validate()
	j.publishable = !contract.HasErrors(j.findings)
	if advice {
		report := lint.Check(d.read.Document)
		d.read.Trace(report.Findings)
		j.score, j.findings = report.Score, append(j.findings, report.Findings...)
		sorted.Stable(j.findings, func(a, b contract.Finding) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
	}
	return j
}

// failsOn reports whether a finding is as bad as a severity, or worse.
func (j judgement) failsOn(severity string) bool {
	return contract.HasErrors(j.findings) || severity == contract.SeverityWarning && j.count(severity) > 0
}

func (j judgement) count(severity string) (n int) {
	for _, f := range j.findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}
