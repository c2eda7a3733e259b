// Package oinregister reads a list of organisations by their OIN, such as an extract of the register of Logius, from a file or an
// address, and gives the name that belongs to an OIN.
//
// A list is CSV with a heading, separated by commas, semicolons or tabs, or JSON: an object of names by OIN, or a list of objects. It is
// read again when it is an hour old, or a minute after it could not be read; until then the last one that could be read counts.
package oinregister

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"schakel/registry"
)

const (
	freshFor = time.Hour
	retry    = time.Minute
	timeout  = 20 * time.Second
	maxBytes = 32 << 20 // all of the register of Logius is a tenth of it
)

// Register is one list. It is safe for concurrent use.
type Register struct {
	source string
	http   registry.Doer
	now    func() time.Time

	mu     sync.Mutex
	names  map[string]string
	next   time.Time // when it is read again
	failed error
}

// New makes the register of a file or of an https address, which http fetches. Nothing is read yet.
func New(source string, http registry.Doer, now func() time.Time) *Register {
	return &Register{source: source, http: http, now: now}
}

var _ registry.OINRegister = (*Register)(nil)

// OrganisationOf implements registry.OINRegister. It fails only as long as no list could be read. While a list is read again, others go
// on with the one that is there.
func (r *Register) OrganisationOf(ctx context.Context, oin string) (name string, known bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); !now.Before(r.next) {
		r.next = now.Add(retry)
		if r.names == nil {
			r.take(r.read(ctx))
		} else {
			r.mu.Unlock()
			names, err := r.read(ctx)
			r.mu.Lock()
			r.take(names, err)
		}
	}
	if r.names == nil {
		return "", false, r.failed
	}
	name, known = r.names[oin]
	return name, known, nil
}

// take keeps a list that could be read. The caller holds the mutex.
func (r *Register) take(names map[string]string, err error) {
	now := r.now()
	if r.next = now.Add(retry); err == nil {
		r.names, r.next = names, now.Add(freshFor)
	}
	r.failed = registry.Wrap("read register of OINs", err)
}

// read reads the list, also when whoever asked goes away.
func (r *Register) read(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	content, err := r.content(ctx)
	if err != nil {
		return nil, err
	}
	return Parse(content)
}

func (r *Register) content(ctx context.Context) ([]byte, error) {
	if !IsAddress(r.source) {
		return os.ReadFile(r.source)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.source, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/csv, application/json")
	answer, err := r.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", r.source, answer.Status)
	}
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxBytes+1))
	if err == nil && len(content) > maxBytes {
		err = fmt.Errorf("more than %d bytes", maxBytes)
	}
	return content, err
}

// IsAddress reports whether a source is an address, and no file.
func IsAddress(source string) bool {
	return strings.HasPrefix(source, "https://") || strings.HasPrefix(source, "http://")
}

// Parse reads a list: the names of organisations by their OIN. An entry without an OIN or without a name is left out; a list without any
// entry is refused.
func Parse(content []byte) (map[string]string, error) {
	content = bytes.TrimSpace(bytes.TrimPrefix(content, []byte("\ufeff")))
	names := make(map[string]string)
	var err error
	if len(content) > 0 && (content[0] == '{' || content[0] == '[') {
		err = parseJSON(content, names)
	} else {
		err = parseCSV(content, names)
	}
	if err == nil && len(names) == 0 {
		err = errors.New("the list holds no OIN with a name")
	}
	return names, err
}

func add(names map[string]string, oin, name string) {
	oin, name = strings.ToUpper(strings.TrimSpace(oin)), registry.CleanName(name)
	if len(oin) == 20 && name != "" {
		names[oin] = name
	}
}

// Headings of the columns, and names of the members, that hold an OIN and a name; without capitals, spaces and punctuation.
var (
	oinHeadings  = []string{"oin", "oinnummer", "organisatieidentificatienummer"}
	nameHeadings = []string{"name", "naam", "navn", "naamorganisatie", "organisatie", "organisatienaam", "organisation", "organisationname"}
)

func isHeading(text string, of []string) bool {
	return slices.Contains(of, strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(strings.TrimSpace(text))))
}

func parseJSON(content []byte, names map[string]string) error {
	if content[0] == '{' {
		byOIN := make(map[string]string)
		if err := json.Unmarshal(content, &byOIN); err != nil {
			return fmt.Errorf("read as JSON: %w", err)
		}
		for oin, name := range byOIN {
			add(names, oin, name)
		}
		return nil
	}
	var rows []map[string]any
	if err := json.Unmarshal(content, &rows); err != nil {
		return fmt.Errorf("read as JSON: %w", err)
	}
	for _, row := range rows {
		var oin, name string
		for member, value := range row {
			if text, ok := value.(string); ok && isHeading(member, oinHeadings) {
				oin = text
			} else if ok && isHeading(member, nameHeadings) {
				name = text
			}
		}
		add(names, oin, name)
	}
	return nil
}

func parseCSV(content []byte, names map[string]string) error {
	heading, _, _ := bytes.Cut(content, []byte("\n"))
	reader := csv.NewReader(bytes.NewReader(content))
	for _, comma := range ";\t" {
		if bytes.ContainsRune(heading, comma) {
			reader.Comma = comma
			break
		}
	}
	reader.FieldsPerRecord, reader.LazyQuotes = -1, true
	rows, err := reader.ReadAll()
	if err != nil {
		return fmt.Errorf("read as CSV: %w", err)
	}
	if len(rows) == 0 {
		return nil
	}
	oin := slices.IndexFunc(rows[0], func(h string) bool { return isHeading(h, oinHeadings) })
	name := slices.IndexFunc(rows[0], func(h string) bool { return isHeading(h, nameHeadings) })
	if oin < 0 || name < 0 {
		return errors.New("read as CSV: the first line names no columns oin and name")
	}
	for _, row := range rows[1:] {
		if len(row) > max(oin, name) {
			add(names, row[oin], row[name])
		}
	}
	return nil
}
