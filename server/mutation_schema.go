package main

import (
	"context"

	"schakel/delivery/mutation/format"
)

// MutationsSchemaCmd writes the XML schema of a dataset of one's own (MUT-62).
type MutationsSchemaCmd struct {
	Namespace string `required:"" placeholder:"URI" help:"Namespace of the dataset's own elements."`
	Prefix    string `default:"d" help:"Prefix for it."`
	Root      string `required:"" placeholder:"NAME" help:"Element around the files, such as bgtMutaties."`
	Object    string `default:"object" help:"Element around each object, whatever is in it, where objects are published in another one than object."`
	Generic   string `default:"mutatielevering-generiek-2.0.xsd" placeholder:"LOCATION" help:"Where the schema of the format itself is, which PDOK publishes."`
}

// Help is what --help adds.
func (c *MutationsSchemaCmd) Help() string {
	return "Prints the schema against which xmllint or another validator can hold the files of such a dataset: a root element around the message, and an element that stands for the objects of the format and takes any object in. Deliveries have an element named object around each object that was published without one."
}

// Run prints the schema.
func (c *MutationsSchemaCmd) Run(_ context.Context, streams Streams) error {
	err := format.WriteSchema(streams.Out, format.Name{Prefix: c.Prefix, Space: c.Namespace, Local: c.Root}, c.Object, c.Generic)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return nil
}
