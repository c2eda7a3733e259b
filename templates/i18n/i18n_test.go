package i18n

import (
	"testing"
	"time"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	amsterdam := time.FixedZone("CET", 60*60)
	at := time.Date(2026, 11, 21, 14, 3, 5, 0, time.UTC)
	en, nl, nb := NewLocale(English, nil), NewLocale(Dutch, amsterdam), NewLocale(Norwegian, amsterdam)
	for _, c := range []struct{ got, want string }{
		{en.Count(1204), "1,204"},
		{nl.Count(1204), "1.204"},
		{nb.Count(1204), "1\u00a0204"},
		{en.Time(at), "21 Nov 2026 14:03:05 UTC"},
		{nl.Time(at), "21 nov 2026 15:03:05 CET"},
		{nb.Time(at), "21. nov. 2026 15:03:05 CET"},
		{nl.Duration(7500 * time.Second), "2 u 5 min"},
		{nl.Duration(1500 * time.Millisecond), "1,5 s"},
		{en.Duration(1500 * time.Millisecond), "1.5 s"},
		{nb.Relative(at.Add(-90*time.Second), at), "for 1 min siden"},
		{en.Bytes(1), "1 byte"},
		{en.Bytes(1536), "1.5 KiB"},
		{nl.Bytes(1536), "1,5 KiB"},
		{en.Text(M("time.in", M("unit.s", 3))), "in 3 s"},
		{nl.Text(M("time.in", M("unit.s", 3))), "over 3 s"},
		{nl.Text(Raw("time.now")), "time.now"},
		{nl.T("No key: %s of %d", "a", 2), "No key: a of 2"},
		{nl.Of("time", "now"), "nu"},
		{nl.Of("time", "other"), "other"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
