package contracts

import (
	"context"
	"path"
	"strconv"
	"strings"
	"time"

	"schakel/registry"
	"schakel/registry/contracts/bundle"
	"schakel/registry/contracts/contract"
)

// fetchTime bounds how long an upload waits for what it refers to; the answer must be out within a minute.
const fetchTime = 40 * time.Second

// fetchReferences makes an upload that asks for it a zip with what it refers to at addresses, and counts what was fetched.
// It needs no turn: it waits for other servers most of the time.
func (c *Contracts) fetchReferences(ctx context.Context, actor registry.Actor, in Upload) (Upload, int, error) {
	if !in.Fetch {
		return in, 0, nil
	}
	http, err := c.fetcher(ctx, actor)
	if err != nil {
		return in, 0, err
	}
	leave, err := c.fetches.take(ctx)
	if err != nil {
		return in, 0, err
	}
	defer leave()
	made, findings, err := bundle.Make(ctx, bundle.Config{HTTP: http, Now: c.cfg.Now, TotalTimeout: fetchTime},
		bundle.Source{Content: in.Content, Name: in.FileName, Main: strings.TrimSpace(in.Main)})
	if err != nil {
		return in, 0, err
	}
	if len(findings) > 0 {
		return in, 0, &InvalidDocumentError{Findings: findings}
	}
	if len(made.Fetched) == 0 {
		return in, 0, nil
	}
	if c.cfg.MaxDocumentBytes > 0 && int64(len(made.Zip)) > c.cfg.MaxDocumentBytes {
		return in, 0, &InvalidDocumentError{Findings: []contract.Finding{{
			Severity: contract.SeverityError, Code: "fetch-too-large", Line: 1, Column: 1,
			Detail: "With all that the document refers to, it is over the size that this register takes.", Remedy: "Split the contract, or refer to less.",
		}}}
	}
	if name := in.FileName; name != "" && !contract.IsArchive(in.Content) {
		in.FileName = strings.TrimSuffix(name, path.Ext(name)) + ".zip"
	}
	if !contract.IsArchive(in.Content) {
		in.Main = ""
	}
	in.Content = made.Zip
	return in, len(made.Fetched), nil
}

// fetcher is the client for the references of an actor's document. Only the own organisation may read what stands at private
// addresses that the installation allows: the document shows it to whoever uploads.
func (c *Contracts) fetcher(ctx context.Context, actor registry.Actor) (bundle.Doer, error) {
	reader, err := c.maintainer(ctx, actor)
	if err != nil {
		return nil, err
	}
	http := c.cfg.PublicHTTP
	if reader.Administrator || actor.Administrator {
		http = c.cfg.MirrorHTTP
	}
	if http == nil {
		return nil, &registry.Error{Code: registry.CodeForbidden, Message: "This installation fetches nothing for you. Upload a zip with all that the document refers to; schakel contract bundle makes one."}
	}
	return http, nil
}

// countText writes a count for the audit trail, and nothing for none.
func countText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
