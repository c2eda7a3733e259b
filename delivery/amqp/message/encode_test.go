package message_test

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/Azure/go-amqp"
	"schakel/delivery/amqp/message"
)

// What is written is read back the same, over the wire.
//
// Rules: AMQP-02, AMQP-41
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	sync := bare()
	sync.Durable, sync.TTL = false, 15*time.Second
	report := message.Report(whole(), message.RefuseFields(message.InvalidFieldValue, "toHerId"), "93238_error", "8141703_error", someTime)
	for name, m := range map[string]message.Message{"whole": whole(), "bare": bare(), "sync": sync, "report": report} {
		got, faults := message.Decode(overWire(t, encode(t, m)))
		if m.Error != nil {
			m.Body = []byte{}
		}
		if len(faults) > 0 || !reflect.DeepEqual(got, m) {
			t.Errorf("%s: read %+v with faults %v, wrote %+v", name, got, faults, m)
		}
	}
}

// Only what the profile uses is set: application properties are strings under their exact names, what is absent is left out, and
// properties the profile does not use are not there.
//
// Rules: AMQP-03, AMQP-04, AMQP-19, AMQP-26, AMQP-27, AMQP-40
func TestNothingElseIsSet(t *testing.T) {
	t.Parallel()
	m := encode(t, bare())
	for name, value := range m.ApplicationProperties {
		if text, ok := value.(string); !ok || text == "" {
			t.Errorf("%s is %#v", name, value)
		}
	}
	if got := len(m.ApplicationProperties); got != 3 {
		t.Errorf("%d application properties: %v", got, m.ApplicationProperties)
	}
	p := m.Properties
	if p.UserID != nil || p.ContentEncoding != nil || p.AbsoluteExpiryTime != nil || p.CreationTime != nil || p.GroupID != nil ||
		p.GroupSequence != nil || p.ReplyToGroupID != nil || m.DeliveryAnnotations != nil || m.Annotations != nil || m.Footer != nil {
		t.Errorf("something is set that is not used: %+v", p)
	}
	full := encode(t, whole()).ApplicationProperties
	for _, name := range []string{"cpaId", "Service", "Action", "applicationTimeStamp", "fromHerId", "fromRole", "toHerId", "toRole", "ConversationId"} {
		if _, ok := full[name]; !ok {
			t.Errorf("%s is not written", name)
		}
	}
}

// What the profile refuses is not written, and the fields are named in order.
//
// Rules: AMQP-18, AMQP-20, AMQP-23, AMQP-24, AMQP-25, AMQP-29, AMQP-30, AMQP-32, AMQP-98, AMQP-99, AMQP-125
func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	report := func(m *message.Message) {
		*m = message.Report(whole(), message.Refuse(message.InvalidCMS), "e", "e", someTime)
	}
	for name, test := range map[string]struct {
		change func(*message.Message)
		fields []string
	}{
		"everything":          {func(m *message.Message) { *m = message.Message{} }, []string{"messageId", "to", "subject", "replyTo", "correlationId", "contentType", "applicationTimeStamp", "fromHerId", "toHerId", "applicationData"}},
		"id that is no UUID":  {func(m *message.Message) { m.ID = "42" }, []string{"messageId"}},
		"correlation":         {func(m *message.Message) { m.CorrelationID = "x" }, []string{"correlationId"}},
		"content type":        {func(m *message.Message) { m.ContentType = "text/xml" }, []string{"contentType"}},
		"control character":   {func(m *message.Message) { m.Subject, m.CPAID = "a\x00b", "\n" }, []string{"subject", "cpaId"}},
		"negative HER-id":     {func(m *message.Message) { m.FromHerID, m.ToHerID = -1, -1 }, []string{"fromHerId", "toHerId"}},
		"ttl":                 {func(m *message.Message) { m.TTL = time.Microsecond }, []string{"ttl"}},
		"year":                {func(m *message.Message) { m.Timestamp = someTime.AddDate(9000, 0, 0) }, []string{"applicationTimeStamp"}},
		"body in a report":    {func(m *message.Message) { report(m); m.Body = []byte("x") }, []string{"applicationData"}},
		"report of nothing":   {func(m *message.Message) { report(m); m.Error.OriginalID, m.Error.Condition = "", "" }, []string{"originalMessageId", "errorCondition"}},
		"report without text": {func(m *message.Message) { report(m); m.Error.Description, m.Error.ReceivedAt = "", time.Time{} }, []string{"receiverTimeStamp", "errorDescription"}},
	} {
		m := whole()
		test.change(&m)
		_, err := message.Encode(m)
		invalid, ok := errors.AsType[*message.InvalidError](err)
		if !ok || !slices.Equal(message.FaultFields(invalid.Faults), test.fields) {
			t.Errorf("%s: %v, want %v", name, err, test.fields)
		}
	}
}

