package message_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

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

// Only what the profile uses is set: application properties are strings under their
// exact names, what is absent is left out, and properties the profile does not use are
// not there.
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
