package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"schakel/registry/contracts/contract"
)

// maxFile is the largest file that a document may be made of, in bytes.
const maxFile = 16 << 20

type got struct {
	pinned  contract.Pinned
	content []byte
	code    string // of the finding; empty when it was fetched
	why     string
	remedy  string
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
		return nil, refusal(wanted[i], all[i].code, all[i].why, all[i].remedy), nil
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
			return nil, refusal(wanted[i], "fetch-too-large", fmt.Sprintf("makes the files more than %d bytes together", cfg.MaxBytes), "Split the contract, or refer to less."), nil
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
			return got{code: "fetch-failed", why: "is no address that can be fetched", remedy: "Correct the reference."}
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
			return got{code: "fetch-redirects", why: fmt.Sprintf("is redirected more than %d times", cfg.MaxRedirects), remedy: "Refer to the address where the document is."}
		}
		at = next
	}
}

func unreachable(ctx context.Context, err error) got {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if ctx.Err() != nil {
		return got{code: codeStopped, why: "could not be fetched in time", remedy: "Try again later, or put the file in the zip and name its address in " + contract.ManifestName + "."}
	}
	return got{code: "fetch-failed", why: "could not be fetched: " + err.Error(), remedy: "Correct the address, or put the file in the zip and name its address in " + contract.ManifestName + "."}
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
			return "", got{code: "fetch-failed", why: "is redirected to what is no address", remedy: "Refer to the address where the document is."}
		}
		if next, ok := contract.Address(from.String()); ok && (from.Scheme == "https" || strings.HasPrefix(at, "http:")) {
			return next, got{}
		}
		return "", got{code: "fetch-redirects", why: "is redirected to an address that is not https", remedy: "Refer to the address where the document is."}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "", got{code: "fetch-refused", why: fmt.Sprintf("is not public: its server answers %d", status), remedy: "Fetch it yourself, put it in the zip and name its address in " + contract.ManifestName + "."}
	case status != http.StatusOK:
		return "", got{code: "fetch-failed", why: fmt.Sprintf("could not be fetched: its server answers %d", status), remedy: "Correct the reference, or try again later."}
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if !isDocument(media) {
		return "", got{code: "fetch-media-type", why: fmt.Sprintf("leads to %q, which is no document", shorten(media)), remedy: "Refer to the JSON or YAML itself: a page that shows a file often has another address for the file, such as \"raw\"."}
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxFile+1))
	switch {
	case len(content) > maxFile:
		return "", got{code: "fetch-too-large", why: fmt.Sprintf("leads to more than %d bytes", maxFile), remedy: "Refer to a smaller document."}
	case err != nil:
		return "", got{code: "fetch-failed", why: "could not be fetched whole: " + shorten(err.Error()), remedy: "Try again later."}
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
