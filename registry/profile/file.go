package profile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"schakel/registry"
)

const (
	// profileFormat is the member that tells a profile file, and its version.
	profileFormat  = "schakel-profile"
	profileVersion = "1"
	// MaxProfileBytes is the largest profile file.
	MaxProfileBytes = 64 << 10
)

// ExportProfile writes a profile as a YAML file with an explanation at each
// setting, in the order of the table. The same profile gives the same bytes.
func ExportProfile(p *registry.Profile) []byte {
	var b strings.Builder
	b.WriteString("# Settings of a chain collaboration, as Schakel exports and imports them.\n")
	b.WriteString("# A setting that is left out is as the installation that imports the file says.\n")
	b.WriteString(profileFormat + ": " + profileVersion + "\n")
	for _, group := range Groups() {
		fmt.Fprintf(&b, "\n# %s\n%s:\n", group.Title, group.Key)
		for _, s := range Settings() {
			if s.Group() == group.Key {
				s.export(&b, s.Value(p))
			}
		}
	}
	return []byte(b.String())
}

func (s Setting) export(b *strings.Builder, value string) {
	fmt.Fprintf(b, "  # %s (%s). %s\n", s.Title, strings.Join(s.Rules, ", "), s.Explain)
	for _, c := range s.Choices {
		fmt.Fprintf(b, "  #   %s: %s\n", c.Value, c.Text)
	}
	if s.Choices == nil {
		fmt.Fprintf(b, "  #   From %s to %s%s.\n", s.Least, s.Most, s.unitEnd())
	}
	switch s.Standing(value) {
	case StandingRelaxed:
		fmt.Fprintf(b, "  # RELAXED: the profile asks for %s.\n", s.Strict)
	case StandingTighter:
		fmt.Fprintf(b, "  # Tighter than the profile, which asks for %s.\n", s.Strict)
	}
	fmt.Fprintf(b, "  %s: %s\n", s.Name(), quoteWord(value))
}

// quoteWord keeps readers of YAML 1.1 from taking on and off for yes and no.
func quoteWord(value string) string {
	if value == registry.PolicyOn || value == registry.PolicyOff {
		return `"` + value + `"`
	}
	return value
}

// FileProblem is one thing wrong with a profile file: where, what and how to mend it.
type FileProblem struct {
	Line, Column int // from 1; 0 when it is about the whole file
	Key          string
	Text         string
}

// String is the problem as one sentence with its place.
func (p FileProblem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		b.WriteString("Line " + strconv.Itoa(p.Line) + ": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	return b.String() + p.Text
}

// ProfileFileError says that a file is no profile, with all that is wrong with it.
type ProfileFileError struct{ Problems []FileProblem }

// Error lists what is wrong.
func (e *ProfileFileError) Error() string {
	var all []string
	for _, p := range e.Problems {
		all = append(all, p.String())
	}
	return "profile file: " + strings.Join(all, " ")
}

// File holds the content of a profile file: values by key, and the line of each.
type File struct {
	Values map[string]string
	lines  map[string]int
}

// ParseProfile reads a profile file, YAML or JSON. The error is a
// *ProfileFileError. Values are held against the settings by Compare.
func ParseProfile(content []byte) (File, error) {
	r := &profileReader{file: File{Values: map[string]string{}, lines: map[string]int{}}}
	r.read(content)
	if len(r.problems) > 0 {
		return File{}, &ProfileFileError{r.problems}
	}
	return r.file, nil
}

// Problems turns the refusal of the values of a file into problems with their
// lines; false for an error that is none.
func (f File) Problems(err error) (*ProfileFileError, bool) {
	refused, ok := errors.AsType[*registry.Error](err)
	if !ok || len(refused.Fields) == 0 {
		return nil, false
	}
	var list []FileProblem
	for key, text := range refused.Fields {
		list = append(list, FileProblem{Line: f.lines[key], Key: key, Text: text})
	}
	slices.SortFunc(list, func(a, b FileProblem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.Key, b.Key))
	})
	return &ProfileFileError{list}, true
}

// profileReader walks the nodes of a file; it collects all problems.
type profileReader struct {
	file     File
	problems []FileProblem
	known    bool // the file says that it is a profile
}

func (r *profileReader) wrong(n *yaml.Node, key, text string) {
	p := FileProblem{Key: key, Text: text}
	if n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	r.problems = append(r.problems, p)
}
