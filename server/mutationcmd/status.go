package mutationcmd

import (
	"context"
	"fmt"
	"text/tabwriter"

	"schakel/delivery/mutation/replica"
	"schakel/server/cli"
)

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
