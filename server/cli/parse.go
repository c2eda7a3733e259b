package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"schakel/server/release"
)

// Parse fills the grammar of a parser from the arguments, the environment and the file that --config names, and returns a pointer to the command in them. It
// prints what --help and --version ask for; then there is no command.
//
// Parse takes the steps of kong's own Parse. That one, Run and Validate look methods up by name at run time, for which the linker
// keeps every exported method in the program: megabytes of code that nothing calls. Nor may a method here be called Validate, since an
// interface with Validate() error keeps that of kong.
func Parse(parser *kong.Kong, args []string) (command any, err error) {
	trace, err := kong.Trace(parser, args)
	if err != nil {
		return nil, fmt.Errorf("trace arguments: %w", err)
	}
	if trace.Error != nil {
		return nil, trace.Error
	}
	if printed, err := printAsked(trace); printed || err != nil {
		return nil, err
	}
	if err := trace.Reset(); err != nil {
		return nil, err
	}
	config, err := configure(parser, trace)
	if err != nil {
		return nil, err
	}
	if _, err := trace.Apply(); err != nil {
		return nil, fmt.Errorf("apply arguments: %w", err)
	}
	if err := validate(trace); err != nil {
		if config != "" {
			return nil, fmt.Errorf("%w (with the settings of %s)", err, config)
		}
		return nil, err
	}
	return trace.Selected().Target.Addr().Interface(), nil
}

// printAsked prints the help or the version when a flag asks for it, and reports whether one did.
func printAsked(trace *kong.Context) (bool, error) {
	for _, path := range trace.Path {
		switch {
		case path.Flag == nil:
		case path.Flag == trace.Model.HelpFlag:
			return true, trace.PrintUsage(false)
		case path.Flag.Target.Type() == reflect.TypeFor[kong.VersionFlag]():
			_, err := fmt.Fprintln(trace.Stdout, release.Current())
			return true, err
		}
	}
	return false, nil
}

// validate checks that the values may be together, and that no flag, argument or command is missing.
func validate(trace *kong.Context) error {
	for _, path := range trace.Path {
		if node := path.Node(); node != nil {
			if err := checkEnums(node); err != nil {
				return err
			}
		}
	}
	if err := checkMissingFlags(trace); err != nil {
		return err
	}
	for _, path := range trace.Path {
		if node := path.Node(); node != nil {
			if err := validateGroups(node.Target); err != nil {
				if node.Type == kong.ApplicationNode {
					return err
				}
				return fmt.Errorf("%s: %w", node.Path(), err)
			}
		}
	}
	return checkMissing(trace)
}

// checkEnums checks the flags of a command that take one of a few texts.
func checkEnums(node *kong.Node) error {
	for _, value := range node.Values() {
		if value.Required && !value.Set {
			continue
		}
		if err := checkEnum(value); err != nil {
			return err
		}
	}
	return nil
}

// checkEnum checks a value that is one of a few texts.
func checkEnum(value *kong.Value) error {
	if got := fmt.Sprint(value.Target.Interface()); value.Enum != "" && !slices.Contains(value.EnumSlice(), got) {
		texts := strings.Join(value.EnumSlice(), `","`)
		return fmt.Errorf(`%s must be one of "%s" but got %q`, value.ShortSummary(), texts, got)
	}
	return nil
}

// checker is a command or a group of flags that checks what flags cannot say one by one.
type checker interface{ CheckFlags() error }

// validateGroups validates a command and, in order, the groups of flags embedded in it.
func validateGroups(group reflect.Value) error {
	if v, ok := group.Addr().Interface().(checker); ok {
		if err := v.CheckFlags(); err != nil {
			return err
		}
	}
	for field, value := range group.Fields() {
		if field.Anonymous && field.IsExported() && value.Kind() == reflect.Struct {
			if err := validateGroups(value); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkMissingFlags looks for required flags that were not given, before what the others say is checked: without one it would be wrong as well.
func checkMissingFlags(trace *kong.Context) error {
	var flags []string
	for _, path := range trace.Path {
		for _, flag := range path.Flags {
			if flag.Required && !flag.Set {
				flags = append(flags, flag.Summary())
			}
		}
	}
	if len(flags) > 0 {
		slices.Sort(flags)
		return fmt.Errorf("missing flags: %s", strings.Join(flags, ", "))
	}
	return nil
}

// checkMissing looks for arguments or a command that were not given.
func checkMissing(trace *kong.Context) error {
	node := trace.Selected()
	if node == nil {
		node = trace.Model.Node
	}
	return missingIn(node)
}

// shownMissing bounds how many missing commands an error names.
const shownMissing = 5

// missingIn asks for the required arguments of a node, or for one of its commands.
func missingIn(node *kong.Node) error {
	var arguments, parts []string
	for _, argument := range node.Positional {
		if argument.Required && !argument.Set {
			arguments = append(arguments, argument.Summary())
		}
	}
	if len(arguments) > 0 {
		parts = append(parts, strconv.Quote(strings.Join(arguments, " ")))
	}
	for _, child := range node.Children {
		parts = append(parts, strconv.Quote(child.Name))
	}
	switch {
	case len(parts) == 0:
		return nil
	case len(parts) == 1:
		return fmt.Errorf("expected %s", parts[0])
	case len(parts) > shownMissing:
		parts = append(parts[:shownMissing], "...")
	}
	return fmt.Errorf("expected one of %s", strings.Join(parts, ", "))
}
