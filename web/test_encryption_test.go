package web

import (
	"crypto/ecdsa"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"schakel/registry"
	"schakel/store"
)

const (
	enrolledType = "nl.example.student.enrolled"
	leftType     = "nl.example.student.left"
)

// subscribed asks for a type at an endpoint, encrypted for a recipient, or in the clear for none, and has it approved.
func (d *portalHarness) subscribed(t *testing.T, b *browser, endpoint, eventType, recipient string) string {
	t.Helper()
	here := redirected(t, b.post("/partner/subscriptions/new", url.Values{
		"types": {eventType}, "endpoint": {idOf(endpoint)}, "purpose": {"To keep our records up to date."}, "encryption": {recipient},
	}))
	noError(t, d.reg.Subscriptions.Approve(t.Context(), d.admin, idOf(here)))
	return here
}

// received gives the data of the newest event of a test inbox as it came, and its media type.
func (d *portalHarness) received(t *testing.T, inbox string) (data, mediaType string) {
	t.Helper()
	all := must(d.db.InboxMessages(t.Context(), idOf(inbox), store.At(time.Unix(0, 0))))(t)
	var ev struct {
		Datacontenttype string
		Data            json.RawMessage
	}
	newest := must(d.db.InboxMessage(t.Context(), idOf(inbox), all[0].ID))(t)
	noError(t, json.Unmarshal(newest.Body, &ev))
	if json.Unmarshal(ev.Data, &data) != nil {
		data = string(ev.Data)
	}
	return data, ev.Datacontenttype
}

func opens(t *testing.T, key *ecdsa.PrivateKey, sealed string) bool {
	t.Helper()
	parsed, err := jose.ParseEncryptedCompact(sealed, []jose.KeyAlgorithm{jose.ECDH_ES_A256KW}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		return false
	}
	_, err = parsed.Decrypt(key)
	return err == nil
}

// A test event is encrypted as a real event of its type would be: for the key of the subscription to that type at that endpoint, and in the clear
// where that subscription asks for no encryption. The pages name the key beside the data, which they show as it was published.
func TestTestEventIsEncryptedAsItsSubscription(t *testing.T) {
	t.Parallel()
	h := newRunningPortal(t)
	b, _ := h.at(t, "pat@example.nl")
	here := newInbox(t, b)
	key, public := recipientKey(t)
	subscription := h.subscribed(t, b, here, enrolledType, public)
	plain := h.subscribed(t, b, here, leftType, "")
	send := func(eventType string) (outcome, delivery string) {
		t.Helper()
		form := text(b.get(here + "/test?type=" + eventType))
		at := redirected(t, b.post(here+"/test", url.Values{"type": {eventType}, "event": {exampleOn(t, form)}, "force": {"on"}}))
		id := match(t, `dlv_[0-9A-Za-z]+`, at)
		return text(b.get(at)), "/partner/deliveries/" + id
	}
	wantWords(t, text(b.get(here+"/test?type="+enrolledType)), "encrypted", "theirs", subscription)
	lacks(t, text(b.get(here+"/test?type="+leftType)), "theirs")

	outcome, delivery := send(enrolledType)
	if data, kind := h.received(t, here); kind != "application/jose" || !opens(t, key, data) {
		t.Errorf("received %s of type %s", data, kind)
	}
	wantWords(t, outcome, "Delivered", "encrypted", "key id theirs", subscription)
	page := text(b.get(delivery))
	wantWords(t, page, "key id theirs", "as it was published", subscription)
	_, data, _ := strings.Cut(page, "Event data")
	wantWords(t, data, "key id theirs")
	wantWords(t, text(h.colleague(t, store.RoleOperator, "").get("/admin"+strings.TrimPrefix(delivery, "/partner"))), "key id theirs", "/admin/subscriptions/"+idOf(subscription))

	outcome, delivery = send(leftType)
	if data, kind := h.received(t, here); kind == "application/jose" {
		t.Errorf("of a type that is not encrypted came %s", data)
	}
	lacks(t, outcome, "key id theirs")
	lacks(t, text(b.get(delivery)), "key id theirs")

	// Each type has the key of its own subscription, whichever of them is newer.
	other, public2 := recipientKey(t)
	noError(t, h.reg.Subscriptions.SetEncryption(t.Context(), registry.SystemActor(), idOf(plain), strings.Replace(public2, "theirs", "second", 1)))
	outcome, _ = send(enrolledType)
	if data, _ := h.received(t, here); !opens(t, key, data) {
		t.Error("encrypted for the key of another subscription")
	}
	wantWords(t, outcome, "key id theirs")
	outcome, _ = send(leftType)
	if data, _ := h.received(t, here); !opens(t, other, data) {
		t.Error("encrypted for the key of another subscription")
	}
	wantWords(t, outcome, "key id second")
	wantStatus(t, b.get(delivery), http.StatusOK)
}
