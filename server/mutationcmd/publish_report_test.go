package mutationcmd

import (
	"net/http"
	"testing"

	"schakel/server/cli"
)

// TestPublishReportUnlocated: a warning of the answer stands below the line of its file.
func TestPublishReportUnlocated(t *testing.T) {
	t.Parallel()
	r := newPublishReport("d")
	body := `{"publicationId":"mpb_1","kind":"groups","counts":{"groups":1,"adds":2},"firstSeq":1,"lastSeq":1,"unlocated":{"versions":2,"first":"group 1, mutation 1: no geometry"}}`
	must(t, r.add(&groupInput{name: "a.json"}, sentGroups{answer: cli.Answer{Status: http.StatusCreated, Body: []byte(body)}}))
	want := "a.json: published, 1 group: 2 adds, 0 changes, 0 deletes, seq 1 to 1; publication mpb_1\n" +
		"a.json: warning: 2 versions of objects lie in no area, so that followers of an area do not get them; the first: group 1, mutation 1: no geometry\n"
	if got := r.Files[0].text(); got != want {
		t.Errorf("%s", got)
	}
}
