package profile

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"schakel/registry"
)

func TestProfileFileRoundTrip(t *testing.T) {
	t.Parallel()
	strict := strictOf(DefaultProfile())
	other, wrong := profileOf(DefaultProfile(), map[string]string{
		"idempotency.require_key": "off", "idempotency.ttl": "100h", "sending.deadline": "90h", "events.batch": "off", "intake.client_rate": "0.5",
		"sending.retry_waits": "1m30s, 5m", "events.sensitive_attributes": "refuse",
	}, true)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	for name, p := range map[string]registry.Profile{"default": DefaultProfile(), "strict": strict, "other": other} {
		content := ExportProfile(&p)
		if again := ExportProfile(&p); string(again) != string(content) {
			t.Errorf("%s: not the same twice", name)
		}
		file, err := ParseProfile(content)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !maps.Equal(file.Values, valuesOf(&p)) {
			t.Errorf("%s: %v", name, file.Values)
		}
		relaxed := 0
		for _, s := range Settings() {
			if s.Standing(s.Value(&p)) == StandingRelaxed {
				relaxed++
			}
			for _, rule := range s.Rules {
				if !strings.Contains(string(content), rule) {
					t.Errorf("%s: rule %s is not told", name, rule)
				}
			}
		}
		if got := strings.Count(string(content), "RELAXED"); got != relaxed {
			t.Errorf("%s: %d relaxations are told, of %d", name, got, relaxed)
		}
	}
}

func TestProfileFileForms(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"yaml":  "schakel-profile: 1\nsending:\n  retry_waits: 5s, 10s\n  max_attempts: 3\n",
		"list":  "schakel-profile: 1\nsending:\n  retry_waits: [5s, 10s]\n  max_attempts: 3\n",
		"json":  `{"schakel-profile": 1, "sending": {"retry_waits": ["5s", "10s"], "max_attempts": 3}}`,
		"text":  "schakel-profile: \"1\"\nsending: {retry_waits: '5s, 10s', max_attempts: \"3\"}\nevents: {}\n",
		"lines": "---\nschakel-profile: 1 # a comment\nsending:\n  retry_waits:\n    - 5s\n    - 10s\n  max_attempts: 3\n",
	} {
		file, err := ParseProfile([]byte(text))
		if want := map[string]string{"sending.retry_waits": "5s, 10s", "sending.max_attempts": "3"}; err != nil || !maps.Equal(file.Values, want) {
			t.Errorf("%s: %v, %v", name, file.Values, err)
		}
	}
}

// TestProfileFileRefusals: what is wrong is told with its line and the remedy.
func TestProfileFileRefusals(t *testing.T) {
	t.Parallel()
	const head = "schakel-profile: 1\n"
	for name, tc := range map[string]struct{ text, wants string }{
		"empty":         {"", "The file is empty. Export"},
		"a comment":     {"# nothing\n", "The file is empty"},
		"large":         {strings.Repeat("#\n", MaxProfileBytes), "larger than 64 KiB"},
		"broken":        {head + "events: [\n", "cannot be read as YAML or JSON"},
		"a list":        {"- a\n", "must hold groups"},
		"two documents": {head + "---\n" + head, "several documents"},
		"another file":  {"events:\n  batch: \"on\"\n", "Add the line schakel-profile: 1"},
		"later format":  {"schakel-profile: 2\n", "Line 1: schakel-profile: This Schakel reads version 1"},
		"group":         {head + "event:\n  batch: \"on\"\n", `Line 2: There is no group "event". Did you mean events?`},
		"far group":     {head + "whatever: 1\n", `There is no group "whatever". Remove it`},
		"setting":       {head + "events:\n  bach: \"on\"\n", `Line 3: There is no setting "events.bach". Did you mean events.batch?`},
		"no group":      {head + "events: 1\n", "Line 2: events: Put the settings of the group below it"},
		"nothing":       {head + "events:\n  batch:\n", "Line 3: events.batch: Write one value"},
		"a mapping":     {head + "events:\n  batch: {a: 1}\n", "Line 3: events.batch: Write one value"},
		"an alias":      {head + "events:\n  batch: &x \"on\"\nintake:\n  client_rate: *x\n", "Line 5: intake.client_rate: Write one value"},
		"twice":         {head + "events:\n  batch: \"on\"\n  batch: \"off\"\n", `stands here twice. Keep one`},
		"name":          {head + "[a, b]: 1\n", "Line 2: A name must be plain text"},
		"long name":     {head + strings.Repeat("n", 1000) + ": 1\n", "…"},
	} {
		_, err := ParseProfile([]byte(tc.text))
		bad, ok := errors.AsType[*ProfileFileError](err)
		if !ok || !slices.ContainsFunc(bad.Problems, func(p FileProblem) bool { return strings.Contains(p.String(), tc.wants) }) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzParseProfile: no file makes the reader fail, and what it reads can be written and read again.
func FuzzParseProfile(f *testing.F) {
	p := DefaultProfile()
	f.Add(ExportProfile(&p))
	f.Add([]byte(`{"schakel-profile": 1, "sending": {"retry_waits": ["5s", "10s"]}}`))
	f.Add([]byte("schakel-profile: 1\nevents: &a {batch: *a}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := ParseProfile(content)
		if err != nil {
			if bad, ok := errors.AsType[*ProfileFileError](err); !ok || len(bad.Problems) == 0 || bad.Problems[0].Text == "" {
				t.Fatalf("says nothing: %v", err)
			}
			return
		}
		read, wrong := profileOf(DefaultProfile(), file.Values, true)
		if len(wrong) > 0 {
			return
		}
		again, err := ParseProfile(ExportProfile(&read))
		if err != nil || !maps.Equal(again.Values, valuesOf(&read)) {
			t.Fatalf("%v, %v", again.Values, err)
		}
	})
}
