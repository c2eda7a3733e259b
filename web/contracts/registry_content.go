package contracts

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/store"
	"schakel/web/site"
)

// showOriginal answers a document byte for byte as it was uploaded, with the
// digest as a strong ETag and as Repr-Digest (RFC 9530).
func (m *handlers) showOriginal(c echo.Context) error {
	return m.serveDocument(c, uploadedFormat)
}

// formatZip is the form of an upload of several files; it cannot be converted.
const formatZip = "zip"

// uploadedFormat returns the format in which a version was uploaded.
func uploadedFormat(v store.ContractVersion) string {
	if v.Files != "" {
		return formatZip
	}
	return v.Format
}

// showContent answers a document in the form that Accept asks for, or in its own
// when it does not say.
func (m *handlers) showContent(c echo.Context) error {
	c.Response().Header().Set("Vary", "Accept")
	return m.serveDocument(c, func(v store.ContractVersion) string {
		return acceptedFormat(c.Request().Header.Values("Accept"), v.Format)
	})
}

// showContentJSON answers a document as JSON, whatever it was uploaded as.
func (m *handlers) showContentJSON(c echo.Context) error {
	return m.serveDocument(c, func(store.ContractVersion) string { return contract.FormatJSON })
}

// showContentYAML answers a document as YAML, whatever it was uploaded as.
func (m *handlers) showContentYAML(c echo.Context) error {
	return m.serveDocument(c, func(store.ContractVersion) string { return contract.FormatYAML })
}

func (m *handlers) serveDocument(c echo.Context, formatOf func(store.ContractVersion) string) error {
	reader, err := m.reader(c)
	if err != nil {
		return err
	}
	ctx, id, asked := c.Request().Context(), c.Param("contractId"), c.Param("version")
	v, err := m.Registry.Contracts.Served(ctx, reader, id, asked)
	if err != nil {
		return err
	}
	format := formatOf(v)
	documentHeaders(c.Response().Header(), id, v, format, asked)
	// The tags of the upload and of the document in it are known without reading them.
	known := v.Digest
	if format == v.Format {
		known = v.DocumentDigest()
	}
	if tag := `"sha256:` + known + `"`; (format == v.Format || format == formatZip) && site.MatchesTag(c.Request().Header, tag) {
		c.Response().Header().Set("ETag", tag)
		if err := m.noteDownload(c, id, v, false); err != nil {
			return err
		}
		return c.NoContent(http.StatusNotModified)
	}
	content, err := m.document(c, reader, id, v, format)
	if err != nil {
		return err
	}
	tag := site.SetDigests(c.Response().Header(), content)
	same := site.MatchesTag(c.Request().Header, tag)
	if err := m.noteDownload(c, id, v, !same); err != nil {
		return err
	}
	if same {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, documentType(format), content)
}

// noteDownload remembers who fetched a version, also who asked whether it changed and was told that it did not: it still
// builds on it. A download by an unknown caller counts only when the document was sent. The audit trail has what was sent.
func (m *handlers) noteDownload(c echo.Context, id string, v store.ContractVersion, sent bool) error {
	var who contracts.Downloader
	if caller, err := m.Caller(c); err == nil {
		who = caller.Downloader()
		if sent {
			if err := auditDownload(c, m.DB, m.Registry, caller.Actor(), id, v); err != nil {
				return err
			}
		}
	}
	if who.ID != "" || sent {
		m.Registry.Downloads.Note(v, who)
	}
	return nil
}

func (m *handlers) document(c echo.Context, reader registry.Reader, id string, v store.ContractVersion, format string) ([]byte, error) {
	read := m.Registry.Contracts.Document
	if format == formatZip {
		read = m.Registry.Contracts.Original
	}
	_, content, err := read(c.Request().Context(), reader, id, v.Version)
	if err != nil || format == v.Format || format == formatZip {
		return content, err
	}
	return m.converted.Get(c.Request().Context(), v.DocumentDigest(), format, content)
}

func documentType(format string) string {
	switch format {
	case contract.FormatJSON:
		return "application/json"
	case formatZip:
		return "application/zip"
	}
	return "application/yaml" // RFC 9512
}

// documentHeaders sets how the answer may be used. A document is a stranger's:
// a browser must not show it as a page.
func documentHeaders(h http.Header, id string, v store.ContractVersion, format, asked string) {
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{
		"filename": id + "-" + v.Version + "." + format,
	}))
	h.Set("Cache-Control", "private, no-cache")
	if v.Status == store.VersionDeprecated {
		h.Set("Deprecation", "@"+strconv.FormatInt(v.DeprecatedAt.Unix(), 10)) // RFC 9745
		h.Add("Link", "<"+site.ContractVersionHref(id, v.Version)+`>; rel="deprecation"; type="text/html"`)
		if !v.SunsetAt.IsZero() {
			h.Set("Sunset", v.SunsetAt.Format(http.TimeFormat)) // RFC 8594
		}
	}
	if asked != v.Version {
		form := "/content." + format
		if format == formatZip {
			form = "/original"
		}
		h.Set("Content-Location", versionPath(id, v.Version)+form)
	}
}

// acceptedFormat picks JSON or YAML by the Accept header, and otherwise when it
// asks for neither or for both alike.
func acceptedFormat(values []string, otherwise string) string {
	asJSON, asYAML := 0.0, 0.0
	for _, item := range strings.Split(strings.Join(values, ","), ",") {
		media, parameters, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, err := strconv.ParseFloat(parameters["q"], 64); err == nil {
			weight = q
		}
		switch {
		case strings.HasSuffix(media, "json"):
			asJSON = max(asJSON, weight)
		case strings.HasSuffix(media, "yaml"):
			asYAML = max(asYAML, weight)
		}
	}
	switch {
	case asJSON > asYAML:
		return contract.FormatJSON
	case asYAML > asJSON:
		return contract.FormatYAML
	}
	return otherwise
}
