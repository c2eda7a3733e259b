package site

import "schakel/templates/ui"

// ReasonError describes the problem of a reason; "" when it will do.
func ReasonError(reason string) string {
	switch {
	case reason == "":
		return "Say why. The audit trail keeps it."
	case len(reason) > MaxReasonBytes:
		return "Keep the reason shorter than " + ui.Count(MaxReasonBytes) + " characters."
	}
	return ""
}

// Bounds of acting on ticked rows: what a page of a list can hold, and the text of a reason in bytes.
const (
	MaxTicked      = maxPerPage
	MaxReasonBytes = 1000
)
