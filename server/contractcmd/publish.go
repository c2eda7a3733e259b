package contractcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"schakel/server/cli"
)

// Publish keeps a document in a register as a version that never
// changes. Publishing the same bytes again changes nothing.
type Publish struct {
	RegisterFlags
	ID         string `name:"id" required:"" placeholder:"ID" help:"Contract in the register."`
	AsVersion  string `placeholder:"VERSION" help:"Version to publish. Default: the one in the document."`
	Draft      bool   `help:"Upload only; someone publishes it in the portal."`
	Reason     string `placeholder:"TEXT" help:"Why it is published although it breaks what its version number promises to keep."`
	Create     bool   `help:"Make the contract when the register does not have it, with the document's title."`
	Visibility string `enum:"public,partners,internal" default:"internal" help:"With --create, who sees the contract: public, partners or internal."`
	Main       string `placeholder:"NAME" help:"The document in a zip or folder."`
	Format     string `enum:"text,json,github" default:"text" help:"How findings are printed: text, json, or github."`
	File       string `arg:"" help:"File to publish: JSON, YAML, a zip, or a folder with a document and the files it refers to; - is standard input."`
}

// Help implements kong.HelpProvider.
func (c *Publish) Help() string {
	return "The client needs the scope registry.write. Only the bytes of FILE are published: when someone replaces the draft meanwhile, the command fails. " + contractExits
}

// Run uploads a document, and publishes the draft as long as it holds those bytes.
func (c *Publish) Run(ctx context.Context, streams cli.Streams) error {
	return cli.PipelineError(c.run(ctx, streams))
}

func (c *Publish) run(ctx context.Context, streams cli.Streams) error {
	d, err := readDocument(c.File, streams.In)
	if err != nil {
		return err
	}
	r, err := c.open("registry.write")
	if err != nil {
		return err
	}
	kept, err := c.upload(ctx, r, d, streams)
	if err != nil {
		return err
	}
	if kept.Digest != d.digest() {
		return fmt.Errorf("upload %s: the register holds %s of version %s, not the %s that was sent", c.ID, kept.Digest, kept.Version, d.digest())
	}
	done := "was published before"
	if kept.Status == "draft" {
		if kept, done, err = c.publish(ctx, r, d, kept.Version, streams); err != nil {
			return err
		}
	}
	if c.Format == cli.FormatJSON {
		return cli.PrintJSON(streams.Out, map[string]string{"id": c.ID, "version": kept.Version, "status": kept.Status, "digest": kept.Digest})
	}
	fmt.Fprintf(streams.Out, "%s@%s %s (%s)\n", c.ID, kept.Version, done, kept.Digest)
	return nil
}

// keptVersion is a version as the register answers it.
type keptVersion struct {
	Version, Status, Digest string
}

// upload keeps the document as a draft, or finds it published with the same bytes.
func (c *Publish) upload(ctx context.Context, r *register, d *document, streams cli.Streams) (keptVersion, error) {
	query := url.Values{}
	for name, value := range map[string]string{"version": c.AsVersion, "main": c.Main, "fileName": c.fileName(d)} {
		if value != "" {
			query.Set(name, value)
		}
	}
	path := contractPath(c.ID) + "/versions?" + query.Encode()
	a, err := r.call(ctx, http.MethodPost, path, "application/octet-stream", d.content)
	if err == nil && a.Status == http.StatusNotFound && c.Create {
		if err := c.create(ctx, r, d); err != nil {
			return keptVersion{}, err
		}
		a, err = r.call(ctx, http.MethodPost, path, "application/octet-stream", d.content)
	}
	if err != nil {
		return keptVersion{}, err
	}
	return c.settle(a, d, "upload "+c.ID, streams.Out)
}

func (c *Publish) fileName(d *document) string {
	switch {
	case c.File == "-":
		return ""
	case d.folder:
		return filepath.Base(d.name) + ".zip"
	}
	return filepath.Base(c.File)
}

