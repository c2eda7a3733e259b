package mutationcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"schakel/server/cli"
)

// Publish sends files of mutations to a Schakel, each under a key of its own content, so that running it again
// goes on where it was cut (MUT-22, MUT-29).
type Publish struct {
	Credentials
	URL           string        `name:"url" required:"" placeholder:"URL" help:"Dataset to publish in, as https://host/mutations/v1/datasets/bgt."`
	Kind          string        `env:"-" enum:"auto,groups,delta,initial" default:"auto" help:"What a file holds: groups, delta, initial, or auto for what its header says."`
	ReplaceReason string        `env:"-" placeholder:"TEXT" help:"With an initial load: replace the history that is there, and tell its followers why they begin anew."`
	As            string        `env:"-" enum:"auto,xml,zip,json,ndjson" default:"auto" help:"Form of the files: xml, zip, json, ndjson (one group a line), or auto to look into them."`
	Key           string        `env:"-" placeholder:"UUID" help:"Idempotency-Key (UUIDv4) of a single file. Default: one that follows from the dataset and the bytes of the file; for standard input a new one."`
	MaxTime       time.Duration `default:"5m" help:"How long to keep trying while nothing gets further, because the other side is busy or unreachable."`
	Quiet         bool          `env:"-" help:"Do not tell each second how far it is."`
	JSON          bool          `name:"json" env:"-" help:"Print the report as JSON."`
	Files         []string      `arg:"" name:"file" help:"Files in the order in which they are published: XML of the format, zips of deliveries, or groups as JSON or NDJSON; - is one on standard input."`
}

// Help implements kong.HelpProvider.
func (c *Publish) Help() string {
	return "The client needs the scope mutations.publish. Files are sent as a stream, whatever their size; groups are taken in one after the other, each whole or not at all. " +
		"When the line is cut the file is sent again and goes on behind the groups that are in; so does running the same command again, also after everything was published: that changes nothing. " +
		"Standard input can be read once; the key that is told goes on with it. After a refusal, mend the group that is named and run again with --key and the key that is told: what is in is passed over when it is unchanged. " +
		"Exit codes: 0 all groups of all files are in; 1 a file was refused or could not be finished, the message says why and how many groups are in, and files after it were not sent; 2 wrong flags, or a file that cannot be opened."
}

// CheckFlags checks what flags cannot say one by one.
func (c *Publish) CheckFlags() error {
	if err := cli.CheckURL(c.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if u, err := url.Parse(c.URL); err != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("--url: must end with the dataset, without ? and #")
	}
	if id, err := uuid.Parse(c.Key); c.Key != "" && (err != nil || id.Version() != 4 || len(c.Key) != 36) {
		return errors.New("--key must be a UUID of version 4")
	}
	switch {
	case c.ReplaceReason != "" && c.Kind != "initial" && c.Kind != "auto":
		return errors.New("--replace-reason goes with an initial load")
	case len(c.Files) > 1 && c.Key != "":
		return errors.New("--key is that of one file")
	case len(c.Files) > 1 && (c.ReplaceReason != "" || c.Kind == "initial"):
		return errors.New("an initial load is one file; one of many files is a zip")
	}
	return nil
}

// Run publishes the files and prints what came of it.
func (c *Publish) Run(ctx context.Context, streams cli.Streams) error {
	inputs, err := c.inputs(streams.In)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	defer closeInputs(inputs)
	token, err := c.tokens("mutations-publish", c.URL, "mutations.publish")
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	told := &toldStream{to: streams.Err}
	s := newGroupSender(c, token, told)
	report := newPublishReport(c.dataset())
	for _, in := range inputs {
		if err == nil {
			err = c.publish(ctx, s, in, report, told)
			continue
		}
		report.unsent(in)
	}
	return errors.Join(err, c.print(streams.Out, report))
}

// publish sends one file and reports it.
func (c *Publish) publish(ctx context.Context, s *groupSender, in *groupInput, report *PublishReport, told io.Writer) error {
	if err := in.identify(c); err != nil {
		report.unsent(in)
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	began := cli.Clock()
	stop := func() {}
	if !c.Quiet {
		stop = in.tell(told)
	}
	out := s.send(ctx, in)
	stop()
	out.took = cli.Clock().Sub(began)
	if !out.tells() {
		out.known = s.inside(ctx, in)
	}
	return report.add(in, out)
}

// dataset returns the address of the dataset without a slash at its end, as keys are derived from it.
func (c *Publish) dataset() string { return strings.TrimRight(c.URL, "/") }

// target returns the address to which groups are sent.
func (c *Publish) target() string {
	query := url.Values{}
	if c.Kind != "auto" {
		query.Set("kind", c.Kind)
	}
	if c.ReplaceReason != "" {
		query.Set("replaceReason", c.ReplaceReason)
	}
	if len(query) == 0 {
		return c.dataset() + "/mutation-groups"
	}
	return c.dataset() + "/mutation-groups?" + query.Encode()
}
