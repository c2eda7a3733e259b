package web

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"schakel/delivery/webhook"
	"schakel/store"
)

var (
	badgeInLink = regexp.MustCompile(`<a class="schakel-nav__(?:link|waiting)" href="([^"]+)"[^>]*>((?s:.*?))</a>`)
	badgeCount  = regexp.MustCompile(`<span class="schakel-nav__count">\s*([\d,]+)`)
	listCount   = regexp.MustCompile(`<p class="schakel-list__count">([\d,]+) `)
)

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	noError(t, err)
	return n
}

// badges are the counts of the navigation by the address to which each leads.
func badges(t *testing.T, b *browser, home string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, m := range badgeInLink.FindAllStringSubmatch(text(b.get(home)), -1) {
		if count := badgeCount.FindStringSubmatch(m[2]); count != nil {
			found[html.UnescapeString(m[1])] = number(t, count[1])
		}
	}
	return found
}

// rowsListed counts the rows of the list at an address: the one that its fragment names, or else the first.
func rowsListed(t *testing.T, b *browser, href string) int {
	t.Helper()
	u, err := url.Parse(href)
	noError(t, err)
	answer := b.get(u.RequestURI())
	wantStatus(t, answer, http.StatusOK)
	page := text(answer)
	if u.Fragment != "" {
		var found bool
		if _, page, found = strings.Cut(page, `id="`+u.Fragment+`"`); !found {
			t.Fatalf("%s: the page has no such part", href)
		}
	}
	count := listCount.FindStringSubmatch(page)
	if count == nil {
		t.Fatalf("%s: no list with a count", href)
	}
	return number(t, count[1])
}

// Each badge of the navigation has the count of the list to which it leads, of an administrator and of a partner.
func TestBadgesCountWhatTheyLeadTo(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.fillBadges()
	for _, reader := range []struct {
		name, home string
		b          *browser
		want       map[string]int
	}{
		{"administrator", "/admin", w.admin, map[string]int{
			"/admin/partners?status=requested": 2, "/admin/subscriptions?status=requested": 3, "/admin/clients#waiting": 2, "/contracts#requested": 27,
			"/admin/mirrors?alarms=open": 2, "/admin/errors": 2, "/admin/dead-letters": 3, "/admin/quarantine?state=open": 2, "/admin/amqp/messages?state=attention": 2,
		}},
		{"partner", "/partner", w.first.browser, map[string]int{"/partner/deliveries?status=held": 3, "/partner/deliveries?status=dead": 2}},
	} {
		got := badges(t, reader.b, reader.home)
		for href, n := range got {
			if in := rowsListed(t, reader.b, href); in != n {
				t.Errorf("%s: the badge says %d, %s lists %d", reader.name, n, href, in)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(reader.want) {
			t.Errorf("%s: badges %v, want %v", reader.name, got, reader.want)
		}
	}
	// The publications have pages of their own, and one beyond the last shows the last.
	for page, rows := range map[string]int{"1": 25, "2": 2, "9": 2} {
		_, list, _ := strings.Cut(text(w.admin.get("/contracts?requested="+page)), `id="requested"`)
		list, _, _ = strings.Cut(list, `</section>`)
		if got := strings.Count(list, "/contracts/asked/versions/"); got != rows {
			t.Errorf("page %s shows %d publications, want %d", page, got, rows)
		}
		wantWords(t, list, "27 versions", "requested=1#requested")
	}
}

// fillBadges makes something of each kind that waits, and beside it what does not.
func (w *queueWorld) fillBadges() {
	ctx := w.t.Context()
	for range 2 {
		w.rejected(w.first)
		w.dead(w.first)
	}
	w.dead(w.other)
	w.failed(w.first, store.DeliveryHeld, store.ReasonEndpointSuspended)
	w.failed(w.other, store.DeliveryHeld, store.ReasonSubscriptionPaused)
	w.write(func(tx *store.Tx) error {
		for i := range 2 {
			name := strconv.Itoa(i)
			p := store.Partner{Name: "Asks " + name, Status: store.PartnerRequested, ContactName: "Anna", ContactEmail: "anna@" + name + ".example"}
			if i == 0 {
				p.EmailConfirmedAt = tx.Now
			}
			noError(w.t, tx.InsertPartner(ctx, &p))
			noError(w.t, tx.InsertClient(ctx, &store.Client{PartnerID: w.first.id, Name: "Asks " + name, Status: store.ClientActive, AuthMethod: "client_secret_basic", RequestedScopes: store.Strings{"events.publish"}}))
			q := store.Quarantine{PartnerID: w.first.id, ClientID: "cli_" + name, IdempotencyKey: "k", Fingerprint: []byte("f"), FirstAnswer: []byte("{}"), ReleaseKey: "r" + name}
			noError(w.t, tx.InsertQuarantine(ctx, &q, nil))
		}
		noError(w.t, tx.InsertClient(ctx, &store.Client{PartnerID: w.first.id, Name: "Has it", Status: store.ClientActive, AuthMethod: "client_secret_basic"}))
		for i := range 3 {
			noError(w.t, tx.InsertSubscription(ctx, &store.Subscription{PartnerID: w.first.id, EndpointID: w.first.endpoint, Name: "Asked " + strconv.Itoa(i), Status: store.SubscriptionRequested, Types: []string{queueType}}))
		}
		q := store.Quarantine{PartnerID: w.first.id, ClientID: "cli_9", IdempotencyKey: "k", Fingerprint: []byte("f"), FirstAnswer: []byte("{}"), ReleaseKey: "r9"}
		noError(w.t, tx.InsertQuarantine(ctx, &q, nil))
		return tx.DecideQuarantine(ctx, q.ID, store.QuarantineDiscarded, "no", "Anna")
	})
	w.fillContracts()
	for i, m := range []store.AMQPMessage{
		{Direction: store.AMQPIn, Status: store.AMQPQuarantined},
		{Direction: store.AMQPOut, Status: store.AMQPRejected, Reason: webhook.ReasonRejected},
		{Direction: store.AMQPOut, Status: store.AMQPMatched},
	} {
		m.Kind, m.PartnerID, m.OwnHer, m.Her, m.MessageID = store.AMQPBusiness, w.first.id, 100, 200, strconv.Itoa(i)
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPMessage(ctx, &m) })
	}
}

