package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The names of the forms in which entries go to other systems.
const (
	FormNEN7513     = "nen7513"     // a [Line] as JSON
	FormSyslog      = "syslog"      // a message of RFC 5424 with a [Line] in it
	FormCloudEvents = "cloudevents" // a CloudEvent whose data is a [Line]
)

// EventType is the type of the event that tells of an entry.
const EventType = "nl.schakel.audit.recorded.v1"

// Parts of a syslog message: facility 13 is "log audit", and RFC 5424 bounds the MSGID and the sequenceId.
const (
	facility      = 13
	informational = 6
	warning       = 4
	maxMessageID  = 32
	maxSequence   = 1<<31 - 1
	byteOrderMark = "\ufeff"
)

// JSON writes the line, without an end of line. Texts stay as they are, so that the hash can be computed again.
func (l Line) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		return nil, fmt.Errorf("write entry %d: %w", l.Seq, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Syslog writes the line as a message of RFC 5424, without an end of line or a count: facility 13 (log audit), severity 6, or 4 for what
// failed, the action as MSGID, the place in the chain as sequenceId, and the JSON of the line as MSG, behind a byte order mark when it has
// more than ASCII. host is the name of the machine that sends it.
func (l Line) Syslog(host, version string) ([]byte, error) {
	text, err := l.JSON()
	if err != nil {
		return nil, err
	}
	severity := informational
	if l.Outcome > 0 {
		severity = warning
	}
	mark := ""
	if bytes.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		mark = byteOrderMark
	}
	return fmt.Appendf(nil, `<%d>1 %s %s schakel - %s [origin software="Schakel" swVersion="%s"][meta sequenceId="%d"] %s%s`,
		facility*8+severity, l.Time, headerText(host, 255), headerText(l.Type, maxMessageID), headerText(version, maxMessageID), (l.Seq-1)%maxSequence+1, mark, text), nil
}

// headerText keeps what a header field or parameter may have: printable ASCII without what would end it. What is empty is "-".
func headerText(text string, most int) string {
	kept := strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || strings.ContainsRune(`"]\`, r) {
			return -1
		}
		return r
	}, text)
	if kept == "" {
		return "-"
	}
	return kept[:min(len(kept), most)]
}

// Event makes the attributes and data of a CloudEvent, but for specversion and source: under the id of the entry, so that an entry that is
// told twice is one event.
func (l Line) Event() map[string]any {
	subject := l.ObjectID
	if subject == "" {
		subject = l.Type
	}
	return map[string]any{
		"id": l.ID, "type": EventType, "subject": subject, "partitionkey": "audit", "time": l.Time, "datacontenttype": "application/json", "data": l,
	}
}

// ReadSeq reads the place in the chain of the entry in a line of an export. The error tells that it is none.
func ReadSeq(form string, line []byte) (int64, error) {
	var read struct {
		Line
		Data Line `json:"data"`
	}
	if form == FormSyslog {
		_, after, found := bytes.Cut(line, []byte(`"] `))
		if !found || !bytes.HasPrefix(line, []byte("<")) {
			return 0, fmt.Errorf("no syslog message of an entry: %.40q", line)
		}
		line = bytes.TrimPrefix(after, []byte(byteOrderMark))
	}
	if err := json.Unmarshal(line, &read); err != nil {
		return 0, fmt.Errorf("no JSON: %w", err)
	}
	seq := read.Seq
	if form == FormCloudEvents {
		seq = read.Data.Seq
	}
	if seq < 1 {
		return 0, fmt.Errorf("no entry in the form %s", form)
	}
	return seq, nil
}