// Content types are compared without case and space; what is written is the constant.
//
// Rules: AMQP-25, AMQP-71, INC-20
func TestContentTypes(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"application/pkcs7-mime; smime-type=enveloped-data":                message.ContentEncrypted,
		"APPLICATION/PKCS7-MIME;smime-type=signed-data":                    message.ContentSigned,
		`application/pkcs7-mime; smimetype="signed-and-enveloped-data"`:    message.ContentSignedAndEncrypted,
		"application/pkcs7-mime ;\tsmime-type = signed-and-enveloped-data": message.ContentSignedAndEncrypted,
		" application/soap+xml ":                                           message.ContentSOAP,
		"application/soap+xml; charset=utf-8":                              "",
		"application/pkcs7-mime":                                           "",
		"":                                                                 "",
	} {
		got, ok := message.ParseContentType(given)
		if got != want || ok != (want != "") {
			t.Errorf("%q is %q", given, got)
		}
		m := whole()
		if m.ContentType = given; want != "" {
			if got := *encode(t, m).Properties.ContentType; got != want {
				t.Errorf("%q is written as %q", given, got)
			}
		}
	}
}

// Times are written in UTC with whole seconds, and read with any zone but not without.
//
// Rules: AMQP-29
func TestTimes(t *testing.T) {
	t.Parallel()
	if got := message.FormatTime(time.Date(2014, 2, 26, 12, 45, 32, 9e8, time.FixedZone("", 7200))); got != "2014-02-26T10:45:32Z" {
		t.Error(got)
	}
	want := time.Date(2014, 2, 26, 10, 45, 32, 0, time.UTC)
	for text, ok := range map[string]bool{
		"2014-02-26T12:45:32+02:00": true, "2014-02-26T10:45:32Z": true, "2014-02-26T10:45:32.1234567Z": true, "2014-02-26T12:45:32+0200": true,
		"2014-02-26T10:45:32": false, "02/26/2014 10:45:32": false, "": false, "yesterday": false,
	} {
		if got, read := message.ParseTime(text); read != ok || ok && !got.Equal(want) {
			t.Errorf("%q: %v, %v", text, got, read)
		}
	}
}

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

// Each required field that is removed is missing, each that is spoilt is invalid, and faults come in one order.
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

const (
	someID  = "6f1d6c4e-3a0b-4b5c-9d2e-7f8a9b0c1d2e"
	otherID = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
)

var someTime = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// whole gives a message with every field of a business message.
func whole() message.Message {
	return message.Message{
		ID: someID, To: "host/ns/8141703_async", Subject: "DIALOG_INNBYGGER_EKONTAKT", ReplyTo: "host/ns/93238_async", CorrelationID: otherID,
		ContentType: message.ContentSignedAndEncrypted, CPAID: "cpa", Service: "S", Action: "A", Timestamp: someTime,
		FromHerID: 93238, FromRole: "F", ToHerID: 8141703, ToRole: "T", ConversationID: "c", Durable: true, Body: []byte{0x30, 0x80},
	}
}

// bare gives a message with the required fields alone.
func bare() message.Message {
	m := whole()
	m.CPAID, m.Service, m.Action, m.FromRole, m.ToRole, m.ConversationID = "", "", "", "", "", ""
	return m
}

