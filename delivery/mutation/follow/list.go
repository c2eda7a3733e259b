package follow

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// listed is a delta in a list. What PDOK's API does not tell is empty.
type listed struct {
	ID         string `json:"id"`
	TimeWindow struct {
		From time.Time `json:"from"`
		To   time.Time `json:"to"`
	} `json:"timeWindow"`
	Number   int64   `json:"number"`
	Previous *string `json:"previousId"`
	Lineage  string  `json:"lineage"`
	Links    struct {
		Content  link `json:"content"`
		Manifest link `json:"manifest"`
	} `json:"_links"`

	from *url.URL // of the list, which links may be relative to
}

type link struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
}

// perPage is how many deltas are asked at once, and mostPages how many times that at most.
const (
	perPage   = 100
	mostPages = 10_000
)

// list gets deltas, oldest first (MUT-50): those after one, or all, over as many pages as there are.
func (c *client) list(ctx context.Context, path, after string, pages int) ([]listed, error) {
	u := c.path(path)
	query := u.Query()
	query.Set("page", "1")
	query.Set("count", strconv.Itoa(perPage))
	if after != "" {
		query.Set("after-delta-id", after)
	}
	u.RawQuery = query.Encode()
	var all []listed
	for n := 0; u != nil && n < min(pages, mostPages); n++ {
		page, next, err := c.page(ctx, u)
		if err != nil {
			return nil, fmt.Errorf("list deltas: %w", err)
		}
		if len(page) == 0 {
			break
		}
		all, u = append(all, page...), next
	}
	return all, nil
}

func (c *client) page(ctx context.Context, u *url.URL) (page []listed, next *url.URL, err error) {
	a, err := c.ask(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, nil, err
	}
	var doc struct {
		Deltas []listed `json:"deltas"`
		Links  []link   `json:"_links"`
	}
	if err := a.read(&doc); err != nil {
		return nil, nil, err
	}
	for i := range doc.Deltas {
		if doc.Deltas[i].from = a.from; doc.Deltas[i].ID == "" {
			return nil, nil, fmt.Errorf("delta %d of the list has no id", i+1)
		}
	}
	for _, l := range doc.Links {
		if l.Rel != "next" {
			continue
		}
		if next, err = c.link(a.from, l.Href); err == nil && next.Host != c.base.Host {
			err = fmt.Errorf("the list goes on at another host: %.100q", next.Host)
		}
		return doc.Deltas, next, err
	}
	return doc.Deltas, nil, nil
}
