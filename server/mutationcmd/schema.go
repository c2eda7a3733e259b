package mutationcmd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"schakel/delivery/mutation/format"
	"schakel/server/cli"
)

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
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	for _, f := range []struct {
		name    string
		content []byte
	}{{c.Generic, []byte(format.GenericSchema())}, {name, own}} {
		path := filepath.Join(c.Dir, f.name)
		if err := os.WriteFile(path, f.content, 0o644); err != nil {
			return fmt.Errorf("write schema: %w", err)
		}
		if _, err := fmt.Fprintln(streams.Out, path); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}