func encode(t testing.TB, m message.Message) *amqp.Message {
	t.Helper()
	out, err := message.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// overWire gives a message as its receiver has it.
func overWire(t testing.TB, m *amqp.Message) *amqp.Message {
	t.Helper()
	raw, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	out := new(amqp.Message)
	if err := out.UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	return out
}

func ptr(s string) *string { return &s }

// The text and the data of each condition follow section 2.2.6.
//
// Rules: AMQP-38, AMQP-39, AMQP-100, AMQP-106, AMQP-127, AMQP-128, AMQP-129, AMQP-130, AMQP-131, AMQP-132, AMQP-133, AMQP-134, AMQP-135, AMQP-136, AMQP-137, INC-11, INC-12
func TestRefusals(t *testing.T) {
	t.Parallel()
	const thumbprint = `{"thumbprint":{"expected":"aa","actual":"bb"}}`
	for _, test := range []struct {
		refusal                      message.Refusal
		condition, description, data string
	}{
		{message.Refuse(message.InvalidCMS), "transport:invalid-cms-pkcs", "Could not decrypt message because of invalid format to CMS/PKCS.", ""},
		{message.RefuseCertificate(message.InvalidCertificate, "aa", "bb"), "transport:invalid-certificate", "Could not decrypt message because of unknown/incorrect certificate", thumbprint},
		{message.RefuseCertificate(message.ExpiredCertificate, "aa", "bb"), "transport:expired-certificate", "Could not decrypt message because of certificate expired.", thumbprint},
		{message.RefuseCertificate(message.RevokedCertificate, "aa", "bb"), "transport:revoked-certificate", "Could not decrypt message because of certificate added to CRL (Certificate Revocation List).", thumbprint},
		{message.RefuseCertificate(message.DecryptionFailed, "aa", "bb"), "transport:decryption-failed", "Could not decrypt message because of unknown reason.", thumbprint},
		{message.RefuseCertificate(message.InvalidSignature, "aa", "bb"), "transport:invalid-signature", "Digital signature could not be verified.", thumbprint},
		{message.RefuseFields(message.RequiredFieldMissing, "to", "subject"), "transport:required-field-missing", "Missing or invalid value in field: 'to'.", `["to","subject"]`},
		{message.RefuseFields(message.InvalidFieldValue, "replyTo"), "transport:invalid-field-value", "Invalid value in field: 'replyTo'.", `["replyTo"]`},
		{message.RefuseEncoding("utf-8"), "transport:invalid-encoding", "Error occurred during decoding message. Expecting message encoded as 'Unicode'.", "utf-8"},
		{message.RefuseSpoofing(1, "<2>"), "abuse:spoofing-attack", "Possible spoofing attack detected.", `["amqp:1","application:<2>"]`},
		{message.Refuse(message.NotInterpretableXML), "transport:xml-not-interpretable", "XML cannot be interpreted", ""},
		{message.Refuse(message.NotWellFormedXML), "transport:not-well-formed-xml", "XML is not well-formed, or its header cannot be interpreted.", ""},
		{message.Refuse(message.UnsupportedMessage), "transport:unsupported-message", "The receiver does not support the process of this message.", ""},
	} {
		r := test.refusal
		if string(r.Condition) != test.condition || r.Description() != test.description || r.Data != test.data {
			t.Errorf("%s: %q with data %q", r.Condition, r.Description(), r.Data)
		}
		if test.data != "" && test.data != "utf-8" && !json.Valid([]byte(r.Data)) {
			t.Errorf("%s: the data is no JSON", r.Condition)
		}
	}
}

// Conditions are read in both spellings and any case; what is unknown stays as it came.
//
// Rules: AMQP-103, AMQP-140, INC-01, INC-02
func TestParseCondition(t *testing.T) {
	t.Parallel()
	for _, c := range message.Conditions() {
		if got := message.ParseCondition(" " + strings.ToUpper(string(c))); got != c || c.Description() == "" {
			t.Errorf("%s is read as %s", c, got)
		}
	}
	for text, want := range map[string]message.Condition{
		"transport:revoked-cerificate": message.RevokedCertificate, "transport:invalid-cms- pkcs": message.InvalidCMS,
		"Something Else": "Something Else", "": "",
	} {
		if got := message.ParseCondition(text); got != want {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}

// An error message refers to the original, goes the other way, has an id of its own
// that is the same each time, and tells nothing of the payload.
//
// Rules: AMQP-12, AMQP-35, AMQP-36, AMQP-37, AMQP-39, AMQP-40, AMQP-125, AMQP-126, AMQP-139
func TestReport(t *testing.T) {
	t.Parallel()
	original := whole()
	m := message.Report(original, message.Refuse(message.InvalidCMS), "93238_error", "8141703_error", someTime)
	again := message.Report(original, message.Refuse(message.InvalidCMS), "93238_error", "8141703_error", someTime.Add(1e10))
	if m.ID == original.ID || m.ID != again.ID || !message.IsUUID(m.ID) {
		t.Errorf("the ids are %s and %s, of the original %s", m.ID, again.ID, original.ID)
	}
	if m.FromHerID != original.ToHerID || m.ToHerID != original.FromHerID || m.CorrelationID != original.CorrelationID || m.To != "93238_error" || m.ReplyTo != "8141703_error" {
		t.Errorf("%+v", m)
	}
	out := encode(t, m)
	if len(out.Data) != 1 || len(out.Data[0]) != 0 || out.Properties.ContentType != nil {
		t.Errorf("body %v, content type %v", out.Data, out.Properties.ContentType)
	}
	if _, has := out.ApplicationProperties["errorConditionData"]; has {
		t.Error("errorConditionData is there without data")
	}
	if out.ApplicationProperties["receiverTimeStamp"] != "2026-03-14T09:26:53Z" || out.ApplicationProperties["originalMessageId"] != original.ID {
		t.Errorf("%v", out.ApplicationProperties)
	}
}

// A message without a messageId is reported too, each with an id of its own.
//
// Rules: AMQP-133
func TestReportWithoutOriginal(t *testing.T) {
	t.Parallel()
	one, other := whole(), whole()
	one.ID, other.ID, other.Body = "", "", []byte("other")
	refusal := message.RefuseFields(message.InvalidFieldValue, "messageId")
	first := message.Report(one, refusal, "e", "e", someTime)
	if second := message.Report(other, refusal, "e", "e", someTime); first.ID == second.ID {
		t.Error("two reports have one id")
	}
	if _, has := encode(t, first).ApplicationProperties["originalMessageId"]; has {
		t.Error("originalMessageId is there")
	}
}

// Answers have ids that differ by kind and original, and are UUIDs.
//
// Rules: AMQP-139
func TestAnswerID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, kind := range []string{"error", "apprec", "reply"} {
		for _, original := range []string{someID, otherID, ""} {
			id := message.AnswerID(original, kind)
			if !message.IsUUID(id) || seen[id] || id != message.AnswerID(original, kind) {
				t.Errorf("%s of %q is %s", kind, original, id)
			}
			seen[id] = true
		}
	}
}
