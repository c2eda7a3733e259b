package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"
)

// A shard is a PostgreSQL database with the nodes that share it: an installation of its own, with its own organisations. The model takes the
// processor time of an event as it was measured with one node and with two, and lets it grow by the same amount with each
// further node. It knows processors alone: that disks and networks keep up must be measured where they are.

// nodeSuffix marks the scenario with two nodes beside the one of the same name with one.
const nodeSuffix = ", 2 nodes"

// mostNodes bounds the nodes of a shard: further from two than this nothing was ever measured.
const mostNodes = 16

// modelOptions describes the machines and the load.
type modelOptions struct {
	Rate       int     // events a second, each delivered to one endpoint
	Processors int     // of each machine
	Busy       float64 // share of them that may be in use, the rest being for peaks
}

// cost is the processor time of an event in microseconds.
type cost struct{ node, database float64 }

// figures are the costs of one scenario with one node and with two.
type figures struct {
	name     string
	one, two cost
}

// at extrapolates to a number of nodes.
func (f figures) at(nodes int) cost {
	further := float64(nodes - 1)
	return cost{
		node:     f.one.node + further*max(0, f.two.node-f.one.node),
		database: f.one.database + further*max(0, f.two.database-f.one.database),
	}
}

// shard is one database with its nodes, at full load.
type shard struct {
	nodes      int
	rate       float64 // events a second, all nodes together
	bottleneck string
}

// shardOf returns the shard of the fewest nodes that carries all one can, within a twentieth.
func (o modelOptions) shardOf(f figures) shard {
	all := float64(o.Processors) * 1e6 // microseconds of processor time in a second
	var best shard
	for n := 1; n <= mostNodes; n++ {
		c := f.at(n)
		byNodes, byDatabase := float64(n)*all*o.Busy/c.node, all*o.Busy/c.database
		s := shard{nodes: n, rate: min(byNodes, byDatabase), bottleneck: "nodes"}
		if byDatabase <= byNodes {
			s.bottleneck = "database"
		}
		if s.rate > best.rate*1.05 {
			best = s
		}
	}
	return best
}

// pairs finds the scenarios that were measured with one node and with two.
func pairs(r report) ([]figures, error) {
	byName := map[string]result{}
	for _, line := range r.Results {
		byName[line.Name] = line
	}
	var found []figures
	for _, line := range r.Results {
		two, measured := byName[line.Name+nodeSuffix]
		if !measured {
			continue
		}
		f := figures{line.Name, cost{line.Processor, line.Database}, cost{two.Processor, two.Database}}
		if min(f.one.node, f.one.database, f.two.node, f.two.database) <= 0 {
			return nil, fmt.Errorf("%q was measured without the processor time of nodes or database", line.Name)
		}
		found = append(found, f)
	}
	if len(found) == 0 {
		return nil, errors.New(`nothing there was measured with one node and with two; make the file with --only "PostgreSQL, single" --json FILE`)
	}
	return found, nil
}

// model prints what a rate takes, by the figures in a file that --json wrote.
func model(out io.Writer, file string, o modelOptions) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--model: %w", err)
	}
	var r report
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("--model: %s is no file of --json: %w", file, err)
	}
	all, err := pairs(r)
	if err != nil {
		return fmt.Errorf("--model: %s: %w", file, err)
	}
	fmt.Fprintf(out, "Measured on %s, %d s each.\nMachines with %d processors like those, of which at most %.0f%% is in use; an event goes to one endpoint.\n\n",
		cmp.Or(strings.TrimSpace(r.Machine), "an unknown machine"), r.Seconds, o.Processors, 100*o.Busy)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "by the figures of\tevents/s\tdatabases\tnodes each\tnodes\tCPU of a node\tof a database\tfirst to be full\ta database carries")
	for _, f := range all {
		s := o.shardOf(f)
		for _, rate := range []int{o.Rate / 100, o.Rate / 10, o.Rate} {
			if rate == 0 {
				continue
			}
			databases := int(math.Ceil(float64(rate) / s.rate))
			nodes := s.nodes
			if databases == 1 {
				nodes = o.enough(f, float64(rate))
			}
			load, c := float64(rate)/float64(databases), f.at(nodes)
			full := float64(o.Processors) * 1e6
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.0f%%\t%.0f%%\t%s\t%.0f/s\n", f.name, rate, databases, nodes, databases*nodes,
				100*load*c.node/full/float64(nodes), 100*load*c.database/full, s.bottleneck, s.rate)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprint(out, `
Databases are installations of their own. Spread organisations over them, the receiving ones first: their subscriptions and deliveries lie together.
An organisation too large for one is split by endpoint. A second node costs what was measured, and each further one the same again.
Not in the model: disks, networks, and events that go to several endpoints, each of which costs about what delivering one does.
`)
	return err
}

// enough returns the fewest nodes of one database that carry a rate which it can carry.
func (o modelOptions) enough(f figures, rate float64) int {
	for n := 1; n < mostNodes; n++ {
		if float64(n)*float64(o.Processors)*1e6*o.Busy/f.at(n).node >= rate {
			return n
		}
	}
	return mostNodes
}
