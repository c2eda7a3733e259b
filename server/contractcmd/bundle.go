package contractcmd

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"schakel/delivery/outbound"
	"schakel/registry/contracts/bundle"
	"schakel/registry/contracts/contract"
	"schakel/server/cli"
)

// Bundle fetches what a document refers to at addresses, once, and writes a zip of all of it.
type Bundle struct {
	cli.OutboundFlags
	Output   string        `short:"o" required:"" placeholder:"FILE" help:"Zip to write."`
	Main     string        `placeholder:"NAME" help:"The document in a zip or folder. Default: the only file at its top, or the one called openapi or asyncapi."`
	Format   string        `enum:"text,json,github" default:"text" help:"How findings are printed: text, json, or github."`
	MaxFiles int           `default:"5000" help:"How many addresses are fetched at most; a zip holds 5000 files."`
	MaxTime  time.Duration `default:"5m" help:"How long all fetches may take together; one may take 30s."`
	Source   string        `arg:"" name:"source" help:"File to bundle: JSON, YAML, a zip, a folder, an https address, or - for standard input."`
}

// Help implements kong.HelpProvider.
func (c *Bundle) Help() string {
	return "Each $ref to an https address is fetched, and so is what the fetched files refer to; so are the documents of operationRef, and examples of externalValue, which become a value, or a warning when they cannot be fetched as JSON, YAML or text. The zip holds the document, the files, and " +
		contract.ManifestName + ", which tells for each address its file, when it was fetched and its SHA-256. What a zip holds already is not fetched again, " +
		"so the zip can be bundled anew when its document changes; delete an entry to fetch it again. A zip that would hold the same files is left as it is. " +
		"Only public addresses are asked unless --allow-outbound says otherwise, and up to 5 redirects are followed. " + contractExits
}

// Run fetches and writes.
func (c *Bundle) Run(ctx context.Context, streams cli.Streams) error {
	return cli.PipelineError(c.run(ctx, streams))
}

func (c *Bundle) run(ctx context.Context, streams cli.Streams) error {
	guard, err := c.Guard(outbound.Config{MaxResponseBytes: 16<<20 + 1})
	if err != nil {
		return err
	}
	cfg := bundle.Config{HTTP: guard.HTTPClient(), MaxFiles: c.MaxFiles, TotalTimeout: c.MaxTime}
	d, from, err := c.read(ctx, cfg, streams)
	if err != nil {
		return err
	}
	made := bundle.Result{}
	if d.findings == nil {
		made, d.findings, err = bundle.Make(ctx, cfg, bundle.Source{Content: d.content, Name: d.name, Main: c.Main, From: from})
		if err != nil {
			return fmt.Errorf("bundle %s: %w", d.name, err)
		}
	}
	if d.findings != nil {
		if err := printJudgements(streams.Out, c.Format, []judgement{{document: d, findings: d.findings, score: -1}}); err != nil {
			return err
		}
		return cli.FoundError(d.name + " cannot be bundled")
	}
	return c.keep(made, d, streams)
}

// read gets the document, from an address when it is one; findings say why that failed.
func (c *Bundle) read(ctx context.Context, cfg bundle.Config, streams cli.Streams) (d *document, from contract.Pinned, err error) {
	address, isAddress := contract.Address(c.Source)
	if !isAddress {
		d, err = readDocument(c.Source, streams.In)
		return d, from, err
	}
	d = &document{name: c.Source}
	d.content, from, d.findings = bundle.Document(ctx, cfg, address)
	if u, err := url.Parse(address); err == nil && d.findings == nil {
		d.name = path.Base(u.Path)
	}
	return d, from, nil
}

// keep writes the zip, unless it is there already, and prints its contents. What the document still refers to in vain is
// printed, and an error.
func (c *Bundle) keep(made bundle.Result, d *document, streams cli.Streams) error {
	out := streams.Out
	if c.Format == cli.FormatJSON {
		out = streams.Err
	}
	done := "written"
	if before, err := os.ReadFile(c.Output); err == nil && bundle.Same(before, made.Zip) {
		made.Zip, done = before, "unchanged"
	} else if err := replaceFile(c.Output, made.Zip); err != nil {
		return err
	}
	for _, p := range made.Fetched {
		fmt.Fprintf(out, "fetched %s (%s)\n", p.URL, p.Digest)
	}
	result := &document{name: c.Output, content: made.Zip}
	if err := result.parse(c.mainIn(d)); err != nil {
		return err
	}
	j := judge(result, false)
	if err := printJudgements(streams.Out, c.Format, []judgement{j}); err != nil {
		return err
	}
	if missing := contract.Missing(j.findings); len(missing) > 0 || result.read == nil {
		return cli.FoundError(fmt.Sprintf("%s: %s, but %d references lead to nothing in it", c.Output, done, len(missing)))
	}
	fmt.Fprintf(out, "%s: %s, %d fetched (%s)\n", c.Output, done, len(made.Fetched), result.digest())
	return nil
}

// mainIn is the name of the document in the zip that was made; the manifest tells that of a document by itself.
func (c *Bundle) mainIn(d *document) string {
	if d.folder || contract.IsArchive(d.content) {
		return strings.TrimSpace(c.Main)
	}
	return ""
}
