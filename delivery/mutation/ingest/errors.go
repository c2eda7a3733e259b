package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/format/xmlscan"
	"schakel/store"
	"schakel/templates/i18n"
)

// badGroup is a group of JSON text that is not as it should be, and the line of it where that shows.
type badGroup struct {
	line int
	err  error
}

// Error implements error.
func (b *badGroup) Error() string { return b.err.Error() }

// Unwrap gives the kind of the error.
func (b *badGroup) Unwrap() error { return b.err }

// lineOr is the line that an error knows, or else another.
func lineOr(err error, line int) int {
	if bad, ok := errors.AsType[*badGroup](err); ok {
		return bad.line
	}
	return line
}

// typeFault describes a value of a wrong type, in the words of JSON. raw is the group, line where it begins.
func typeFault(raw []byte, line int, err error) error {
	fault, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return fmt.Errorf("%w: %w", ErrJSON, noJSONPrefix(err))
	}
	kind, _, _ := strings.Cut(fault.Value, " ")
	if kind == "bool" {
		kind = "truth value"
	}
	name := fault.Field[strings.LastIndexByte(fault.Field, '.')+1:]
	at := raw[:min(max(0, fault.Offset), int64(len(raw)))]
	place := ""
	if n := badMutation(raw); n > 0 {
		place = fmt.Sprintf(" in mutation %d", n)
	}
	if name == "" {
		place, name = "", "a group"
	}
	return &badGroup{line + bytes.Count(at, []byte("\n")), fmt.Errorf("%w: %s%s is of kind %s, and must be %s", ErrJSON, name, place, kind, mustBe(name))}
}

func mustBe(name string) string {
	switch name {
	case "mutations":
		return "an array of objects"
	case "a group", "was", "wordt":
		return "an object"
	}
	return "a string"
}

// badMutation finds which mutation of a group cannot be read, from 1; 0 when it is none of them.
func badMutation(raw []byte) int {
	var in struct {
		Mutations []json.RawMessage `json:"mutations"`
	}
	if json.Unmarshal(raw, &in) != nil {
		return 0
	}
	for i, m := range in.Mutations {
		if json.Unmarshal(m, new(jsonMutation)) != nil {
			return i + 1
		}
	}
	return 0
}

// escapeSize is the length of an escape such as \u00e9.
const escapeSize = 6

// halfEscape finds an escape of half a character without its other half, in sound JSON; -1: there is none. It would be read
// as a mark in place of it, and two texts that differ as one.
func halfEscape(raw []byte) int {
	for at := 0; ; {
		next := bytes.IndexByte(raw[at:], '\\')
		if next < 0 {
			return -1
		}
		at += next
		switch half := escaped(raw[at:]); {
		case half < 0:
			at += 2
		case !utf16.IsSurrogate(half):
			at += escapeSize
		case utf16.DecodeRune(half, escaped(raw[at+escapeSize:])) == utf8.RuneError:
			return at
		default:
			at += 2 * escapeSize
		}
	}
}

// escaped gives the character of the numeric escape that begins a text; -1: it begins with none.
func escaped(text []byte) rune {
	if len(text) < escapeSize || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[2:escapeSize]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// tokenText is a token as it stands in a document.
func tokenText(t json.Token) string {
	if t == nil {
		return "null"
	}
	return fmt.Sprint(t)
}

// unmarked passes over the byte order mark that a document may begin with.
type unmarked struct {
	from  io.Reader
	begun bool
}

// Read implements io.Reader.
func (u *unmarked) Read(p []byte) (int, error) {
	if u.begun {
		return u.from.Read(p)
	}
	u.begun = true
	var first [3]byte
	n, err := io.ReadFull(u.from, first[:])
	head := bytes.TrimPrefix(first[:n], []byte("\xEF\xBB\xBF"))
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) && n > 0 {
		u.from = io.MultiReader(bytes.NewReader(head), u.from)
		return u.from.Read(p)
	}
	return 0, err
}

// What a caller may want to tell apart, besides [Refused].
var (
	// ErrEnded is met when the dataset has ended.
	ErrEnded = errors.New("the dataset has ended: nothing is published in it any more")
	// ErrNotEmpty is met at an initial load of a dataset that holds something (MUT-31).
	ErrNotEmpty = errors.New("the dataset is not empty: publish changes as a delta, go on with the load that was cut off under its own key, or give a reason to replace all that is there")
	// ErrKind is met when neither the request nor the file marks it as an initial load or as changes.
	ErrKind = errors.New("the file does not say whether it is a delta or an initial load: tell it with the request")
	// ErrOtherContent is met when a key comes again with other content than what is in under it.
	ErrOtherContent = errors.New("the key was used for other content: use a new key for this")
	// ErrElsewhere is met when another request with the same key goes on with the publication.
	ErrElsewhere = errors.New("another request publishes this under the same key: try again when it has ended")
	// ErrCancelled is met when somebody cancelled the publication; what is in stays in.
	ErrCancelled = errors.New("the publication was cancelled: use a new key to publish the rest")
	// ErrReplaced is met when the history that the publication brought a part of was replaced; nothing of it is left (MUT-38).
	ErrReplaced = errors.New("what this publication brought was replaced by another history: use a new key to publish it in that")
	// ErrJSON is met when a document is not as the JSON form of publishing asks.
	ErrJSON = errors.New("this is not the JSON form of mutations")
)

