package site

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
)

// exportsAtOnce bounds the exports that the people of one partner, or one administrator, run at a time.
const exportsAtOnce = 2

// exportPatience bounds how long the reader of an export may take for what lies in one batch of rows.
const exportPatience = 2 * time.Minute

// Export describes a list that is sent as a file: which it is, whose, and its columns in English, which stay as they are.
type Export struct {
	// Name begins the name of the file and stands in the audit trail, such as "deliveries".
	Name string
	// PartnerID is whose rows these are alone; empty for everybody's.
	PartnerID string
	Columns   []string
}

// SendExport streams rows as CSV or, with format=ndjson, as a JSON object a line. Rows calls write for each; a value is a string, an
// int64, or a store.Time, which is written in UTC as RFC 3339 asks and left empty when it is not set. It holds no more than a few rows
// in memory. An export that fails halfway ends the connection, so that nobody takes its part for the whole.
func (p *Portal) SendExport(c echo.Context, e Export, rows func(write func(values ...any) error) error) error {
	account := AccountOf(c)
	who := cmp.Or(account.PartnerID, account.ID)
	if !p.exports.Take(who) {
		return RetryLater(http.StatusTooManyRequests, "too-many-counts", "site.too-many-exports", 10*time.Second)
	}
	defer p.exports.Give(who)
	format := "csv"
	if c.QueryParam("format") == "ndjson" {
		format = "ndjson"
	}
	ctx := c.Request().Context()
	filter := url.Values{}
	for name, values := range c.QueryParams() {
		if name != "format" && name != "page" && name != "before" && values[0] != "" {
			filter[name] = values[:1]
		}
	}
	err := p.DB.Write(ctx, func(tx *store.Tx) error {
		return registry.Record(ctx, tx, Actor(c), registry.ActionListExported, registry.ObjectOf("list", e.Name, e.Name, e.PartnerID),
			registry.Details{"format": format, "filter": FirstLine(filter.Encode(), MaxFilterText)})
	})
	if err != nil {
		return err
	}
	w := newExportWriter(c, format, e, p.Cfg.Now())
	lines := 0
	err = rows(func(values ...any) error {
		if lines++; lines%exportBatch == 0 {
			if err := w.flush(); err != nil {
				return err
			}
			if err := p.ExtendDeadlines(c, exportPatience); err != nil {
				return err
			}
		}
		return w.row(values)
	})
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		p.LogFailure(c, fmt.Errorf("export %s: %w", e.Name, err))
		panic(http.ErrAbortHandler)
	}
	return nil
}

// exportBatch counts the rows after which an export sends what it has.
const exportBatch = 250

type exportWriter struct {
	e    Export
	out  *bufio.Writer
	http *http.ResponseController
	csv  *csv.Writer // nil for NDJSON
}

func newExportWriter(c echo.Context, format string, e Export, now time.Time) *exportWriter {
	h := c.Response().Header()
	h.Set("Content-Type", map[string]string{"csv": "text/csv; charset=utf-8; header=present", "ndjson": "application/x-ndjson"}[format])
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="schakel-%s-%s.%s"`, e.Name, now.UTC().Format("20060102-150405"), format))
	h.Set("Content-Security-Policy", DataCSP)
	h.Set("X-Accel-Buffering", "no")
	c.Response().WriteHeader(http.StatusOK)
	w := &exportWriter{e: e, out: bufio.NewWriterSize(c.Response(), 32<<10), http: http.NewResponseController(c.Response())}
	if format == "csv" {
		_, _ = w.out.WriteString("\ufeff") // without it spreadsheets take UTF-8 for something else
		w.csv = csv.NewWriter(w.out)
		w.csv.UseCRLF = true // RFC 4180
		_ = w.csv.Write(e.Columns)
	}
	return w
}

func (w *exportWriter) row(values []any) error {
	if w.csv == nil {
		return w.object(values)
	}
	cells := make([]string, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case string:
			cells[i] = guarded(v)
		case int64:
			cells[i] = strconv.FormatInt(v, 10)
		case store.Time:
			cells[i] = exportTime(v)
		}
	}
	return w.csv.Write(cells)
}

// guarded puts an apostrophe before text that a spreadsheet would take for a formula.
func guarded(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

func exportTime(t store.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func (w *exportWriter) object(values []any) error {
	for i, value := range values {
		if t, ok := value.(store.Time); ok {
			value = nil
			if !t.IsZero() {
				value = exportTime(t)
			}
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w.out, `%s%q:%s`, map[bool]string{true: "{", false: ","}[i == 0], w.e.Columns[i], text)
	}
	_, err := w.out.WriteString("}\n")
	return err
}

func (w *exportWriter) flush() error {
	if w.csv != nil {
		w.csv.Flush()
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	return w.http.Flush()
}

// ExportHref is the address that exports the list of this page, with its filter.
func ExportHref(c echo.Context, list string) string {
	q := c.Request().URL.Query()
	for _, name := range []string{"page", "perPage", "before", "format"} {
		q.Del(name)
	}
	return list + "/export?" + q.Encode()
}

// FilterProblem refuses an export by a filter that cannot be used; its list explains each fault beside the field.
func FilterProblem(wrong FormErrors) error {
	for _, text := range SortedFields(wrong) {
		return echo.NewHTTPError(http.StatusUnprocessableEntity, text.Text)
	}
	return nil
}