// fillContracts makes drafts of which 27 are asked to be published, and mirrors of which two have alarms that are open.
func (w *queueWorld) fillContracts() {
	ctx := w.t.Context()
	w.write(func(tx *store.Tx) error {
		noError(w.t, tx.InsertContract(ctx, &store.Contract{ID: "asked", Kind: "asyncapi", Title: "Asked", Visibility: store.VisibilityPartners}))
		for i := range 28 {
			v := store.ContractVersion{ContractID: "asked", Version: fmt.Sprintf("1.0.%d", i), SortKey: fmt.Sprintf("1.0.%02d", i), Status: store.VersionDraft, Digest: "d", Original: []byte("{}"), Findings: "[]"}
			noError(w.t, tx.InsertContractVersion(ctx, &v))
			if i > 0 {
				v.RequestedAt, v.RequestedBy = tx.Now, "Anna"
				noError(w.t, tx.SetPublicationRequest(ctx, &v))
			}
		}
		for i, open := range []int{0, 1, 2, 0} {
			s := store.MirrorSource{Name: fmt.Sprintf("Mirror %d", i), Prefix: fmt.Sprintf("m%d", i), Kind: store.MirrorSchakel, URL: "https://x.example", Schedule: "@daily"}
			noError(w.t, tx.InsertMirrorSource(ctx, &s))
			noError(w.t, tx.InsertContract(ctx, &store.Contract{ID: s.Prefix + "-copy", Kind: "asyncapi", Title: "Copy", Visibility: store.VisibilityInternal}))
			noError(w.t, tx.InsertMirrorContract(ctx, &store.MirrorContract{ContractID: s.Prefix + "-copy", SourceID: s.ID, OriginID: "copy"}))
			for j := range open + 1 { // one is settled
				a := store.MirrorAside{SourceID: s.ID, ContractID: s.Prefix + "-copy", Version: fmt.Sprintf("1.0.%d", j), OriginURL: "https://x", Digest: fmt.Sprintf("%d-%d", i, j), Size: 2, Content: []byte("{}")}
				noError(w.t, tx.InsertMirrorAside(ctx, &a))
				if j == open {
					noError(w.t, tx.SettleMirrorAside(ctx, a.ID, "Anna", "agreed"))
				}
			}
		}
		return nil
	})
}
