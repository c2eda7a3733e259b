package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// Time is an instant kept as UTC microseconds since 1970; the zero Time is NULL.
type Time struct{ time.Time }

// At makes a Time of t, cut to the microsecond the database keeps.
func At(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{t.UTC().Truncate(time.Microsecond)}
}

// Scan reads a BIGINT of microseconds or NULL.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = Time{}
	case int64:
		t.Time = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("time column: cannot read %T", src)
	}
	return nil
}

// Value writes microseconds, or NULL for the zero Time.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	return t.UnixMicro(), nil
}

// Strings is a list of texts kept as a JSON array.
type Strings []string

// Scan reads a JSON array of strings.
func (s *Strings) Scan(src any) error {
	*s = nil
	switch v := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(v), (*[]string)(s))
	case []byte:
		return json.Unmarshal(v, (*[]string)(s))
	}
	return fmt.Errorf("list column: cannot read %T", src)
}

// Value writes a JSON array; an empty list is [].
func (s Strings) Value() (driver.Value, error) {
	if len(s) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal([]string(s))
	return string(b), err
}

// Contains reports whether the list holds v.
func (s Strings) Contains(v string) bool {
	for _, x := range s {
		if x == v {
			return true
		}
	}
	return false
}
