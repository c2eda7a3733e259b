package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// What the pages of BenchmarkPages are asked for among.
const (
	manyDeliveries = 1_000_000 // nine of ten of one partner, one in a hundred dead, each of an event of its own
	manyPartners   = 100       // with an endpoint and a subscription each, and counts of thirty days
	manyAudits     = 100_000
)

// BenchmarkPages follows the links of a partner and of an administrator among a million deliveries, as a reader would, and
// asks for each page nine times. Exports are not pages: they send all there is. It reports the slowest page by its median, and prints the twenty slowest.
func BenchmarkPages(b *testing.B) {
	for name, open := range storetest.Both() {
		b.Run(name, func(b *testing.B) {
			w := newQueueWorldOn(b, open)
			w.million(b)
			for b.Loop() {
				for kind, reader := range map[string]*browser{"/partner": w.first.browser, "/admin": w.admin} {
					pages := timed(b, reader, kind)
					b.ReportMetric(pages[0].median.Seconds()*1000, "ms/slowest-"+strings.Trim(kind, "/"))
					for _, p := range pages[:min(20, len(pages))] {
						b.Logf("%s %6.1f ms, %7d bytes %s", name, p.median.Seconds()*1000, p.bytes, p.path)
					}
				}
			}
		})
	}
}

// BenchmarkFind asks for lists by the ids and subjects of events among a million deliveries: 100,000 events have one correlation, and as many
// were sent as AMQP messages. It reports the slowest page by its median, and prints all.
func BenchmarkFind(b *testing.B) {
	for name, open := range storetest.Both() {
		b.Run(name, func(b *testing.B) {
			w := newQueueWorldOn(b, open)
			w.million(b)
			_, write := w.db.Pools()
			for _, statement := range []string{
				`UPDATE event SET correlation = 'nightly' WHERE ce_id LIKE '%4'`, `UPDATE event SET correlation = 'order-' || substr(ce_id, 4) WHERE ce_id LIKE '%37'`,
				`INSERT INTO amqp_message (id, direction, kind, status, own_her, her, message_id, msg_id, correlation_id, conversation_id, queue, event_id, created_at, updated_at)
					SELECT 'amm_' || id, 'out', 'business', 'acknowledged', 1, 2, 'mid-' || ce_id, 'msg-' || ce_id, 'mid-' || ce_id, 'con-' || ce_id, 'q', id, accepted_at, accepted_at
					FROM event WHERE ce_id LIKE '%9'`,
				`INSERT INTO amqp_message (id, direction, kind, status, own_her, her, message_id, msg_id, reference_id, queue, created_at, updated_at)
					SELECT id || 'a', 'in', 'apprec', 'matched', 1, 2, 'a-' || message_id, 'a-' || msg_id, id, 'ack', created_at, created_at FROM amqp_message`,
				`INSERT INTO issue (id, partner_id, endpoint_id, cause, status, failures, first_at, last_at, delivery_id, detail)
					SELECT 'iss_' || endpoint_id || cause, partner_id, endpoint_id, cause, 'open', COUNT(*), 0, 0, MAX(id), '' FROM delivery WHERE cause <> ''
					GROUP BY partner_id, endpoint_id, cause`,
			} {
				_, err := write.ExecContext(b.Context(), statement)
				noError(b, err)
			}
			noError(b, w.db.Optimize(b.Context()))
			for b.Loop() {
				var pages []timedPage
				for _, id := range []string{"ce-999999", "msg-ce-899999", "a-msg-ce-899999", "con-ce-99", "order-899937", "nightly", "none"} {
					for _, list := range []string{"/deliveries?event=", "/dead-letters?event=", "/issues?id=", "/events?event="} {
						pages = append(pages, timedOnce(b, w.admin, "/admin"+list+id))
					}
					pages = append(pages, timedOnce(b, w.first.browser, "/partner/deliveries?event="+id))
				}
				for _, list := range []string{"/deliveries?subject=", "/issues?subject="} {
					pages = append(pages, timedOnce(b, w.admin, "/admin"+list+"student-999999"))
				}
				slices.SortFunc(pages, func(a, b timedPage) int { return cmp.Compare(b.median, a.median) })
				b.ReportMetric(pages[0].median.Seconds()*1000, "ms/slowest")
				for _, p := range pages[:9] {
					b.Logf("%s %6.1f ms, %d rows %s", name, p.median.Seconds()*1000, p.rows, p.path)
				}
			}
		})
	}
}

