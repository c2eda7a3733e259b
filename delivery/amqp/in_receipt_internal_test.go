package amqp

import (
	"strings"
	"testing"

	"schakel/delivery/amqp/apprec"
)

// TestAppRecTexts: what the other side wrote beside a code tells people more, and stands in no list where data is encrypted.
func TestAppRecTexts(t *testing.T) {
	t.Parallel()
	read := func() apprec.AppRec {
		return apprec.AppRec{Status: apprec.Rejected, StatusText: "Avvist", Errors: []apprec.Error{{Code: "E10", Text: "Ugyldig meldingsidentifikator", Detail: "Kari Nordmann"}, {Code: "T01"}}}
	}
	if got := receiptOf(read()).detail; got != "E10: Ugyldig meldingsidentifikator: Kari Nordmann; T01" {
		t.Errorf("detail %q", got)
	}
	quiet := read()
	withoutTexts(&quiet)
	if got := receiptOf(quiet); got.detail != "E10; T01" || got.reason != "E10" || strings.Join(got.codes, " ") != "E10 T01" {
		t.Errorf("receipt %+v", got)
	}
	bare := apprec.AppRec{Status: apprec.Rejected, StatusText: "Kari Nordmann"}
	withoutTexts(&bare)
	if got := receiptOf(bare); got.detail != "" || got.reason != "apprec-rejected" {
		t.Errorf("receipt %+v", got)
	}
}