// Codes of problems.
const (
	CodeSyntax    = "syntax"         // the input cannot be read
	CodeLimit     = "limit"          // the input exceeds a bound (MUT-30)
	CodeHeader    = "header"         // the file is not of the dataset, or not of the kind
	CodeKind      = "kind"           // a mutation that may not be here (MUT-05, MUT-31)
	CodeEmpty     = "group-empty"    // a group without mutations (MUT-23)
	CodeType      = "object-type"    // no type of the dataset
	CodePayload   = "payload"        // a state that is not one sound element (MUT-25)
	CodeNoState   = "state-missing"  // a WORDT without XML, a WAS with neither id nor XML
	CodeUnknown   = "unknown-was"    // no state has ever been there (MUT-12)
	CodeDead      = "dead-was"       // the state is gone (MUT-13)
	CodeTwice     = "twice-was"      // another mutation of the group took the state (MUT-13)
	CodeForward   = "forward-was"    // the state comes later (MUT-26)
	CodeAmbiguous = "ambiguous-was"  // the fields fit more than one state (MUT-16)
	CodeOther     = "other-was"      // the WAS has other fields than the state (MUT-17)
	CodeObject    = "object-differs" // the state is of another object
	CodeText      = "text"           // an id that is too long, or cannot be written in XML
	CodeGeometry  = "geometry"       // geometry that cannot be read, in a dataset with areas of polygons (MUT-42)
	CodeIDUsed    = "id-used"        // a WORDT has an id that a state had before (MUT-10)
)

// Problem is one thing that is wrong with what was to be published, and what to do about it. Zero fields are not known.
type Problem struct {
	File     string
	Line     int // from 1
	Column   int // from 1
	Group    int // in the file, from 1
	Mutation int // in the group, from 1
	Code     string
	ID       string // of the state, as the publisher gave it
	Detail   i18n.Message
	Remedy   i18n.Message
}

// Error is the problem in English.
func (p Problem) Error() string { return p.Text().String() }

// Text names the place first.
func (p Problem) Text() i18n.Message {
	if place := p.place(); place != "" {
		return i18n.M("datasets.problem.at", place, p.Said())
	}
	return p.Said()
}

// Said names what is wrong and what to do, without the place.
func (p Problem) Said() i18n.Message {
	return i18n.M("datasets.problem.with-remedy", p.Detail, p.Remedy)
}

// place is such as "a.xml, line 3, group 2"; empty where nothing is known.
func (p Problem) place() (place i18n.Message) {
	if p.File != "" {
		place = i18n.Raw(p.File)
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"datasets.place.line", p.Line}, {"datasets.place.column", p.Column}, {"datasets.place.group", p.Group}, {"datasets.place.mutation", p.Mutation}} {
		place = within(place, n.name, n.n)
	}
	return place
}

// within adds a number to a place, where it is known.
func within(place i18n.Message, name string, n int) i18n.Message {
	switch part := i18n.M(name, strconv.Itoa(n)); {
	case n <= 0:
		return place
	case place == "":
		return part
	default:
		return i18n.M("datasets.place.and", place, part)
	}
}

// found makes a sentence of an error of those who read files, which is in English.
func found(err error) i18n.Message {
	text := strings.TrimSuffix(err.Error(), ".")
	first, size := utf8.DecodeRuneInString(text)
	return i18n.Raw(string(unicode.ToUpper(first)) + text[size:] + ".")
}

// mostProblems limits the reported problems of a group.
const mostProblems = 20

// Refused holds the problems of the first group that could not be taken in. All groups before it are in.
type Refused struct {
	Publication store.MutationPublication // zero when nothing was begun
	Problems    []Problem                 // one or more, all of one group
}

// Error is the first problem in English.
func (r *Refused) Error() string { return r.Text().String() }

// Text tells the first problem, and counts the others.
func (r *Refused) Text() i18n.Message {
	if len(r.Problems) == 1 {
		return r.Problems[0].Text()
	}
	return i18n.M("datasets.problem.more", r.Problems[0].Text(), len(r.Problems)-1)
}

// failureText writes a failure, to be stored: what was refused as a message for its reader, the rest in English.
func failureText(failure error) string {
	if refused, ok := errors.AsType[*Refused](failure); ok {
		return string(refused.Text())
	}
	return failure.Error()
}

// refusedSource makes a problem of what a source cannot read. What was cut off, or failed on its way, stays what it is.
func refusedSource(err error) error {
	code := ""
	for _, c := range []struct {
		is   error
		code string
	}{
		{format.ErrLimit, CodeLimit},
		{archive.ErrLimit, CodeLimit},
		{format.ErrFormat, CodeSyntax},
		{xmlscan.ErrDoctype, CodeSyntax},
		{xmlscan.ErrMalformed, CodeSyntax},
		{ErrJSON, CodeSyntax},
		{archive.ErrZip, CodeSyntax},
		{archive.ErrName, CodeSyntax},
		{archive.ErrOrder, CodeSyntax},
		{archive.ErrMixed, CodeSyntax},
		{archive.ErrUnsupported, CodeSyntax},
	} {
		if code == "" && errors.Is(err, c.is) {
			code = c.code
		}
	}
	if code == "" {
		return err
	}
	p := Problem{Code: code, Detail: found(err), Remedy: "datasets.remedy.file"}
	var place *format.Error
	if entry, ok := errors.AsType[*archive.Error](err); ok {
		p.File = entry.Entry
	}
	if errors.As(err, &place) {
		p.File, p.Line, p.Column, p.Group, p.Detail = place.File, place.Line, place.Column, place.Group, found(place.Err)
	}
	return &Refused{Problems: []Problem{p}}
}