// timedOnce asks nine times for one page.
func timedOnce(b testing.TB, reader *browser, path string) timedPage {
	var took []time.Duration
	p := timedPage{path: path}
	for range 9 {
		began := time.Now()
		page := text(reader.get(path))
		took = append(took, time.Since(began))
		p.rows = rows(page)
	}
	slices.Sort(took)
	p.median = took[len(took)/2]
	return p
}

type timedPage struct {
	path   string
	median time.Duration
	bytes  int
	rows   int
}

// timed asks for each kind of page that links lead to, and lists them by their median, the slowest first.
func timed(b testing.TB, reader *browser, start string) []timedPage {
	paths, met, found := []string{start}, map[string]bool{}, []timedPage{}
	for n := 0; n < len(paths); n++ {
		var took []time.Duration
		var page string
		for range 9 {
			began := time.Now()
			answer := reader.get(paths[n])
			took = append(took, time.Since(began))
			page = text(answer)
			if answer.StatusCode >= http.StatusInternalServerError {
				b.Errorf("%s answers %d", paths[n], answer.StatusCode)
			}
		}
		slices.Sort(took)
		found = append(found, timedPage{path: paths[n], median: took[len(took)/2], bytes: len(page)})
		for _, m := range linksOf.FindAllStringSubmatch(page, -1) {
			path := strings.ReplaceAll(m[1], "&amp;", "&")
			kind := someID.ReplaceAllString(path, "")
			if !met[kind] && !strings.HasSuffix(kind, "/export") && !strings.HasPrefix(kind, "/static") && !strings.HasPrefix(kind, "/docs/") {
				met[kind] = true
				paths = append(paths, path)
			}
		}
	}
	slices.SortFunc(found, func(a, b timedPage) int { return cmp.Compare(b.median, a.median) })
	return found
}

