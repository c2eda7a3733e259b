package mutationcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"schakel/delivery/mutation/archive"
	"schakel/server/cli"
)

// What can come of a file.
const (
	FilePublished  = "published"
	StatusReplayed = "replayed"   // it was in already
	FileRefused    = "refused"    // sending it again will not help
	FileUnfinished = "unfinished" // the same may be sent again
	FileUnsent     = "unsent"     // one before it was not taken in
)

// PublishReport records the result of all files.
type PublishReport struct {
	Dataset string          `json:"dataset"`
	Counts  archive.Counts  `json:"counts"` // of the files that are in
	Files   []publishedFile `json:"files"`
}

// publishedFile records the result of a file.
type publishedFile struct {
	File          string          `json:"file"`
	Form          string          `json:"form"`
	Status        string          `json:"status"`
	Key           string          `json:"key,omitempty"`
	PublicationID string          `json:"publicationId,omitempty"`
	Kind          string          `json:"kind,omitempty"`
	Groups        *int64          `json:"groups,omitempty"` // that are in; absent when nobody could tell
	Counts        *archive.Counts `json:"counts,omitempty"`
	FirstSeq      int64           `json:"firstSeq,omitempty"`
	LastSeq       int64           `json:"lastSeq,omitempty"`
	Bytes         int64           `json:"bytes,omitempty"` // as they were sent in the last try
	Replayed      bool            `json:"replayed"`
	States        json.RawMessage `json:"states,omitempty"`
	Unlocated     *unlocated      `json:"unlocated,omitempty"`
	Tries         int             `json:"tries,omitempty"`
	Seconds       float64         `json:"seconds,omitempty"`
	HTTPStatus    int             `json:"httpStatus,omitempty"`
	Code          string          `json:"code,omitempty"`
	Error         string          `json:"error,omitempty"`
	Errors        []groupsError   `json:"errors,omitempty"`
}

// unlocated warns of versions of objects that are in and that no follower of an area gets.
type unlocated struct {
	Versions int64  `json:"versions"`
	First    string `json:"first"` // in words
}

// groupsProblem is an answer that is not a success.
type groupsProblem struct {
	Detail      string        `json:"detail"`
	Code        string        `json:"code"`
	Errors      []groupsError `json:"errors"`
	Publication *knownGroups  `json:"publication"`
}

// groupsError is one thing that is wrong with a file; its detail ends with the remedy.
type groupsError struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Group    int64  `json:"group,omitempty"`
	Mutation int    `json:"mutation,omitempty"`
	Code     string `json:"code,omitempty"`
	Detail   string `json:"detail"`
}

// knownGroups counts the groups of a publication that are in.
type knownGroups struct {
	ID     string `json:"id"`
	Groups int64  `json:"groups"`
}

// groupsProblemOf reads what an answer complains of; what is no problem+json gives an empty one.
func groupsProblemOf(a cli.Answer) (p groupsProblem) {
	if json.Unmarshal(a.Body, &p) != nil {
		return groupsProblem{}
	}
	return p
}

// tells reports whether the last answer gives how much is in.
func (o sentGroups) tells() bool {
	if o.err != nil {
		return false
	}
	p := groupsProblemOf(o.answer)
	return o.answer.Status == http.StatusCreated || p.Publication != nil || p.Code == "mutations-refused"
}

func newPublishReport(dataset string) *PublishReport {
	return &PublishReport{Dataset: dataset, Files: []publishedFile{}}
}

func (r *PublishReport) unsent(in *groupInput) {
	r.Files = append(r.Files, publishedFile{File: in.name, Form: in.form, Status: FileUnsent})
}

// add reports a file; the error says why it is not in.
func (r *PublishReport) add(in *groupInput, out sentGroups) error {
	f := publishedFile{File: in.name, Form: in.form, Key: in.key, Bytes: in.at.Load(), Tries: out.tries, Seconds: out.took.Seconds(), HTTPStatus: out.answer.Status}
	var err error
	if out.err == nil && out.answer.Status == http.StatusCreated {
		err = f.published(out.answer.Body)
	} else {
		err = f.failed(out)
	}
	if f.Counts != nil {
		r.Counts.Groups += f.Counts.Groups
		r.Counts.Adds += f.Counts.Adds
		r.Counts.Changes += f.Counts.Changes
		r.Counts.Deletes += f.Counts.Deletes
	}
	r.Files = append(r.Files, f)
	return err
}

