package mirror

import (
	"context"
	"net/url"
	"path"
	"strings"
)

// list reads a plain list of addresses of documents. Which version each is, its document tells; addresses under the same id
// are versions of one contract.
type list struct {
	*client
	ids  []string
	urls map[string][]string // by id
}

// Entry is a line of a list of addresses.
type Entry struct{ ID, URL string }

// ParseList reads the lines of a list of addresses: an address, or the id of a contract and an address. An address alone
// gets an id that is made of it.
func ParseList(lines []string) ([]Entry, error) {
	var entries []Entry
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) > 2 {
			return nil, faulty(nil, "mirror.list-line", line[:min(len(line), 200)])
		}
		u, err := ParseURL(words[len(words)-1])
		if err != nil {
			return nil, err
		}
		e := Entry{ID: idOf(u), URL: u.String()}
		if len(words) == 2 {
			e.ID = words[0]
		}
		entries = append(entries, e)
	}
	if len(entries) > maxVersions {
		return nil, faulty(nil, "mirror.list-too-long", maxVersions)
	}
	return entries, nil
}

// idOf makes an id of the address of a document: its path without the extension.
func idOf(u *url.URL) string {
	name := strings.Trim(strings.TrimSuffix(u.Path, path.Ext(u.Path)), "/")
	if name == "" {
		return u.Hostname()
	}
	return name
}

func newList(c *client, lines []string) (Driver, error) {
	entries, err := ParseList(lines)
	if err != nil {
		return nil, err
	}
	l := &list{client: c, urls: map[string][]string{}}
	for _, e := range entries {
		if _, known := l.urls[e.ID]; !known {
			l.ids = append(l.ids, e.ID)
		}
		l.urls[e.ID] = append(l.urls[e.ID], e.URL)
	}
	if len(entries) > 0 {
		// The key is for the host of the first address alone.
		if c.base, err = ParseURL(entries[0].URL); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Contracts implements Driver.
func (l *list) Contracts(context.Context) ([]Contract, error) {
	rows := make([]Contract, len(l.ids))
	for i, id := range l.ids {
		rows[i] = Contract{ID: id, URL: l.urls[id][0]}
	}
	return rows, nil
}

// Versions implements Driver.
func (l *list) Versions(_ context.Context, c Contract) ([]Version, bool, error) {
	var rows []Version
	for _, u := range l.urls[c.ID] {
		rows = append(rows, Version{URL: u, Status: Published})
	}
	return rows, false, nil
}

// Document implements Driver.
func (l *list) Document(ctx context.Context, v Version, tag string) (Document, error) {
	return l.document(ctx, v, tag)
}
