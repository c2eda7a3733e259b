package message_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	amqp "github.com/Azure/go-amqp"

	"schakel/delivery/amqp/message"
)

// Ids, names, values, times and bodies are read in all the ways others write them.
//
// Rules: AMQP-18, AMQP-140, INC-25
func TestDecodeLiberally(t *testing.T) {
	t.Parallel()
	id := amqp.UUID{0x6f, 0x1d, 0x6c, 0x4e, 0x3a, 0x0b, 0x4b, 0x5c, 0x9d, 0x2e, 0x7f, 0x8a, 0x9b, 0x0c, 0x1d, 0x2e}
	for name, test := range map[string]struct {
		change func(*amqp.Message)
		id     string
	}{
		"uuid":            {func(m *amqp.Message) { m.Properties.MessageID, m.Properties.CorrelationID = id, id }, someID},
		"string":          {func(m *amqp.Message) { m.Properties.MessageID = " any text " }, "any text"},
		"number":          {func(m *amqp.Message) { m.Properties.MessageID = uint64(42) }, "42"},
		"bytes of a uuid": {func(m *amqp.Message) { m.Properties.MessageID = id[:] }, someID},
		"bytes of text":   {func(m *amqp.Message) { m.Properties.MessageID = []byte("abc") }, "abc"},
		"other bytes":     {func(m *amqp.Message) { m.Properties.MessageID = []byte{0, 1, 2} }, "000102"},
		"other case and types": {func(m *amqp.Message) {
			m.ApplicationProperties = map[string]any{"FROMHERID": int32(93238), "toherid": " 8141703", "applicationTimestamp": someTime, "cpaid": nil}
		}, someID},
		"several sections": {func(m *amqp.Message) { m.Data = [][]byte{{0x30}, {0x80}} }, someID},
		"value of bytes":   {func(m *amqp.Message) { m.Data, m.Value = nil, []byte{0x30, 0x80} }, someID},
		"value of text":    {func(m *amqp.Message) { m.Data, m.Value = nil, "0\u0000" }, someID},
		"no header":        {func(m *amqp.Message) { m.Header = nil }, someID},
	} {
		in := encode(t, bare())
		test.change(in)
		m, faults := message.Decode(overWire(t, in))
		if len(faults) > 0 || m.ID != test.id || len(m.Body) != 2 || m.FromHerID != 93238 || m.ToHerID != 8141703 || !m.Timestamp.Equal(someTime) {
			t.Errorf("%s: %+v, faults %v", name, m, faults)
		}
	}
}

// Each required field that is removed is missing, each that is spoilt is invalid, and
// faults come in one order.
//
// Rules: AMQP-25, AMQP-29, AMQP-30, AMQP-32, AMQP-99, AMQP-133, AMQP-134
func TestDecodeFaults(t *testing.T) {
	t.Parallel()
	type change func(p *amqp.MessageProperties, a map[string]any, m *amqp.Message)
	for _, test := range []struct {
		name  string
		apply change
		want  []message.Fault
	}{
		{"no properties at all", func(p *amqp.MessageProperties, a map[string]any, m *amqp.Message) { *m = amqp.Message{} }, missing(
			"messageId", "to", "subject", "replyTo", "correlationId", "contentType", "applicationTimeStamp", "fromHerId", "toHerId", "applicationData")},
		{"empty texts", func(p *amqp.MessageProperties, a map[string]any, m *amqp.Message) {
			p.To, p.Subject, a["fromHerId"] = ptr(""), ptr("  "), ""
		}, missing("to", "subject", "fromHerId")},
		{"spoilt", func(p *amqp.MessageProperties, a map[string]any, m *amqp.Message) {
			p.ContentType, p.MessageID, p.ReplyTo = ptr("text/plain"), "\xff", ptr("a\nb")
			a["fromHerId"], a["toHerId"], a["applicationTimeStamp"] = "12x", "-4", "2014-02-26T10:45:32"
		}, invalid("messageId", "replyTo", "contentType", "applicationTimeStamp", "fromHerId", "toHerId")},
		{"optional ones", func(p *amqp.MessageProperties, a map[string]any, m *amqp.Message) {
			a["cpaId"], a["Service"], a["ConversationId"] = "\x00", string(make([]byte, 5000)), "ok"
		}, invalid("cpaId", "Service")},
		{"a sequence", func(p *amqp.MessageProperties, a map[string]any, m *amqp.Message) {
			m.Data, m.Sequence = nil, [][]any{{"x"}}
		}, invalid("applicationData")},
		{"zero and more than 32 bits", func(p *amqp.MessageProperties, a map[string]any, m *amqp.Message) {
			a["fromHerId"], a["toHerId"] = "0", "99999999999"
		}, invalid("fromHerId", "toHerId")},
	} {
		in := encode(t, bare())
		test.apply(in.Properties, in.ApplicationProperties, in)
		if _, faults := message.Decode(in); !slices.Equal(faults, test.want) {
			t.Errorf("%s: %v, want %v", test.name, faults, test.want)
		}
	}
}