// published reads the answer about a file that is in.
func (f *publishedFile) published(body []byte) error {
	var got struct {
		PublicationID, Kind string
		Counts              archive.Counts
		FirstSeq, LastSeq   int64
		States              json.RawMessage
		Replayed            bool
		Unlocated           *unlocated
	}
	if err := json.Unmarshal(body, &got); err != nil || got.PublicationID == "" {
		f.Status, f.Error = FileUnfinished, "the answer is no publication; is --url that of a dataset of a Schakel?"
		return errors.New(f.File + ": " + f.Error)
	}
	f.Status, f.Replayed = FilePublished, got.Replayed
	if got.Replayed {
		f.Status = StatusReplayed
	}
	f.PublicationID, f.Kind, f.Counts, f.Groups = got.PublicationID, got.Kind, &got.Counts, &got.Counts.Groups
	f.FirstSeq, f.LastSeq, f.States, f.Unlocated = got.FirstSeq, got.LastSeq, got.States, got.Unlocated
	return nil
}

// failed reads why a file is not in, and how much of it is.
func (f *publishedFile) failed(out sentGroups) error {
	p := groupsProblemOf(out.answer)
	f.Status, f.Code, f.Errors, f.Error = FileRefused, p.Code, p.Errors, "refused: "+out.cut().Error()
	if out.err != nil {
		f.Status, f.Error = FileUnfinished, "not finished: "+out.err.Error()
	}
	for i := range f.Errors {
		if e := &f.Errors[i]; e.File == "" || e.File == "request" {
			e.File = f.File
		} else {
			e.File = f.File + ":" + e.File
		}
	}
	known := out.known
	switch {
	case out.tells() && p.Publication != nil:
		known = p.Publication
	case out.tells():
		known = &knownGroups{} // nothing was begun
	case known == nil:
		return fmt.Errorf("%s: %s (nobody tells how many groups are in; key %s)", f.File, f.Error, f.Key)
	}
	f.PublicationID, f.Groups = known.ID, &known.Groups
	return fmt.Errorf("%s: %s (%s; key %s)", f.File, f.Error, areIn(known.Groups), f.Key)
}

func (c *Publish) print(w io.Writer, r *PublishReport) error {
	if c.JSON {
		return cli.PrintJSON(w, r)
	}
	for _, f := range r.Files {
		if _, err := fmt.Fprint(w, f.text()); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// text is a line for the file, and one for each of its errors.
func (f publishedFile) text() string {
	var b strings.Builder
	for _, e := range f.Errors {
		fmt.Fprintf(&b, "%s: %s\n", e.place(), strings.TrimPrefix(e.Code+": "+e.Detail, ": "))
	}
	fmt.Fprintf(&b, "%s: %s", f.File, f.Status)
	switch {
	case f.Counts != nil:
		b.WriteString(", " + countsText(*f.Counts))
	case f.Groups != nil:
		b.WriteString(", " + areIn(*f.Groups))
	}
	if f.LastSeq > 0 {
		fmt.Fprintf(&b, ", seq %d to %d", f.FirstSeq, f.LastSeq)
	}
	if f.PublicationID != "" {
		fmt.Fprintf(&b, "; publication %s", f.PublicationID)
	}
	b.WriteByte('\n')
	if u := f.Unlocated; u != nil {
		fmt.Fprintf(&b, "%s: warning: %d versions of objects lie in no area, so that followers of an area do not get them; the first: %s\n", f.File, u.Versions, u.First)
	}
	return b.String()
}

// place returns the position of an error, for people.
func (e groupsError) place() string {
	at := e.File
	if e.Line > 0 {
		at += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	if e.Group > 0 {
		at += fmt.Sprintf(": group %d", e.Group)
	}
	if e.Mutation > 0 {
		at += fmt.Sprintf(", mutation %d", e.Mutation)
	}
	return at
}
