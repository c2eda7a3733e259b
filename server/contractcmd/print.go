package contractcmd

import (
	"fmt"
	"io"
	"strings"

	"schakel/registry/contracts/compare"
	"schakel/registry/contracts/contract"
	"schakel/server/cli"
	"schakel/templates/i18n"
)

// printJudgements prints what was found in documents.
func printJudgements(w io.Writer, format string, all []judgement) error {
	if format == cli.FormatJSON {
		list := make([]judgementAnswer, len(all))
		for i, j := range all {
			list[i] = newJudgementAnswer(j)
		}
		return cli.PrintJSON(w, map[string]any{"files": list})
	}
	for _, j := range all {
		for _, f := range j.findings {
			text := strings.TrimSpace(f.Detail.String() + " " + f.Remedy.String())
			if format == cli.FormatGitHub {
				file, line, column := j.spot(f)
				fmt.Fprintln(w, workflowCommand(f.Severity, file, line, column, f.Code, text))
			} else {
				fmt.Fprintf(w, "%s: %s %s: %s\n", j.place(f), f.Severity, f.Code, text)
			}
		}
		if format != cli.FormatGitHub {
			fmt.Fprintln(w, j.summary())
		}
	}
	return nil
}

// summary describes a document and counts its findings, in a line.
func (j judgement) summary() string {
	what := "cannot be read"
	if j.read != nil {
		d := j.read.Document
		what = fmt.Sprintf("%s %s, version %s", d.Kind, d.SpecVersion, d.Version)
	}
	line := fmt.Sprintf("%s: %s: %d errors, %d warnings", j.name, what, j.count(contract.SeverityError), j.count(contract.SeverityWarning))
	if j.score >= 0 {
		line += fmt.Sprintf(", score %d of 100", j.score)
	}
	return line
}

// workflowCommand is a line with which GitHub Actions marks a place in a file. A
// file behind an exclamation mark is in a zip, which it cannot mark.
func workflowCommand(severity, file string, line, column int, title, text string) string {
	level := map[string]string{contract.SeverityError: "error", contract.SeverityWarning: "warning"}[severity]
	if level == "" {
		level = "notice"
	}
	if outer, inner, zipped := strings.Cut(file, "!"); zipped {
		text = fmt.Sprintf("%s, line %d: %s", inner, line, text)
		file, line, column = outer, 0, 0
	}
	command := "::" + level + " file=" + commandProperty(file)
	if line > 0 {
		command += fmt.Sprintf(",line=%d", line)
	}
	if column > 0 {
		command += fmt.Sprintf(",col=%d", column)
	}
	return command + ",title=" + commandProperty(title) + "::" + commandData(text)
}

// commandData writes text so that it cannot end a workflow command or begin another.
func commandData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// commandProperty is commandData for a property, which a colon or comma ends as well.
func commandProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// judgementAnswer is a document with its findings, as the register answers them.
type judgementAnswer struct {
	File        string          `json:"file"`
	Kind        string          `json:"kind,omitempty"`
	SpecVersion string          `json:"specVersion,omitempty"`
	Format      string          `json:"format,omitempty"`
	Title       string          `json:"title,omitempty"`
	Version     string          `json:"version,omitempty"`
	EventTypes  []string        `json:"eventTypes,omitempty"`
	Publishable bool            `json:"publishable"`
	Score       *int            `json:"score,omitempty"`
	Findings    []findingAnswer `json:"findings"`
}

type findingAnswer struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Pointer  string `json:"pointer"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	File     string `json:"file,omitempty"`
	FileLine int    `json:"fileLine,omitempty"`
	Detail   string `json:"detail"`
	Remedy   string `json:"remedy,omitempty"`
}

func newJudgementAnswer(j judgement) judgementAnswer {
	a := judgementAnswer{File: j.name, Findings: []findingAnswer{}, Publishable: j.publishable}
	if j.read != nil {
		d := j.read.Document
		a.Kind, a.SpecVersion, a.Format, a.Title, a.Version = string(d.Kind), d.SpecVersion, d.Format, d.Title, d.Version
		for _, t := range d.EventTypes() {
			a.EventTypes = append(a.EventTypes, t.Type)
		}
	}
	if j.score >= 0 {
		a.Score = &j.score
	}
	for _, f := range j.findings {
		a.Findings = append(a.Findings, findingAnswer{f.Severity, f.Code, f.Pointer, f.Line, f.Column, f.File, f.FileLine, f.Detail.String(), f.Remedy.String()})
	}
	return a
}

// differenceAnswer holds the changes in the JSON form of the register.
type differenceAnswer struct {
	From             string         `json:"from"`
	To               string         `json:"to"`
	Level            string         `json:"level,omitempty"`
	SuggestedVersion string         `json:"suggestedVersion,omitempty"`
	Counts           countsAnswer   `json:"counts"`
	Changes          []changeAnswer `json:"changes"`
}

type countsAnswer struct {
	Breaking int `json:"breaking"`
	Warning  int `json:"warning"`
	Info     int `json:"info"`
}

type changeAnswer struct {
	Level       string   `json:"level"`
	Code        string   `json:"code"`
	Pointer     string   `json:"pointer"`
	Removed     bool     `json:"removed,omitempty"`
	OldPointer  string   `json:"oldPointer,omitempty"`
	NewPointer  string   `json:"newPointer,omitempty"`
	Direction   string   `json:"direction,omitempty"`
	Side        string   `json:"side"`
	Subjects    []string `json:"subjects"`
	Text        string   `json:"text"`
	Explanation string   `json:"explanation"`
	Cause       string   `json:"cause"`
	EventTypes  []string `json:"eventTypes,omitempty"`
}

func (d difference) answer() differenceAnswer {
	a := differenceAnswer{
		From: d.before.name, To: d.after.name, Level: string(compare.Worst(d.changes)), SuggestedVersion: d.suggested(),
		Counts: countsAnswer{d.count(compare.Breaking), d.count(compare.Warning), d.count(compare.Info)}, Changes: []changeAnswer{},
	}
	for _, c := range d.changes {
		a.Changes = append(a.Changes, changeAnswer{
			Level: string(c.Level), Code: c.Code, Pointer: c.Pointer, Removed: c.Removed, Side: c.Side,
			OldPointer: c.OldPointer, NewPointer: c.NewPointer, Direction: c.Direction,
			Subjects: english(c.Subjects), Text: c.Text.String(), Explanation: c.Why.String(), Cause: c.Cause, EventTypes: c.EventTypes,
		})
	}
	return a
}

// english writes texts as commands do.
func english(list []i18n.Message) []string {
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = m.String()
	}
	return texts
}
