package ingest_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/store/needs"
)

// asReader makes the test binary read a document of groups, and tell the most memory that took.
const asReader = "LEDGER_READER"

// repeated is a text, another again and again for so many bytes, and a last one.
type repeated struct {
	head, body, tail string
	bytes            int
}

func (r repeated) reader() io.Reader {
	return io.MultiReader(strings.NewReader(r.head), io.LimitReader(&again{text: r.body}, int64(r.bytes/len(r.body)*len(r.body))), strings.NewReader(r.tail))
}

// again repeats a text.
type again struct {
	text string
	at   int
}

// Read implements io.Reader.
func (a *again) Read(p []byte) (int, error) {
	n := copy(p, a.text[a.at:])
	a.at = (a.at + n) % len(a.text)
	return n, nil
}

func groupTexts() map[string]repeated {
	const one = `{"mutations":[{"objectType":"Pand","objectId":"1","wordt":{"xml":"`
	fill := strings.Repeat("<a>text</a>", 1000)
	most := format.DefaultLimits().Group
	return map[string]repeated{
		"no end":       {`{"groups":[` + one, fill, "", 8 * most},
		"no end, list": {`{"groups":[{"mutations":[`, strings.Repeat(`{"objectType":"Pand"},`, 1000), "", 8 * most},
		"no end, line": {one, fill, "", 8 * most},
		"large":        {`{"groups":[` + one, fill, `"}}]}]}`, most - 1<<20},
		"large, line":  {one, fill, `"}}]}` + "\n", most - 1<<20},
	}
}

// TestFlatMemory reads groups in JSON that are as large as may be, or that never end, each in a process of its own: a group is
// bounded as it is in XML, and takes no more than a few times that.
//
// Rules: MUT-28.
func TestFlatMemory(t *testing.T) {
	if name := os.Getenv(asReader); name != "" {
		readOutcome(name)
	}
	needs.Full(t, "ten seconds of a processor")
	if raceEnabled {
		t.Skip("looking for data races takes many times the memory that this test weighs")
	}
	needs.ProcessStatus(t)
	for name := range groupTexts() {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFlatMemory$")
		cmd.Env = append(os.Environ(), asReader+"="+name)
		out, err := cmd.Output()
		var kb int64
		var outcome string
		if _, bad := fmt.Sscanf(string(out), "%d %s", &kb, &outcome); bad != nil {
			t.Fatalf("%s: %v: %q", name, err, out)
		}
		want, most := "limit", 4*int64(format.DefaultLimits().Group)
		if strings.HasPrefix(name, "large") {
			want, most = "sound", 6*int64(format.DefaultLimits().Group)
		}
		t.Logf("%s: %s, at most %d MB", name, outcome, kb>>10)
		if outcome != want || kb<<10 > most {
			t.Errorf("%s: %s with %d MB, want %s within %d MB", name, outcome, kb>>10, want, most>>20)
		}
	}
}

// readOutcome is the work of such a process.
func readOutcome(name string) {
	text := groupTexts()[name]
	source := ingest.FromJSON("a.json", text.reader(), format.Limits{})
	if strings.HasSuffix(name, "line") {
		source = ingest.FromNDJSON("a.ndjson", text.reader(), format.Limits{})
	}
	outcome := "other"
	g, _, err := source.Next()
	switch {
	case err == nil && len(g.Mutations) == 1:
		outcome = "sound"
	case errors.Is(err, format.ErrLimit):
		outcome = "limit"
	}
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Println(strings.Fields(rest)[0], outcome)
	os.Exit(0)
}
