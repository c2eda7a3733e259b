package datasets

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"schakel/templates/ui/uitest"
)

// What is in a file that is not made yet, or could not be, is not known: it is not told as nothing.
func TestRowsOfFilesThatAreNotThere(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, row := range map[string]DeltaRow{
		"not made": {Number: 7, Expires: now, To: now, Making: true},
		"failed":   {Number: 7, Expires: now, To: now, Failed: "The area cannot be read."},
	} {
		if page := uitest.Render(t, templ.Join(deltaRow(row, now)...)); strings.Contains(page, "0 added") || strings.Count(page, "–") != 3 {
			t.Errorf("%s: %s", name, page)
		}
	}
	if page := uitest.Render(t, templ.Join(deltaRow(DeltaRow{Number: 8, Expires: now, To: now, Bytes: 300}, now)...)); !strings.Contains(page, "0 added") {
		t.Errorf("an empty delta: %s", page)
	}
	if page := uitest.Render(t, templ.Join(snapshotRow(t.Context(), SnapshotRow{State: "pending", Created: now}, now)...)); strings.Count(page, "–") != 2 {
		t.Errorf("a snapshot: %s", page)
	}
}