// million fills the tables.
func (w *queueWorld) million(b testing.TB) {
	b.Helper()
	ctx := b.Context()
	_, write := w.db.Pools()
	do := func(statement string, args ...any) {
		b.Helper()
		_, err := write.ExecContext(ctx, write.Rebind(statement), args...)
		noError(b, err)
	}
	do(`CREATE TABLE many (n BIGINT PRIMARY KEY, partner_id TEXT, endpoint_id TEXT, subscription_id TEXT)`)
	do(`INSERT INTO many VALUES (0, ?, ?, ?)`, w.first.id, w.first.endpoint, w.first.subscription)
	now := w.clock.Now()
	var counts []store.Traffic
	for n := range manyPartners {
		p := store.Partner{Name: fmt.Sprint("Partner ", n), Status: store.PartnerApproved}
		ep := store.Endpoint{Name: fmt.Sprint("Hook ", n), Kind: store.EndpointWebhook, Status: store.EndpointActive, URL: "https://roc.example.nl/events", MaxConcurrency: 4, TimeoutMS: 1000}
		sub := store.Subscription{Name: "Enrolments", Status: store.SubscriptionApproved, Types: []string{queueType}}
		w.write(func(tx *store.Tx) error {
			err := tx.InsertPartner(ctx, &p)
			ep.PartnerID, sub.PartnerID = p.ID, p.ID
			if err == nil {
				err = tx.InsertEndpoint(ctx, &ep)
			}
			if sub.EndpointID = ep.ID; err == nil {
				err = tx.InsertSubscription(ctx, &sub)
			}
			return err
		})
		do(`INSERT INTO many VALUES (?, ?, ?, ?)`, n+1, p.ID, ep.ID, sub.ID)
		for hour := range 100 {
			counts = append(counts, store.Traffic{EndpointID: ep.ID, At: now.Add(-time.Duration(hour) * time.Hour), Made: 100, Delivered: 99, Failed: 1, Dead: 1, Pending: 2})
		}
	}
	for part := range slices.Chunk(counts, 500) {
		w.write(func(tx *store.Tx) error { return tx.AddTraffic(ctx, part) })
	}
	own := must(w.db.OwnPartner(ctx))(b)
	for from := 0; from < manyDeliveries; from += manyRows {
		at := now.Add(-time.Duration(manyDeliveries-from) * time.Millisecond)
		micros := strconv.FormatInt(at.UnixMicro(), 10)
		do(w.rows(`INSERT INTO event (id, partner_id, client_id, ce_id, ce_source, ce_type, ce_subject, attributes, data_kind, data, accepted_at) `,
			w.id("evt", at)+`, '`+own.ID+`', 'cli_test', 'ce-' || i, 'urn:x:records', '`+queueType+`', 'student-' || i,
			CAST('{"specversion":"1.0","id":"ce-' || i || '","source":"urn:x:records","type":"`+queueType+`"}' AS `+w.bytes()+`), 1,
			CAST('{"student":"' || i || '"}' AS `+w.bytes()+`), `+micros+` + i - ? FROM s`), from, from+manyRows, from)
		do(w.rows(`INSERT INTO delivery (id, event_id, subscription_id, endpoint_id, partner_id, event_type, status, reason, cause, attempts, last_status,
				idempotency_key, key_expires_at, due_at, created_at, updated_at, delivered_at) `,
			w.id("dlv", at)+`, `+w.id("evt", at)+`, subscription_id, endpoint_id, partner_id, '`+queueType+`',
			CASE WHEN i % 100 = 99 THEN 'dead' WHEN i % 1000 = 7 THEN 'pending' WHEN i % 1000 = 8 THEN 'retrying' ELSE 'delivered' END,
			CASE WHEN i % 100 = 99 THEN 'rejected' WHEN i % 1000 = 8 THEN 'server-error' ELSE '' END,
			CASE WHEN i % 100 = 99 THEN 'status-400' WHEN i % 1000 = 8 THEN 'status-500' ELSE '' END,
			1, CASE WHEN i % 100 = 99 THEN 400 WHEN i % 1000 = 8 THEN 500 ELSE 202 END, 'key-' || i, 0,
			CASE WHEN i % 1000 IN (7, 8) THEN `+micros+` ELSE NULL END, `+micros+` + i - ?, `+micros+`,
			CASE WHEN i % 100 = 99 OR i % 1000 IN (7, 8) THEN NULL ELSE `+micros+` + 900 END
			FROM s JOIN many ON n = CASE WHEN i % 10 > 0 THEN 0 ELSE 1 + i / 10 % `+strconv.Itoa(manyPartners)+` END`), from, from+manyRows, from)
	}
	do(w.rows(`INSERT INTO audit (id, at, actor_kind, actor_id, actor_name, action, object_kind, object_id, object_name, partner_id) `,
		w.id("aud", now.Add(-time.Hour))+`, `+strconv.FormatInt(now.Add(-time.Hour).UnixMicro(), 10)+` + i, 'account', 'acc_none', 'Ada Admin',
		'subscription.approve', 'subscription', 'sub_' || i, 'Enrolments', '`+w.first.id+`' FROM s`), 0, manyAudits)
	do(`INSERT INTO attempt (id, delivery_id, number, started_at, duration_us, url, status_code)
		SELECT 'att_' || id, id, 1, created_at, 1200, 'https://roc.example.nl/events', last_status FROM delivery WHERE status IN ('dead', 'retrying')`)
	if w.db.Dialect() == store.Postgres {
		do(`INSERT INTO event_identity (ce_id, ce_source, client_id, event_id) SELECT ce_id, ce_source, client_id, id FROM event`)
		do(`VACUUM`) // as autovacuum does a while later, which tests turn off: an index alone is read of what it has seen
	}
	noError(b, w.db.Optimize(ctx))
}

// manyRows bounds the rows that one statement writes.
const manyRows = 50_000

// rows writes a statement that inserts what is selected for each i behind its first argument, up to its second.
func (w *queueWorld) rows(insert, chosen string) string {
	series := `WITH RECURSIVE s (i) AS (SELECT CAST(? AS BIGINT) + 1 UNION ALL SELECT i + 1 FROM s WHERE i < ?) `
	if w.db.Dialect() == store.Postgres {
		series = `WITH s AS (SELECT i FROM generate_series(CAST(? AS BIGINT) + 1, CAST(? AS BIGINT)) i) `
	}
	return insert + series + `SELECT ` + chosen
}

// id writes an id of this moment that ends with i.
func (w *queueWorld) id(kind string, at time.Time) string {
	id := store.IDAt(kind, at)
	if id = id[:len(id)-15]; w.db.Dialect() == store.Postgres {
		return `'` + id + `' || lpad(i::text, 15, '0')`
	}
	return `'` + id + `' || printf('%015d', i)`
}

func (w *queueWorld) bytes() string {
	if w.db.Dialect() == store.Postgres {
		return "BYTEA"
	}
	return "BLOB"
}
