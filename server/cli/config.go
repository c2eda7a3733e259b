package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"
	"schakel/registry"
	"schakel/registry/profile"
)

// ConfigFile is the path of a file with settings. A command that has a flag of this type takes from the file what neither its flags nor
// the environment set.
type ConfigFile string

// ConfigFlags let a command read its settings from a file.
type ConfigFlags struct {
	Config ConfigFile `placeholder:"FILE" help:"YAML file with settings: each flag of schakel serve without its dashes, as base-url: https://events.example.nl. Flags and environment win. schakel config prints an example with all of them."`
}

// configOwner marks, as a tag in the grammar, the command whose flags a file may set. Other commands take of them what they have.
const configOwner = "config"

// Settings lists the flags that a file of settings may set, in the order of --help: those of the whole program, and of the command
// that is marked as their owner.
func Settings(parser *kong.Kong) []*kong.Flag {
	groups := [][]*kong.Flag{parser.Model.Flags}
	for _, command := range parser.Model.Children {
		if command.Tag.Has(configOwner) {
			groups = append(groups, command.Flags)
		}
	}
	var all []*kong.Flag
	for _, flag := range slices.Concat(groups...) {
		if _, isPath := flag.Target.Interface().(ConfigFile); !isPath && len(flag.Envs) > 0 {
			all = append(all, flag)
		}
	}
	return all
}

// setting is a value of a file, and the line it stands on.
type setting struct {
	line  int
	value *yaml.Node
}

// configure gives the flags of the chosen command, those that neither arguments nor environment set, their value from the file that
// --config names. It must run after the reset to defaults and before the arguments are applied. It returns the path of the file,
// which is empty when there is none.
func configure(parser *kong.Kong, trace *kong.Context) (path string, err error) {
	var flags []*kong.Flag
	for _, p := range trace.Path {
		flags = append(flags, p.Flags...)
	}
	for _, flag := range flags {
		if file, is := trace.FlagValue(flag).(ConfigFile); is && file != "" {
			path = string(file)
		}
	}
	if path == "" {
		return "", nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return path, fmt.Errorf("read the settings of --config: %w", err)
	}
	settings, err := readSettings(path, content, Settings(parser))
	if err != nil {
		return path, err
	}
	for _, flag := range flags {
		s, given := settings[flag.Name]
		if !given || slices.ContainsFunc(flag.Envs, isSet) {
			continue
		}
		if err := s.apply(flag); err != nil {
			return path, fmt.Errorf("%s:%d: %w", path, s.line, err)
		}
	}
	return path, nil
}

func isSet(variable string) bool {
	_, set := os.LookupEnv(variable)
	return set
}

// readSettings reads a file of settings; its errors name the line. A key that is no flag is refused, and so is a file with a password
// that others can read.
func readSettings(path string, content []byte, known []*kong.Flag) (map[string]setting, error) {
	var document yaml.Node
	if onlyComments(content) {
		return nil, nil
	}
	if err := yaml.Load(content, &document); err != nil {
		return nil, fmt.Errorf("%s is not YAML: %w", path, err)
	}
	root := &document
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = root.Content[0]
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: settings are lines of the form name: value", path, root.Line)
	}
	var names []string
	for _, flag := range known {
		names = append(names, flag.Name)
	}
	settings := make(map[string]setting, len(root.Content)/2)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if !slices.Contains(names, key.Value) {
			return nil, fmt.Errorf("%s:%d: there is no setting %q%s; schakel config lists all", path, key.Line, key.Value, meant(key.Value, names))
		}
		if first, twice := settings[key.Value]; twice {
			return nil, fmt.Errorf("%s:%d: %s is on line %d already; remove one of the two", path, key.Line, key.Value, first.line)
		}
		settings[key.Value] = setting{key.Line, value}
		if u, err := url.Parse(value.Value); err == nil && u.User != nil {
			if _, secret := u.User.Password(); secret {
				if err := registry.CheckSecretFile(path); err != nil {
					return nil, fmt.Errorf("%s:%d: %s has a password: %w", path, key.Line, key.Value, err)
				}
			}
		}
	}
	return settings, nil
}

// onlyComments reports whether a file sets nothing, which the YAML library takes for an error.
func onlyComments(content []byte) bool {
	for line := range strings.Lines(string(content)) {
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' && text != "---" {
			return false
		}
	}
	return true
}

// meant proposes the name of a setting that is near.
func meant(key string, names []string) string {
	if near := profile.Nearest(strings.TrimLeft(strings.ReplaceAll(key, "_", "-"), "-"), names); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}

// apply sets a flag.
func (s setting) apply(flag *kong.Flag) error {
	text, err := s.text(flag)
	if err != nil {
		return err
	}
	flag.Target.SetZero() // a list would be added to its default
	token := kong.Token{Type: kong.FlagValueToken, Value: text}
	if err := flag.Parse(kong.ScanFromTokens(token), flag.Target); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "--"))
	}
	return checkEnum(flag.Value)
}

// text is the value as the flag takes it.
func (s setting) text(flag *kong.Flag) (string, error) {
	node := s.value
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return "", fmt.Errorf("%s has no value; give it one, or remove the line", flag.Name)
	case node.Kind == yaml.ScalarNode:
		return node.Value, nil
	case node.Kind == yaml.SequenceNode && flag.IsSlice():
		var items []string
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode {
				return "", fmt.Errorf("%s: an item of the list is not a single value", flag.Name)
			}
			items = append(items, item.Value)
		}
		return kong.JoinEscaped(items, flag.Tag.Sep), nil
	case flag.IsSlice():
		return "", fmt.Errorf("%s takes a value or a list of values", flag.Name)
	}
	return "", fmt.Errorf("%s takes a single value", flag.Name)
}

// exampleWidth is the longest line of a comment in the example, in characters.
const exampleWidth = 100

// WriteExample writes a file of settings with every flag that it can set, commented out with its default.
func WriteExample(w io.Writer, parser *kong.Kong) error {
	var b strings.Builder
	b.WriteString("# Settings of schakel serve, for --config FILE. Remove the # before what you set. A flag or a variable of the\n" +
		"# environment, SCHAKEL_ and the name in capitals, wins over this file.\n")
	for _, flag := range Settings(parser) {
		b.WriteString("\n")
		wrap(&b, flag.Help)
		fmt.Fprintf(&b, "#%s: %s\n", flag.Name, exampleValue(flag))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// exampleValue is the default of a flag as YAML, or else the placeholder of its value.
func exampleValue(flag *kong.Flag) string {
	value := flag.Default
	switch {
	case !flag.HasDefault && flag.IsBool():
		value = "false"
	case !flag.HasDefault:
		value = flag.PlaceHolder
	case flag.IsSlice():
		return "[" + strings.ReplaceAll(value, ",", ", ") + "]"
	}
	if strings.ContainsAny(value, "*#'\"{}[]|>") || strings.Contains(value, ": ") || strings.HasPrefix(value, ":") {
		return "'" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	return value
}

// wrap writes a text as lines of a comment.
func wrap(b *strings.Builder, text string) {
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > exampleWidth {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}
