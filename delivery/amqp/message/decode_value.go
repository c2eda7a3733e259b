package message

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	amqp "github.com/Azure/go-amqp"
)

// text gives a value as text; a value of no simple type, or one that cannot be kept,
// makes the field unread. White space around it does not count.
func (d *decoder) text(field string, value any) string {
	if value == nil {
		return ""
	}
	text, ok := textOf(value)
	if text = strings.TrimSpace(text); !ok || !fits(text) {
		d.unread[field] = true
		return ""
	}
	return text
}

// prose gives a text for people, with what cannot be shown left out.
func (d *decoder) prose(field string) string {
	text, _ := textOf(d.lookUp(field))
	if len(text) > maxProse {
		text = text[:maxProse]
	}
	shown := func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}
	return strings.TrimSpace(strings.Map(shown, strings.ToValidUTF8(text, "")))
}

func textOf(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case amqp.Symbol:
		return string(v), true
	case amqp.UUID:
		return v.String(), true
	case []byte:
		return binaryID(v), true
	case time.Time:
		return FormatTime(v), true
	case bool:
		return strconv.FormatBool(v), true
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprint(v), true
	case float32:
		return strconv.FormatFloat(float64(v), 'f', -1, 32), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	default:
		return "", false
	}
}

// lookUp finds an application property: by its exact name, else by the first name in
// the order of bytes that differs in case alone.
func (d *decoder) lookUp(field string) any {
	if value, ok := d.application[field]; ok {
		return value
	}
	var names []string
	for name := range d.application {
		if strings.EqualFold(name, field) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return d.application[slices.Min(names)]
}

func (d *decoder) hasAny(fields ...string) bool {
	for _, field := range fields {
		if d.lookUp(field) != nil {
			return true
		}
	}
	return false
}
