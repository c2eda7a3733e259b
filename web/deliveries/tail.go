package deliveries

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// Bounds of live tails. Each look at the database costs what a page of the list does; a look that takes long is followed by a longer wait, so
// that a tail takes a twentieth of a processor at most.
const (
	tailRows     = 50
	tailEvery    = 2 * time.Second
	tailShare    = 20               // a look that takes 1 is followed by a wait of this many
	tailQuiet    = 15 * time.Second // after which an empty line shows that the connection lives
	tailLife     = 10 * time.Minute // after which the browser asks anew
	tailPatience = 30 * time.Second // which a reader has for one message
	tailsEach    = 3                // of one account at a time
	tailsAtOnce  = 60               // of all, on this node
)

// tailPage shows the newest deliveries of a list, which a script keeps up to date; without it the list is refreshed by the reader.
func (p *Pages) tailPage(queue site.DeliveryQueue) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, partner := c.Request().Context(), queue.Scope(c)
		q := site.ReadDeliveryQuery(c.QueryParam)
		filter, wrong := q.Filter(queue, partner)
		fields, err := p.filterFields(ctx, queue, q, partner, wrong, p.DeliveryNamesOf(partner))
		if err != nil {
			return err
		}
		values := q.Values().Encode()
		v := view.TailView{
			Path: queue.Path + "/live", List: queue.Path + "?" + values, Stream: queue.Path + "/live/stream?" + values, Fields: fields,
			Every: tailEvery, Most: tailRows,
		}
		page := p.Page(c, i18n.T(ctx, "deliveries.tail.title"))
		page.Lead = i18n.T(ctx, "deliveries.tail.lead", tailRows)
		page.Crumbs = append(page.Crumbs, ui.Crumb{Label: queue.Title.In(ctx), Href: queue.Path}, ui.Crumb{Label: i18n.T(ctx, "deliveries.tail.title")})
		if len(wrong) > 0 {
			page.Invalid, v.Errors = true, site.FieldErrors(fields)
			return p.Render(c, http.StatusUnprocessableEntity, view.Tail(page, v))
		}
		if v.Rows, _, err = p.tailTable(ctx, queue, filter, partner); err != nil {
			return err
		}
		return p.Render(c, http.StatusOK, view.Tail(page, v))
	}
}

// tailTable reads the newest deliveries of a filter. mark changes with them, and not with the time that passes.
func (p *Pages) tailTable(ctx context.Context, queue site.DeliveryQueue, f store.DeliveryFilter, partner string) (v ui.DeliveryListView, mark string, err error) {
	f.Page = store.Page{Number: 1, Size: tailRows}
	list, err := p.DB.DeliveryList(ctx, f)
	if err != nil {
		return v, "", err
	}
	v = ui.DeliveryListView{ShowPartner: queue.Admin, Now: p.Cfg.Now(), Table: ui.TableView{
		ID: "tail", Caption: i18n.T(ctx, "deliveries.tail.caption"), Total: len(list.Rows), Noun: site.DeliveryNoun(ctx),
		Empty: ui.Empty{Text: i18n.T(ctx, "deliveries.tail.none")},
	}}
	if v.Rows, err = site.DeliveryRows(ctx, queue.DeliveryArea, list.Rows, p.DeliveryNamesOf(partner)); err != nil {
		return v, "", err
	}
	for i := range v.Rows {
		v.Rows[i].Resend = "" // the page of the delivery resends it: rows move while they are read
	}
	var marks strings.Builder
	for _, d := range list.Rows {
		fmt.Fprintf(&marks, "%s %s %d;", d.ID, d.Status, d.UpdatedAt.UnixMicro())
	}
	return v, marks.String(), nil
}

// tailStream sends the newest deliveries of a list as server-sent events, each time when they changed. It ends when the reader goes, the
// session ends, the program stops, or after tailLife.
func (p *Pages) tailStream(queue site.DeliveryQueue) echo.HandlerFunc {
	return func(c echo.Context) error {
		partner, who := queue.Scope(c), site.AccountOf(c).ID
		filter, wrong := site.ReadDeliveryQuery(c.QueryParam).Filter(queue, partner)
		if len(wrong) > 0 {
			return site.FilterProblem(wrong)
		}
		if !p.tails.Take(who) {
			return site.RetryLater(http.StatusTooManyRequests, "too-many-counts", "deliveries.tail.too-many", tailPatience)
		}
		defer p.tails.Give(who)
		if !p.allTails.Take("") {
			return site.RetryLater(http.StatusServiceUnavailable, "too-many-counts", "deliveries.tail.too-many-readers", tailPatience)
		}
		defer p.allTails.Give("")
		ctx, cancel := context.WithTimeout(c.Request().Context(), tailLife)
		defer cancel()
		c.Response().Header().Set(echo.HeaderContentType, "text/event-stream")
		c.Response().Header().Set("X-Accel-Buffering", "no") // of proxies that hold answers back
		t := tail{c: c, now: p.Cfg.Now, wrote: p.Cfg.Now()}
		for ctx.Err() == nil {
			alive, err := p.StillLoggedIn(ctx, c)
			if err != nil {
				return t.end(err)
			}
			if !alive {
				return t.end(t.send("ended", ""))
			}
			began := p.Cfg.Now()
			if err := p.tailStep(ctx, &t, queue, filter, partner); err != nil {
				return t.end(err)
			}
			wait := time.NewTimer(max(tailEvery, tailShare*p.Cfg.Now().Sub(began)))
			select {
			case <-wait.C:
			case <-ctx.Done():
			case <-p.Cfg.Draining:
				cancel()
			}
			wait.Stop()
		}
		return nil
	}
}

// tailStep sends what changed since the last step, or now and then that nothing did.
func (p *Pages) tailStep(ctx context.Context, t *tail, queue site.DeliveryQueue, f store.DeliveryFilter, partner string) error {
	v, mark, err := p.tailTable(ctx, queue, f, partner)
	if err != nil {
		return err
	}
	if mark != t.mark || !t.begun {
		var b bytes.Buffer
		if err := ui.DeliveryTable(v).Render(ctx, &b); err != nil {
			return fmt.Errorf("render deliveries: %w", err)
		}
		t.mark = mark
		return t.send("rows", b.String())
	}
	if t.now().Sub(t.wrote) < tailQuiet {
		return nil
	}
	return t.write(":\n\n")
}

// tail is one stream of server-sent events.
type tail struct {
	c     echo.Context
	now   func() time.Time
	mark  string // of what was sent last
	begun bool
	wrote time.Time
}

// send writes an event; each line of its data stands in a field of its own.
func (t *tail) send(event, data string) error {
	return t.write("event: " + event + "\ndata: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n")
}

func (t *tail) write(text string) error {
	t.begun, t.wrote = true, t.now()
	rc := http.NewResponseController(t.c.Response())
	// A connection that cannot be given more time, as in tests, ends by its own.
	_ = rc.SetWriteDeadline(t.wrote.Add(tailPatience))
	if _, err := t.c.Response().Write([]byte(text)); err != nil {
		return fmt.Errorf("write to reader: %w", err)
	}
	if err := rc.Flush(); err != nil {
		return fmt.Errorf("write to reader: %w", err)
	}
	return nil
}

// end closes a stream. Once it began, an error is no answer any more: the reader went, or asks anew.
func (t *tail) end(err error) error {
	if t.begun {
		return nil
	}
	return err
}

// tailHref is the live tail of a list with its filter.
func tailHref(queue site.DeliveryQueue, values url.Values) string {
	if len(values) == 0 {
		return queue.Path + "/live"
	}
	return queue.Path + "/live?" + values.Encode()
}
