package ui

import (
	"html"
	"math"
	"strings"
	"testing"
	"time"

	"schakel/templates/ui/uitest"
)

func TestCountAndPlural(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1204: "1,204", 1234567: "1,234,567", -1204: "-1,204", -999: "-999"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 deliveries", 1: "1 delivery", 1204: "1,204 deliveries"} {
		if got := Plural(n, "delivery", "deliveries"); got != want {
			t.Errorf("Plural(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1023: "1,023 bytes", 1024: "1 KiB", 1536: "1.5 KiB",
		1<<20 - 1: "1 MiB", 1 << 20: "1 MiB", 47 << 30: "47 GiB", math.MaxInt64: "8 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestTimeIsWrittenInUTC(t *testing.T) {
	t.Parallel()
	amsterdam := time.FixedZone("CET", 3600)
	at := time.Date(2026, 11, 22, 0, 3, 5, 999, amsterdam)
	if got := Time(at); got != "21 Nov 2026 23:03:05 UTC" {
		t.Errorf("Time = %q", got)
	}
	if got := Day(at); got != "21 Nov 2026" {
		t.Errorf("Day = %q", got)
	}
	if Time(time.Time{}) != "never" || Day(time.Time{}) != "never" {
		t.Error("the zero time must read as never")
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 ms", 250 * time.Millisecond: "250 ms", time.Second: "1 s", 1550 * time.Millisecond: "1.5 s",
		9999 * time.Millisecond: "9.9 s", 10 * time.Second: "10 s", 200 * time.Second: "3 min 20 s",
		time.Hour: "1 h", 125 * time.Minute: "2 h 5 min", time.Hour + 5*time.Second: "1 h",
		97 * time.Hour: "4 d 1 h", -time.Minute: "-1 min",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestRelative(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "now", 900 * time.Millisecond: "now", -900 * time.Millisecond: "now",
		-90 * time.Second: "1 min 30 s ago", 2*time.Hour + 5*time.Minute: "in 2 h 5 min",
	} {
		if got := Relative(uitest.Now().Add(d), uitest.Now()); got != want {
			t.Errorf("Relative(%v) = %q, want %q", d, got, want)
		}
	}
	if got := Relative(time.Time{}, uitest.Now()); got != "never" {
		t.Errorf("Relative(zero) = %q, want never", got)
	}
}

// A name with dots is broken behind a dot, and nothing is added to what a reader copies.
func TestBreakable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"nl.school.started.v1":           `<span class="schakel-dotted">nl.<wbr>school.<wbr>started.<wbr>v1</span>`,
		"nl.school.v1 and 2 more":        `<span class="schakel-dotted">nl.<wbr>school.<wbr>v1 and 2 more</span>`,
		"nl.<b>.v1":                      `<span class="schakel-dotted">nl.<wbr>&lt;b&gt;.<wbr>v1</span>`,
		"Everything it says.":            "Everything it says.",
		"<b>":                            "&lt;b&gt;",
		"a.b." + strings.Repeat("x", 31): "a.b." + strings.Repeat("x", 31),
		"":                               "",
	} {
		var out strings.Builder
		if err := Breakable(text).Render(t.Context(), &out); err != nil || out.String() != want {
			t.Errorf("%q is shown as %q, want %q (%v)", text, out.String(), want, err)
		}
		plain := strings.NewReplacer("<wbr>", "", `<span class="schakel-dotted">`, "", "</span>", "").Replace(out.String())
		if html.UnescapeString(plain) != text {
			t.Errorf("%q reads as %q", text, plain)
		}
	}
}

// TestTextsWithNames holds that what a document says is never markup, that names
// between backticks stand out, and that addresses break behind a slash alone.
func TestTextsWithNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, got, want string }{
		{"names", uitest.Render(t, WithNames("The `type` of `a<b` changed.")), `The <code class="utrecht-code schakel-id">type</code> of <code class="utrecht-code schakel-id">a&lt;b</code> changed.`},
		{"one backtick", uitest.Render(t, WithNames("an odd ` <script>")), `an odd <code class="utrecht-code schakel-id"> &lt;script&gt;</code>`},
		{"address", uitest.Render(t, Address("/registry/v1/a&b")), "/<wbr>registry/<wbr>v1/<wbr>a&amp;b"},
	} {
		if strings.TrimSpace(c.got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

func TestWindowTitleSaysWhenAFormWasRefused(t *testing.T) {
	t.Parallel()
	for invalid, want := range map[bool]string{false: "Register - Schakel", true: "Error: Register - Schakel"} {
		if got := (Page{Title: "Register", Invalid: invalid}).windowTitle(t.Context()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