func missing(fields ...string) []message.Fault { return faults(message.Missing, fields) }
func invalid(fields ...string) []message.Fault { return faults(message.Invalid, fields) }

func faults(kind message.FaultKind, fields []string) []message.Fault {
	var all []message.Fault
	for _, field := range fields {
		all = append(all, message.Fault{Field: field, Kind: kind})
	}
	return all
}

// An error message of others is read by what it must say alone: unknown conditions,
// times of other forms, no body, no content type.
//
// Rules: AMQP-36, AMQP-37, AMQP-140, INC-15, INC-16
func TestDecodeForeignErrors(t *testing.T) {
	t.Parallel()
	essence := map[string]any{"originalMessageId": someID, "errorCondition": "transport:made-up"}
	with := func(more map[string]any) map[string]any {
		all := maps.Clone(essence)
		maps.Copy(all, more)
		return all
	}
	for name, test := range map[string]struct {
		properties map[string]any
		want       message.ErrorReport
	}{
		"essence": {essence, message.ErrorReport{OriginalID: someID, Condition: "transport:made-up"}},
		"time and text": {with(map[string]any{"ReceiverTimestamp": "03/14/2026 09:26:53", "errorDescription": "line one\nline\x00 two\xff"}), message.ErrorReport{
			OriginalID: someID, Condition: "transport:made-up", ReceivedAt: someTime, Description: "line one line two",
		}},
		"both spellings": {with(map[string]any{"errorCondition": "Transport:revoked-cerificate ", "receiverTimeStamp": "no time"}), message.ErrorReport{
			OriginalID: someID, Condition: message.RevokedCertificate,
		}},
		"typed": {with(map[string]any{"receiverTimeStamp": someTime, "errorConditionData": "{not JSON", "applicationTimeStamp": "?"}), message.ErrorReport{
			OriginalID: someID, Condition: "transport:made-up", ReceivedAt: someTime, Data: "{not JSON",
		}},
	} {
		m, faults := message.Decode(&amqp.Message{ApplicationProperties: test.properties})
		if len(faults) > 0 || m.Error == nil || *m.Error != test.want {
			t.Errorf("%s: %+v, faults %v", name, m.Error, faults)
		}
	}
	_, faults := message.Decode(&amqp.Message{ApplicationProperties: map[string]any{"errorDescription": "of what?"}})
	if got := message.FaultFields(faults); !slices.Equal(got, []string{"originalMessageId", "errorCondition"}) {
		t.Errorf("an error about nothing has faults %v", got)
	}
}

// FuzzDecode holds that nothing that comes in stops us, that what was read can be kept,
// and that a message without faults can be written again but for its ids.
func FuzzDecode(f *testing.F) {
	for _, m := range []message.Message{whole(), bare(), message.Report(whole(), message.Refuse(message.InvalidCMS), "e", "e", someTime)} {
		raw, err := encode(f, m).MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := new(amqp.Message)
		if in.UnmarshalBinary(raw) != nil {
			return
		}
		m, faults := message.Decode(in)
		if len(faults) > 0 || m.Error != nil {
			return
		}
		m.ID, m.CorrelationID, m.TTL = someID, otherID, m.TTL.Truncate(time.Millisecond)
		if _, err := message.Encode(m); err != nil && m.TTL >= 0 {
			t.Errorf("%v: %+v", err, m)
		}
	})
}
