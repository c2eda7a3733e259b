package bundle

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"schakel/registry/contracts/contract"
	"schakel/templates/i18n"
)

// maxFile is the largest file that a document may be made of, in bytes.
const maxFile = 16 << 20

type got struct {
	pinned  contract.Pinned
	content []byte
	code    string // of the finding; empty when it was fetched
	why     string // the key of a text about the reference, with arguments
	args    []any
	remedy  i18n.Message
}

// fetch gets addresses and adds them to the zip, in their order. The findings are about the first that failed, in that order.
func (b *files) fetch(ctx context.Context, cfg Config, wanted []contract.Wanted) ([]contract.Pinned, []contract.Finding, error) {
	all := make([]got, len(wanted))
	turns := make(chan struct{}, cfg.Parallel)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	for i, w := range wanted {
		turns <- struct{}{}
		wait.Go(func() {
			defer func() { <-turns }()
			if all[i] = get(ctx, cfg, w.URL); all[i].code != "" && !w.Optional {
				cancel() // the others are of no use
			}
		})
	}
	wait.Wait()
	if i := firstFailure(all, wanted); i >= 0 {
		return nil, refusal(wanted[i], all[i].code, all[i].remedy, all[i].why, all[i].args...), nil
	}
	var fetched []contract.Pinned
	for i, g := range all {
		if b.has(wanted[i].URL) {
			continue // where another address was redirected to
		}
		if g.code != "" {
			b.urls[wanted[i].URL] = true // the document is complete without it and names the address
			continue
		}
		if b.total+int64(len(g.content)) > cfg.MaxBytes {
			return nil, refusal(wanted[i], "fetch-too-large", "findings.fetch-total-remedy", "findings.fetch-total", cfg.MaxBytes), nil
		}
		g.pinned.File = b.free(g.pinned.URL, extension(g.pinned.URL, g.content))
		b.add(g.pinned.File, g.content)
		b.pin(g.pinned)
		fetched = append(fetched, g.pinned)
	}
	return fetched, nil, nil
}

// firstFailure is the first address that failed by itself, and not because another did; -1 when none failed that the document
// needs.
func firstFailure(all []got, wanted []contract.Wanted) int {
	stopped := -1
	for i, g := range all {
		switch {
		case g.code == "" || wanted[i].Optional:
		case g.code != codeStopped:
			return i
		case stopped < 0:
			stopped = i
		}
	}
	return stopped
}

// codeStopped is the finding about an address whose fetch was not finished in time.
const codeStopped = "fetch-timeout"

// get fetches one address, by way of its redirects.
func get(ctx context.Context, cfg Config, address string) got {
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	at := address
	for hop := 0; ; hop++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return got{code: "fetch-failed", why: "findings.fetch-no-address", remedy: "findings.correct-reference-remedy"}
		}
		req.Header.Set("Accept", "application/yaml, application/json, application/schema+json, text/plain;q=0.8, */*;q=0.1")
		resp, err := cfg.HTTP.Do(req)
		if err != nil {
			return unreachable(ctx, err)
		}
		next, g := read(resp, address, at)
		if next == "" {
			g.pinned.FetchedAt = cfg.Now().UTC().Truncate(time.Second).Format(time.RFC3339)
			return g
		}
		if hop == cfg.MaxRedirects {
			return got{code: "fetch-redirects", why: "findings.fetch-redirects", args: []any{cfg.MaxRedirects}, remedy: "findings.refer-to-document-remedy"}
		}
		at = next
	}
}

func unreachable(ctx context.Context, err error) got {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if ctx.Err() != nil {
		return got{code: codeStopped, why: "findings.fetch-timeout", remedy: i18n.M("findings.fetch-timeout-remedy", contract.ManifestName)}
	}
	return got{code: "fetch-failed", why: "findings.fetch-failed", args: []any{err.Error()}, remedy: i18n.M("findings.fetch-failed-remedy", contract.ManifestName)}
}

// read takes what an answer holds, or the address that it redirects to.
func read(resp *http.Response, address, at string) (next string, g got) {
	defer resp.Body.Close()
	switch status := resp.StatusCode; {
	case status >= 300 && status < 400 && resp.Header.Get("Location") != "":
		from, err := url.Parse(at)
		if err == nil {
			from, err = from.Parse(resp.Header.Get("Location"))
		}
		if err != nil {
			return "", got{code: "fetch-failed", why: "findings.fetch-redirect-no-address", remedy: "findings.refer-to-document-remedy"}
		}
		if next, ok := contract.Address(from.String()); ok && (from.Scheme == "https" || strings.HasPrefix(at, "http:")) {
			return next, got{}
		}
		return "", got{code: "fetch-redirects", why: "findings.fetch-redirect-not-https", remedy: "findings.refer-to-document-remedy"}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "", got{code: "fetch-refused", why: "findings.fetch-refused", args: []any{strconv.Itoa(status)}, remedy: i18n.M("findings.fetch-refused-remedy", contract.ManifestName)}
	case status != http.StatusOK:
		return "", got{code: "fetch-failed", why: "findings.fetch-status", args: []any{strconv.Itoa(status)}, remedy: "findings.fetch-status-remedy"}
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if !isDocument(media) {
		return "", got{code: "fetch-media-type", why: "findings.fetch-media-type", args: []any{shorten(media)}, remedy: "findings.fetch-media-type-remedy"}
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxFile+1))
	switch {
	case len(content) > maxFile:
		return "", got{code: "fetch-too-large", why: "findings.fetch-too-large", args: []any{maxFile}, remedy: "findings.fetch-too-large-remedy"}
	case err != nil:
		return "", got{code: "fetch-failed", why: "findings.fetch-partly", args: []any{shorten(err.Error())}, remedy: "findings.fetch-partly-remedy"}
	}
	g = got{content: content, pinned: contract.Pinned{URL: address, MediaType: media, Digest: contract.Digest(content)}}
	if at != address {
		g.pinned.FinalURL = at
	}
	return "", g
}

// isDocument reports whether a media type can be that of JSON, YAML, Avro or another text that contracts refer to. Servers of
// raw files often answer text/plain or application/octet-stream for all of them.
func isDocument(media string) bool {
	if strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+yaml") {
		return true
	}
	return slices.Contains([]string{
		"", "application/json", "text/json", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/vnd.yaml",
		"text/plain", "application/octet-stream", "binary/octet-stream", "application/vnd.apache.avro", "application/avro", "text/markdown",
		"application/vnd.oai.openapi", "application/vnd.aai.asyncapi", "application/protobuf", "application/x-protobuf", "text/x-protobuf",
	}, media)
}

// extension guesses the kind of a file: by its address when that tells, else by its content.
func extension(address string, content []byte) string {
	if u, err := url.Parse(address); err == nil {
		if ext := strings.ToLower(path.Ext(u.Path)); slices.Contains([]string{".json", ".yaml", ".yml", ".avsc"}, ext) {
			return ext
		}
	}
	root, format := contract.Glance(content)
	object, isObject := root.(map[string]any)
	switch {
	case format == "":
		return ".txt"
	case isObject && contract.IsAvro(object):
		return ".avsc"
	case !isObject && format == contract.FormatYAML:
		return ".txt"
	}
	return "." + format
}
