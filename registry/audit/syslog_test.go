package audit_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/audit"
	"schakel/store"
)

// message5424 is the grammar of RFC 5424, as far as our messages use it.
var message5424 = regexp.MustCompile(`^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([!-~]{1,255}) schakel - ([!-~]{1,32}) ` +
	`\[origin software="Schakel" swVersion="([^"\\\]]*)"\]\[meta sequenceId="([1-9]\d*)"\] (.*)$`)

// A message has the header fields of RFC 5424 in their bounds, a byte order mark only before what is not ASCII, and the entry as it is.
func TestSyslog(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		entry              store.Audit
		host               string
		pri, wantHost, seq string
		marked             bool
	}{
		"login":    {store.Audit{Seq: 7, Action: "account.logged-in", ActorName: "Anna"}, "node-1.example", "110", "node-1.example", "7", false},
		"failure":  {store.Audit{Seq: 8, Action: "account.login-failed", ObjectName: "a\nb <c> \"]"}, "node 1\"é", "108", "node1", "8", false},
		"other":    {store.Audit{Seq: 9, Action: "partner.approved", ActorName: "Jörg"}, "", "110", "-", "9", true},
		"long":     {store.Audit{Seq: 10, Action: "x." + strings.Repeat("y", 60)}, strings.Repeat("h", 300), "110", strings.Repeat("h", 255), "10", false},
		"sequence": {store.Audit{Seq: 1<<31 + 4, Action: "x.y"}, "h", "110", "h", "5", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.entry.ID, tt.entry.At, tt.entry.Detail = "aud_1", store.At(time.UnixMicro(1_700_000_000_123_456)), `{"a":1}`
			line := audit.LineOf("chn_1", tt.entry)
			message, err := line.Syslog(tt.host, "1.2")
			if err != nil {
				t.Fatal(err)
			}
			parts := message5424.FindStringSubmatch(string(message))
			if parts == nil || parts[1] != tt.pri || parts[2] != "2023-11-14T22:13:20.123456Z" || parts[3] != tt.wantHost || parts[6] != tt.seq {
				t.Fatalf("message %s\nparts %q", message, parts)
			}
			text, marked := strings.CutPrefix(parts[7], "\ufeff")
			var read audit.Line
			if err := json.Unmarshal([]byte(text), &read); err != nil || marked != tt.marked {
				t.Fatalf("marked %v, %v: %s", marked, err, text)
			}
			if back, err := read.Entry(); err != nil || store.AuditHash("", back) != store.AuditHash("", tt.entry) {
				t.Errorf("another entry came back: %+v, %v", back, err)
			}
		})
	}
}

// What an export wrote it finds its place in again, in each form; what is of another form is told.
func TestReadSeq(t *testing.T) {
	t.Parallel()
	line := audit.LineOf("chn_1", store.Audit{Seq: 12, ID: "aud_1", Action: "x.y", ActorName: "é", Detail: "{}"})
	forms := map[string][]byte{}
	var err error
	if forms[audit.FormNEN7513], err = line.JSON(); err != nil {
		t.Fatal(err)
	}
	if forms[audit.FormSyslog], err = line.Syslog("host", "1"); err != nil {
		t.Fatal(err)
	}
	if forms[audit.FormCloudEvents], err = json.Marshal(line.Event()); err != nil {
		t.Fatal(err)
	}
	for written, text := range forms {
		for read := range forms {
			seq, err := audit.ReadSeq(read, text)
			if want := int64(12); written == read && (err != nil || seq != want) || written != read && err == nil {
				t.Errorf("%s read as %s: %d, %v", written, read, seq, err)
			}
		}
	}
}

// What was tried and did not come about is no success to who reads an export.
func TestRefusalsAreFailures(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]int{
		registry.ActionLoginFailed: 4, registry.ActionFactorFailed: 4, registry.ActionLoginRefused: 4, registry.ActionLoginsWait: 4, registry.ActionRoleLost: 4,
		registry.ActionLoggedIn: 0, registry.ActionPartnerRejected: 0,
	} {
		if got := audit.LineOf("chain", store.Audit{Action: action}).Outcome; got != want {
			t.Errorf("%s: outcome %d, want %d", action, got, want)
		}
	}
}
