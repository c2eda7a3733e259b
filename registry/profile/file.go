package profile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"schakel/registry"
	"schakel/registry/sorted"
	"schakel/templates/i18n"
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
		fmt.Fprintf(b, "  #   From %s to %s.\n", s.Least, s.amount(s.Most))
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
	Text         i18n.Message
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
	return b.String() + p.Text.String()
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

// Problems turns the refusal of the values of a file into problems with their lines; false for an error that is none.
func (f File) Problems(err error) (*ProfileFileError, bool) {
	refused, ok := errors.AsType[*registry.Error](err)
	if !ok || len(refused.Fields) == 0 {
		return nil, false
	}
	var list []FileProblem
	for key, text := range refused.Fields {
		list = append(list, FileProblem{Line: f.lines[key], Key: key, Text: text})
	}
	sorted.By(list, func(a, b FileProblem) int {
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

func (r *profileReader) wrong(n *yaml.Node, key string, text i18n.Message) {
	p := FileProblem{Key: key, Text: text}
	if n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	r.problems = append(r.problems, p)
}

func (r *profileReader) read(content []byte) {
	if len(content) > MaxProfileBytes {
		r.wrong(nil, "", i18n.M("profile.file.too-large", MaxProfileBytes>>10))
		return
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	err := decoder.Decode(&document)
	switch {
	case errors.Is(err, io.EOF):
		r.wrong(nil, "", "profile.file.empty")
		return
	case err != nil:
		r.wrong(nil, "", i18n.M("profile.file.unreadable", strings.TrimPrefix(err.Error(), "yaml: ")))
		return
	case decoder.Decode(new(yaml.Node)) == nil:
		r.wrong(nil, "", "profile.file.several")
		return
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		r.wrong(&document, "", "profile.file.no-groups")
		return
	}
	r.members(document.Content[0], "", r.top)
	if !r.known && len(r.problems) == 0 {
		r.wrong(nil, "", i18n.M("profile.file.no-profile", profileFormat+": "+profileVersion))
	}
}

// members hands over each name and value of a mapping, and refuses a name that stands there twice.
func (r *profileReader) members(mapping *yaml.Node, group string, each func(name string, at, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		at, value := mapping.Content[i], mapping.Content[i+1]
		switch {
		case at.Kind != yaml.ScalarNode:
			r.wrong(at, group, "profile.file.name-form")
		case seen[at.Value]:
			r.wrong(at, group, i18n.M("profile.file.twice", quoted(at.Value)))
		default:
			seen[at.Value] = true
			each(at.Value, at, value)
		}
	}
}

func (r *profileReader) top(name string, at, value *yaml.Node) {
	if name == profileFormat {
		r.known = true
		if value.Kind != yaml.ScalarNode || value.Value != profileVersion {
			r.wrong(at, name, i18n.M("profile.file.version", profileVersion))
		}
		return
	}
	if groupIndex(name) < 0 {
		r.wrong(at, "", noSuchGroup(name))
		return
	}
	if value.Kind != yaml.MappingNode {
		r.wrong(value, name, "profile.file.group-form")
		return
	}
	r.members(value, name, func(setting string, at, value *yaml.Node) {
		r.setting(name+"."+setting, at, value)
	})
}

func (r *profileReader) setting(key string, at, value *yaml.Node) {
	if _, ok := SettingOf(key); !ok {
		r.wrong(at, "", noSuchSetting(key))
		return
	}
	text, ok := scalars(value)
	if !ok {
		r.wrong(value, key, "profile.file.value-form")
		return
	}
	r.file.Values[key], r.file.lines[key] = text, value.Line
}

// scalars is the text of a value, or of a list of them with commas.
func scalars(n *yaml.Node) (string, bool) {
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value, n.Tag != "!!null"
	case yaml.SequenceNode:
		var words []string
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" || strings.Contains(item.Value, ",") {
				return "", false
			}
			words = append(words, item.Value)
		}
		return strings.Join(words, ", "), len(words) > 0
	}
	return "", false // aliases and mappings have no place here
}

func groupKeys() []string {
	var keys []string
	for _, g := range Groups() {
		keys = append(keys, g.Key)
	}
	return keys
}

func settingKeys() []string {
	var keys []string
	for _, s := range Settings() {
		keys = append(keys, s.Key)
	}
	return keys
}

func groupIndex(key string) int {
	for i, g := range Groups() {
		if g.Key == key {
			return i
		}
	}
	return -1
}

// quoted shows a name from a file, cut when it is long.
func quoted(name string) string {
	const most = 60
	if short := []rune(name); len(short) > most {
		name = string(short[:most]) + "…"
	}
	return strconv.Quote(name)
}

func noSuchGroup(name string) i18n.Message {
	if meant := Nearest(name, groupKeys()); meant != "" {
		return i18n.M("profile.file.group-meant", quoted(name), meant)
	}
	return i18n.M("profile.file.no-such-group", quoted(name))
}

func noSuchSetting(key string) i18n.Message {
	if meant := Nearest(key, settingKeys()); meant != "" {
		return i18n.M("profile.file.setting-meant", quoted(key), meant)
	}
	return i18n.M("profile.file.no-such-setting", quoted(key))
}

// Nearest returns the key that was probably meant by a name; empty when none is near.
func Nearest(name string, keys []string) string {
	best, least := "", 4
	for _, key := range keys {
		if d := distance(name, key); d < least {
			best, least = key, d
		}
	}
	return best
}

// distance counts the letters to change to come from a to b, up to a bound that makes long names cheap.
func distance(a, b string) int {
	if len(a) > 100 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
