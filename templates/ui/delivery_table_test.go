package ui

import (
	"strings"
	"testing"
	"time"

	"schakel/templates/ui/uitest"
)

// A row of deliveries names the event by its type and the id that its producer gave it, and has the state with its cause.
func TestDeliveryRow(t *testing.T) {
	t.Parallel()
	row := DeliveryRow{
		ID: "dlv_1", EventType: "nl.voorbeeld.inschrijvingen.inschrijving-gestart.v1", EventID: "order-4711", Subject: "leerling/12", Partner: "Gemeente", Endpoint: "Leerplicht",
		State: "dead", Reason: "Tried as often as allowed (500)", Tries: 4, Changed: time.Unix(0, 0), Href: "/admin/deliveries/dlv_1",
	}
	v := DeliveryListView{ShowPartner: true, Rows: []DeliveryRow{row}, Table: TableView{ID: "deliveries", Total: 1}, Now: time.Unix(60, 0)}
	for _, one := range []bool{false, true} {
		v.OneState = one
		text := uitest.Render(t, DeliveryTable(v))
		for _, want := range []string{"order-4711", "leerling/12", "Gemeente", "Leerplicht", "Tried as often as allowed (500) · 4 attempts"} {
			if !strings.Contains(text, want) {
				t.Errorf("the list with one state %v lacks %q", one, want)
			}
		}
		if has := strings.Contains(text, "schakel-badge"); has == one {
			t.Errorf("the list with one state %v has a badge: %v", one, has)
		}
	}
}