// create makes the contract that the register does not have.
func (c *Publish) create(ctx context.Context, r *register, d *document) error {
	if err := d.parse(c.Main); err != nil {
		return err
	}
	if d.read == nil {
		return fmt.Errorf("%s: %s", d.place(d.findings[0]), d.findings[0].Detail)
	}
	doc := d.read.Document
	title := doc.Title
	if title == "" {
		title = c.ID
	}
	body, err := json.Marshal(map[string]string{"id": c.ID, "kind": string(doc.Kind), "title": title, "visibility": c.Visibility})
	if err != nil {
		return fmt.Errorf("make contract: %w", err)
	}
	a, err := r.call(ctx, http.MethodPost, "/contracts", "application/json", body)
	// Someone else may have made it meanwhile.
	if err == nil && a.Status != http.StatusCreated && a.Status != http.StatusConflict {
		err = fmt.Errorf("make contract %s: %w", c.ID, a.Refusal())
	}
	return err
}

// publish turns a draft into an immutable version; done describes the result.
func (c *Publish) publish(ctx context.Context, r *register, d *document, version string, streams cli.Streams) (kept keptVersion, done string, err error) {
	path := versionPath(c.ID, version)
	if c.Draft {
		a, err := r.call(ctx, http.MethodGet, path, "", nil)
		if err != nil {
			return kept, "", err
		}
		kept, err = c.settle(a, d, "read "+c.ID, streams.Out)
		return kept, "is kept as a draft", err
	}
	body, err := json.Marshal(map[string]string{"reason": c.Reason})
	if err != nil {
		return kept, "", fmt.Errorf("publish contract: %w", err)
	}
	a, err := r.callIf(ctx, http.MethodPost, path+"/publication", "application/json", body, strconv.Quote(d.digest()))
	if err != nil {
		return kept, "", err
	}
	kept, err = c.settle(a, d, "publish "+c.ID+"@"+version, streams.Out)
	done = "published"
	if kept.Status == "draft" {
		done = "is sent in: an administrator publishes it"
	}
	return kept, done, err
}

// settle reads an answer about a version. What the register found in the document
// is printed, and a cli.FoundError; other refusals are plain errors.
func (c *Publish) settle(a cli.Answer, d *document, doing string, out io.Writer) (kept keptVersion, err error) {
	switch {
	case a.Status >= 200 && a.Status < 300:
		if err := json.Unmarshal(a.Body, &kept); err != nil || kept.Version == "" {
			return kept, errors.Join(fmt.Errorf("%s: the answer is no version of a contract", doing), err)
		}
		return kept, nil
	case a.Status != http.StatusBadRequest && a.Status != http.StatusConflict && a.Status != http.StatusPreconditionFailed:
		return kept, fmt.Errorf("%s: %w", doing, a.Refusal())
	}
	p := a.Problem()
	if err := printProblem(out, c.Format, d, p); err != nil {
		return kept, err
	}
	return kept, cli.FoundError(strings.TrimSpace(fmt.Sprintf("%s: refused: %s", doing, p.Detail)))
}

// printProblem prints what the register found in a document.
func printProblem(w io.Writer, format string, d *document, p cli.Problem) error {
	if format == cli.FormatJSON {
		return cli.PrintJSON(w, map[string]any{"file": d.name, "code": p.Code, "detail": p.Detail, "errors": append([]cli.ProblemError{}, p.Errors...)})
	}
	for _, e := range p.Errors {
		if e.Severity == "" {
			e.Severity = "error"
		}
		if format == cli.FormatGitHub {
			fmt.Fprintln(w, workflowCommand(e.Severity, d.name, e.Line, e.Column, e.Code, e.Detail))
			continue
		}
		where := d.name
		if e.Line > 0 {
			where = fmt.Sprintf("%s:%d:%d", d.name, e.Line, e.Column)
		}
		fmt.Fprintf(w, "%s: %s %s: %s\n", where, e.Severity, e.Code, e.Detail)
	}
	return nil
}
