package window

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // so that the machine need not have them
)

const office = `{"timeZone":"Europe/Amsterdam","open":[{"days":["mon","tue","wed","thu","fri"],"from":"07:00","to":"19:00"}]}`

func parse(t testing.TB, text string) Week {
	t.Helper()
	w, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func TestNext(t *testing.T) {
	t.Parallel()
	const night = `{"timeZone":"Europe/Amsterdam","open":[{"days":["sat"],"from":"02:30","to":"03:30"}]}`
	sunday := func(from, to string) string {
		return `{"timeZone":"Europe/Amsterdam","open":[{"days":["sun"],"from":"` + from + `","to":"` + to + `"}]}`
	}
	for _, tt := range []struct{ name, windows, now, want string }{
		{"inside", office, "2026-11-20T12:00:00Z", "2026-11-20T12:00:00Z"},
		{"before it opens", office, "2026-11-20T05:59:59Z", "2026-11-20T06:00:00Z"},
		{"as it closes", office, "2026-11-19T18:00:00Z", "2026-11-20T06:00:00Z"},
		{"over the weekend", office, "2026-11-20T18:00:00Z", "2026-11-23T06:00:00Z"},
		{"over the weekend, into summer time", office, "2026-03-27T18:30:00Z", "2026-03-30T05:00:00Z"},
		{"over the weekend, into winter time", office, "2026-10-23T17:30:00Z", "2026-10-26T06:00:00Z"},
		{"once a week, just missed", night, "2026-11-21T02:30:00Z", "2026-11-28T01:30:00Z"},
		{"opens in the hour that is left out", sunday("02:30", "04:00"), "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"lies in the hour that is left out", sunday("02:10", "02:50"), "2026-03-28T12:00:00Z", "2026-04-05T00:10:00Z"},
		{"in the hour that is there twice", sunday("02:30", "02:45"), "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"and the second time", sunday("02:30", "02:45"), "2026-10-25T00:45:00Z", "2026-10-25T01:30:00Z"},
		{"over midnight", `{"timeZone":"UTC","open":[{"days":["fri"],"from":"22:00","to":"06:00"}]}`, "2026-11-21T05:59:00Z", "2026-11-21T05:59:00Z"},
		{"not every midnight", `{"timeZone":"UTC","open":[{"days":["fri"],"from":"22:00","to":"06:00"}]}`, "2026-11-22T05:59:00Z", "2026-11-27T22:00:00Z"},
		{"a whole day", `{"timeZone":"UTC","open":[{"days":["sat"],"from":"00:00","to":"24:00"}]}`, "2026-11-21T23:59:59Z", "2026-11-21T23:59:59Z"},
		{"at any time", "", "2026-11-21T23:59:59Z", "2026-11-21T23:59:59Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := parse(t, tt.windows).Next(at(t, tt.now)); !got.Equal(at(t, tt.want)) {
				t.Errorf("Next = %s, want %s", got, tt.want)
			}
		})
	}
}

// TestNextIsTheFirstOpenMinute compares Next with a look at every minute, in places whose clocks change in all sorts of ways.
func TestNextIsTheFirstOpenMinute(t *testing.T) {
	t.Parallel()
	zones := []string{"Europe/Amsterdam", "America/St_Johns", "Australia/Lord_Howe", "America/Sao_Paulo", "UTC", "Asia/Kathmandu"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		d := document{TimeZone: zones[r.IntN(len(zones))]}
		for range 1 + r.IntN(2) {
			from := r.IntN(day)
			d.Open = append(d.Open, documentSpan{Days: []string{dayWords()[r.IntN(7)]}, From: clock(from), To: clock((from + 1 + r.IntN(day-1)) % day)})
		}
		w, err := d.week()
		if err != nil {
			t.Fatal(err)
		}
		// Around the changes of clocks, among other times.
		now := time.Date(2018, time.Month(1+r.IntN(12)), 1+r.IntN(31), r.IntN(24), r.IntN(60), 0, 0, time.UTC)
		want := now
		for !w.Open(want) {
			want = want.Add(time.Minute)
		}
		if got := w.Next(now); !got.Equal(want) {
			t.Errorf("%s after %s: %s, want %s", w, now, got, want)
		}
	}
}

func TestWrongWindows(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `{"timeZone":"Europe/Amsterdam","open":[]}`, `{"timeZone":"Local","open":[{"days":["mon"],"from":"07:00","to":"19:00"}]}`,
		`{"timeZone":"Mars/Olympus","open":[{"days":["mon"],"from":"07:00","to":"19:00"}]}`,
		`{"timeZone":"UTC","open":[{"days":["maandag"],"from":"07:00","to":"19:00"}]}`,
		`{"timeZone":"UTC","open":[{"days":[],"from":"07:00","to":"19:00"}]}`,
		`{"timeZone":"UTC","open":[{"days":["mon"],"from":"07:00","to":"07:00"}]}`,
		`{"timeZone":"UTC","open":[{"days":["mon"],"from":"24:00","to":"07:00"}]}`,
		`{"timeZone":"UTC","open":[{"days":["mon"],"from":"7:00","to":"19:00"}]}`,
		`{"timeZone":"UTC","open":[{"days":["mon"],"from":"07:60","to":"19:00"}]}`,
		`{"timeZone":"UTC","open":[{"days":["mon"],"from":"07:00","to":"24:01"}]}`,
		office + `{}`, strings.Replace(office, "open", "close", 1), strings.Repeat(" ", maxText) + office,
	} {
		if err := Check(text); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

// Only names of the IANA database are taken, not all that lies in the folder of its files; those may differ by machine.
func TestZones(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Amsterdam", "UTC", "Etc/GMT+3", "America/Argentina/Ushuaia"} {
		if zone, err := loadZone(name); err != nil || zone.String() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{
		"", "Local", "localtime", "posixrules", "Factory", "posix/Europe/Amsterdam", "right/Europe/Amsterdam", "posix", "right",
		"../Europe/Amsterdam", "/etc/localtime", "Mars/Olympus", "europe/amsterdam/",
	} {
		if _, err := loadZone(name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	w, err := ParseLines(" Europe/Amsterdam ", "Mon-Fri 07:00-19:00\n\n sat,sun 09:00-12:00 \nfri-mon 22:00-02:00")
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Lines(); !slices.Equal(got, []string{"mon-fri 07:00-19:00", "sat,sun 09:00-12:00", "mon,fri-sun 22:00-02:00"}) {
		t.Errorf("lines %q", got)
	}
	if got := w.Words(time.Weekday.String, "to", "to"); got[0] != "Monday to Friday 07:00 to 19:00" || got[1] != "Saturday, Sunday 09:00 to 12:00" {
		t.Errorf("words %q", got)
	}
	again, err := ParseLines(w.TimeZone(), strings.Join(w.Lines(), "\n"))
	if err != nil || again.String() != w.String() || parse(t, w.String()).String() != w.String() {
		t.Errorf("%s, %v", again, err)
	}
	if w, err := ParseLines("nonsense", " \n"); err != nil || !w.Always() || w.String() != "" {
		t.Errorf("no lines: %+v, %v", w, err)
	}
	for _, line := range []string{"mon", "mon 07:00", "mon 07:00 19:00", "mon-xyz 07:00-19:00", "xyz 07:00-19:00"} {
		if _, err := ParseLines("UTC", line); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(office)
	f.Add("mon-fri 07:00-19:00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func() (Week, error){
			func() (Week, error) { return Parse(text) },
			func() (Week, error) { return ParseLines("Europe/Amsterdam", text) },
		} {
			w, err := read()
			if err != nil || w.Always() {
				continue
			}
			again, err := Parse(w.String())
			if err != nil || again.String() != w.String() {
				t.Fatalf("%s again: %s, %v", w, again, err)
			}
			now := time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC)
			// A window may lie in an hour that is left out.
			if next := w.Next(now); !next.IsZero() && (!w.Open(next) || next.Before(now)) {
				t.Fatalf("%s: next %s", w, next)
			}
		}
	})
}

// The moment at which the last window ended is told outside all windows alone, across nights and changes of the clock.
func TestClosed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ lines, at, want string }{
		{"mon-fri 08:00-18:00", "2026-03-16T19:30:00+01:00", "2026-03-16T18:00:00+01:00"},
		{"mon-fri 08:00-18:00", "2026-03-16T07:00:00+01:00", "2026-03-13T18:00:00+01:00"}, // since Friday
		{"mon-fri 08:00-18:00", "2026-03-16T12:00:00+01:00", ""},
		{"mon-sun 22:00-06:00", "2026-03-16T07:00:00+01:00", "2026-03-16T06:00:00+01:00"},
		{"sun 00:00-04:00", "2026-03-30T01:00:00+02:00", "2026-03-29T04:00:00+02:00"}, // the clock went forward in it
	} {
		week, err := ParseLines("Europe/Amsterdam", tt.lines)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		got := week.Closed(at)
		if tt.want == "" && !got.IsZero() || tt.want != "" && got.Format(time.RFC3339) != must(time.Parse(time.RFC3339, tt.want)).In(got.Location()).Format(time.RFC3339) {
			t.Errorf("%s at %s: closed since %s, want %s", tt.lines, tt.at, got, tt.want)
		}
	}
	if !(Week{}).Closed(time.Now()).IsZero() {
		t.Error("what is always open is closed")
	}
}

func must(t time.Time, err error) time.Time {
	if err != nil {
		panic(err)
	}
	return t
}
