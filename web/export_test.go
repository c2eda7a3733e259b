package web

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
)

// A list goes out as CSV and as NDJSON with its filter; a partner gets its own alone, and the audit trail names who took it.
func TestExportDeliveries(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.attempt(w.deliver(w.event(event.DataJSON, `{}`), w.first), store.DeliveryDead, webhook.ReasonRejected, store.Attempt{StatusCode: 400})
	other := w.dead(w.other)
	wantWords(t, text(w.admin.get("/admin/deliveries?status=dead")), `href="/admin/deliveries/export?status=dead&amp;format=csv"`)

	answer := w.admin.get("/admin/deliveries/export?partner=" + w.first.id + "&format=csv")
	wantStatus(t, answer, http.StatusOK)
	if h := answer.Header; !strings.HasPrefix(h.Get("Content-Type"), "text/csv; charset=utf-8") || !strings.HasPrefix(h.Get("Content-Disposition"), `attachment; filename="schakel-deliveries-`) {
		t.Errorf("headers %v", h)
	}
	body, bom := strings.CutPrefix(text(answer), "\ufeff")
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || !bom || len(rows) != 2 {
		t.Fatalf("rows %v, byte order mark %v, %v", rows, bom, err)
	}
	got := map[string]string{}
	for i, name := range rows[0] {
		got[name] = rows[1][i]
	}
	if got["delivery_id"] != d.ID || got["state"] != "dead" || got["last_status"] != "400" || !strings.HasSuffix(got["updated_at"], "Z") || got["delivered_at"] != "" {
		t.Errorf("row %v", got)
	}

	lines := strings.Split(strings.TrimSpace(text(w.first.browser.get("/partner/deliveries/export?format=ndjson&partner="+w.other.id))), "\n")
	var object map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &object); err != nil || len(lines) != 1 || object["delivery_id"] != d.ID || object["attempts"] != 1.0 || object["delivered_at"] != nil {
		t.Errorf("a partner gets %v, %v", lines, err)
	}
	lacks(t, strings.Join(lines, ""), other.ID)
	wantWords(t, text(w.admin.get("/admin/audit")), "exported the list “deliveries”")
	wantStatus(t, w.first.browser.get("/admin/deliveries/export"), http.StatusForbidden)
	wantStatus(t, w.admin.get("/admin/deliveries/export?from=never"), http.StatusUnprocessableEntity)
}

// Text that a spreadsheet would take for a formula goes out as text; each list has its file.
func TestExportGuard(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.write(func(tx *store.Tx) error {
		return tx.InsertAudit(t.Context(), store.Audit{ActorKind: "account", ActorName: "=1+1", Address: "192.0.2.7", Action: "partner.approved", ObjectKind: "partner", ObjectName: "-x"})
	})
	body := text(w.admin.get("/admin/audit/export?action=partner.approved&until=2100-01-01"))
	wantWords(t, body, ",'=1+1,", ",'-x,", ",address", ",192.0.2.7")
	w.fails(w.first, "http-500")
	wantWords(t, text(w.admin.get("/admin/issues/export")), "http-500", w.first.endpoint)
	wantWords(t, text(w.first.browser.get("/partner/issues/export?format=ndjson")), `"cause":"http-500"`)
	lacks(t, text(w.other.browser.get("/partner/issues/export?format=ndjson")), "http-500")
}

// Messages are exported without their bodies, and a partner gets its own alone.
func TestExportAMQP(t *testing.T) {
	t.Parallel()
	w := newAMQPWorld(t).filled(t)
	m := w.message(t, "mid-1", func(m *store.AMQPMessage) { m.MsgID = "msg-1" })
	w.message(t, "mid-2", func(m *store.AMQPMessage) { m.PartnerID = "ptn_other" })
	wantWords(t, text(w.admin.get("/admin/amqp/messages/export?id=msg-1")), m.ID, "mid-1")
	body := text(w.staff.get("/partner/amqp/messages/export?format=ndjson"))
	wantWords(t, body, `"message_id":"mid-1"`)
	lacks(t, body, "mid-2")
}
