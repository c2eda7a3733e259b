package site

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"schakel/delivery/event"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// What a page shows of strangers' bytes at most; the rest can be downloaded.
const (
	maxShownData  = 64 << 10
	maxShownHex   = 2 << 10
	MaxShownValue = 4 << 10
)

// EventView shows an event: its attributes, and its data in words that can be read.
func EventView(ctx context.Context, e store.Event, download string) ui.EventView {
	v := ui.EventView{ID: e.ID, CEID: e.CEID, Download: download, Size: int64(len(e.Data)), Unread: UnreadText(ctx, e.Unread)}
	if parsed, err := event.FromParts(e.Attributes, event.DataKind(e.DataKind), e.Data); err == nil {
		for name, value := range parsed.All() {
			v.Attributes = append(v.Attributes, ui.Item{Label: name, Text: Shown(value)})
			if name == "id" && v.CEID == "" { // of an event that is not stored yet
				v.CEID = Shown(value)
			}
		}
	} else {
		v.Attributes = []ui.Item{{Label: i18n.T(ctx, "site.data-attributes"), Text: Shown(string(e.Attributes))}}
	}
	switch event.DataKind(e.DataKind) {
	case event.DataNone:
		v.Kind = i18n.T(ctx, "site.data-none")
		return v
	case event.DataJSON:
		v.Kind = "JSON"
		v.Pretty = IndentedJSON(e.Data)
	case event.DataText:
		v.Kind = i18n.T(ctx, "site.data-text")
	default:
		v.Kind = i18n.T(ctx, "site.data-bytes")
	}
	v.Raw, v.Cut = Readable(e.Data, maxShownData)
	return v
}

// IndentedJSON sets out JSON in lines, changing nothing but white space; "" when it is too large or no JSON.
func IndentedJSON(data []byte) string {
	if len(data) > maxShownData || !shallow(string(data)) {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil || b.Len() > 4*maxShownData {
		return ""
	}
	text, _ := Readable(b.Bytes(), b.Len())
	return text
}

// Readable shows bytes of a stranger: text as it is but for characters that hide
// or reorder others, anything else in hexadecimal. It tells when it left some out.
func Readable(data []byte, most int) (text string, cut bool) {
	head := data
	if len(head) > most {
		head, cut = wholeRunes(head[:most]), true
	}
	if utf8.Valid(head) {
		return visible(string(head)), cut
	}
	// An answer is cut when it is stored, perhaps in the middle of a character.
	if whole := wholeRunes(head); utf8.Valid(whole) && len(whole) > 0 {
		return visible(string(whole)), true
	}
	return hex.Dump(head[:min(len(head), maxShownHex)]), cut || len(head) > maxShownHex
}

// wholeRunes drops a character that was cut off at the end.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// visible writes control characters, and marks that change the direction of text, as their code.
func visible(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) && r != '\ufeff' {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// Shown is one value of a stranger, cut to what fits a page.
func Shown(s string) string {
	text, cut := Readable([]byte(s), MaxShownValue)
	if cut {
		text += "…"
	}
	return text
}

// UnreadText explains why data cannot be shown; empty when it can.
func UnreadText(ctx context.Context, unread error) string {
	switch {
	case unread == nil:
		return ""
	case errors.Is(unread, store.ErrErased):
		return i18n.T(ctx, "site.data-erased")
	}
	return i18n.T(ctx, "site.data-unreadable")
}

// UnreadProblem answers who asks for data that cannot be read; nil when it can.
func UnreadProblem(unread error) error {
	if errors.Is(unread, store.ErrErased) {
		return NewProblem(http.StatusGone, "data-erased", "site.data-erased")
	}
	return unread
}

// SendData answers the data of an event as a file, byte for byte, in a type that no browser runs.
func SendData(c echo.Context, e store.Event) error {
	if err := UnreadProblem(e.Unread); err != nil {
		return err
	}
	name := e.ID + ".bin"
	switch event.DataKind(e.DataKind) {
	case event.DataNone:
		return echo.NewHTTPError(http.StatusNotFound, "site.no-data")
	case event.DataJSON:
		name = e.ID + ".json"
	case event.DataText:
		name = e.ID + ".txt"
	}
	h := c.Response().Header()
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "no-store")
	return c.Blob(http.StatusOK, echo.MIMEOctetStream, e.Data)
}
