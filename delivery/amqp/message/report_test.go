package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"schakel/delivery/amqp/message"
)

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
