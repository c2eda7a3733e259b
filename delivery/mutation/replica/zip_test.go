package replica_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
	"schakel/store/needs"
)

// plain is a delivery of a zip without a manifest.
func plain(raw []byte) replica.Delivery {
	return replica.Delivery{Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }}
}

// packed zips texts under names in their order.
func packed(t testing.TB, docs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i, doc := range docs {
		w, err := z.Create(fmt.Sprintf("%06d.xml", i+1))
		if err == nil {
			_, err = io.WriteString(w, doc)
		}
		must(t, err)
	}
	must(t, z.Close())
	return out.Bytes()
}

// repack changes the XML of a delivery, which then has no manifest.
func repack(t testing.TB, from zipped, change func(string) string) replica.Delivery {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(from.raw), int64(len(from.raw)))
	must(t, err)
	var docs []string
	for _, f := range z.File {
		r, err := f.Open()
		must(t, err)
		raw, err := io.ReadAll(r)
		must(t, err)
		docs = append(docs, change(string(raw)))
	}
	return plain(packed(t, docs...))
}

// message is a file of namespace 2.0 around groups.
func message(kind, delivery, groups string) string {
	return `<d:dMutaties xmlns:d="urn:d" xmlns:ml="` + format.Namespace2 + `"><ml:mutatieBericht><ml:dataset>dingen</ml:dataset><ml:inhoud><ml:mutatieType>` + kind +
		`</ml:mutatieType><ml:gebied></ml:gebied><ml:leveringsId>` + delivery + `</ml:leveringsId><ml:objectTypen><ml:objectType>Ding</ml:objectType></ml:objectTypen></ml:inhoud>` +
		groups + `</ml:mutatieBericht></d:dMutaties>`
}

// added is a group that adds a state.
func added(n int, payload string) string {
	return fmt.Sprintf(`<ml:mutatieGroep><ml:toevoeging objectType="Ding" objectId="o%d"><ml:wordt id="id-%d">%s</ml:wordt></ml:toevoeging></ml:mutatieGroep>`, n, n, payload)
}

// TestHostile refuses bombs, entities and broken zips. Groups that came before stay, whole; the copy is not finished, and a
// right delivery goes on from there.
//
// Rules: MUT-21, MUT-29, MUT-30.
func TestHostile(t *testing.T) {
	t.Parallel()
	good := added(1, "<d:o><d:Ding>1</d:Ding></d:o>") + added(2, "<d:o><d:Ding>2</d:Ding></d:o>")
	deep := strings.Repeat("<d:a>", 200) + strings.Repeat("</d:a>", 200)
	whole := packed(t, message("delta", "bad", good))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0xff
	mixed := packed(t, message("delta", "bad", good), message("delta", "other", added(3, "<d:o/>")))
	for name, tt := range map[string]struct {
		raw  []byte
		want error
		in   int // groups that stay
	}{
		"a bomb":           {packed(t, message("delta", "bad", good+added(3, "<d:o>"+strings.Repeat(" ", 8<<20)+"</d:o>"))), archive.ErrLimit, -1},
		"entities":         {packed(t, strings.Replace(message("delta", "bad", good), "<d:dMutaties", `<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><d:dMutaties`, 1)), nil, 0},
		"an entity inside": {packed(t, message("delta", "bad", good+added(3, "<d:o>&lol;</d:o>"))), nil, 2},
		"deep elements":    {packed(t, message("delta", "bad", good+added(3, "<d:o>"+deep+"</d:o>"))), format.ErrLimit, 2},
		"another delivery": {mixed, archive.ErrMixed, 2},
		"a wrong byte":     {flipped, nil, -1},
		"no zip":           {[]byte("<html>not here</html>"), archive.ErrZip, 0},
		"nothing":          {nil, archive.ErrTruncated, 0},
		"an empty zip":     {packed(t), replica.ErrRefused, 0},
		"no XML":           {packed(t, "hello"), nil, 0},
		"broken XML":       {packed(t, message("delta", "bad", good+"<ml:mutatieGroep><ml:toevoeging>")), nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := sqlitePath(t)
			f := open(t, database, replica.Options{})
			apply(t, f, plain(packed(t, message("initial", "start", ""))))
			var report replica.Report
			err := f.Apply(t.Context(), plain(tt.raw), &report)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v", err)
			}
			got := rows(t, connect(t, database), `SELECT object_id FROM dingen`)
			want := []string{"", "o1", "o1\no2"}
			if tt.in >= 0 && got != want[tt.in] || c2(f) == "bad" {
				t.Errorf("%q is in", got)
			}
			apply(t, f, plain(whole))
			if got := rows(t, connect(t, database), `SELECT object_id FROM dingen`); got != want[2] || c2(f) != "bad" {
				t.Errorf("%q is in after the right delivery", got)
			}
		})
	}
}

func c2(f *replica.Follower) string { return f.Copy().DeltaID }

// TestSamples judges the sample messages of PDOK: the ones of three registers and both namespaces go in, whatever their
// ids and the names of their types look like.
//
// Rules: MUT-04, MUT-19, MUT-60, MUT-61, MUT-63.
func TestSamples(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"voorbeeld-bag-new.xml":        "WPL|0001",
		"voorbeeld-bgt-new.xml":        "pand|G0307.0094191ab49a4175a278d76e02076f00",
		"voorbeeld-bgt-new-change.xml": "pand|G0855.44cae3deb10200e6e0530a01fa86e02a\npand|G0855.44cae3deb10200e6e0530a01fa86e02a",
		"voorbeeld-dkk-new.xml":        "perceel|NL.IMKAD.KadastraalObject.470690961",
		"voorbeeld-dkk-2.2.0-new.xml":  "KadastraleGrens|NL.IMKAD.KadastraalObject.143920783\nperceel|NL.IMKAD.KadastraalObject.140342301",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := needs.File(t, "mutation", name)
			database := sqlitePath(t)
			f := open(t, database, replica.Options{Name: "proef"})
			beginEmpty(t, f, string(raw))
			apply(t, f, plain(packed(t, string(raw))))
			if got := rows(t, connect(t, database), `SELECT object_type, object_id FROM proef`); got != want {
				t.Errorf("%s", got)
			}
		})
	}
}

// beginEmpty makes an empty copy for a delta to go into: of the same header, and as an initial delivery.
func beginEmpty(t *testing.T, f *replica.Follower, doc string) {
	t.Helper()
	if !strings.Contains(doc, "<ml:mutatieType>delta") {
		return
	}
	const end = "</ml:mutatieGroep>"
	from, to := strings.Index(doc, "<ml:mutatieGroep>"), strings.LastIndex(doc, end)
	apply(t, f, plain(packed(t, strings.NewReplacer(">delta<", ">initial<", "<ml:leveringsId>", "<ml:leveringsId>0-").Replace(doc[:from])+doc[to+len(end):])))
}

// TestBrokenSample judges the sample that PDOK broke: its header has something twice, which is reported, and a WAS in it lacks a
// field that the state it refers to had, which stops the copy, or is reported, by choice.
//
// Rules: MUT-17, MUT-61, MUT-63.
func TestBrokenSample(t *testing.T) {
	t.Parallel()
	raw := needs.File(t, "mutation", "voorbeeld-bgt-new-change-fix.xml")
	for verify, in := range map[replica.Verify]int64{replica.VerifyStop: 2, replica.VerifyWarn: 3} {
		f := open(t, sqlitePath(t), replica.Options{Verify: verify})
		beginEmpty(t, f, string(raw))
		var report replica.Report
		err := f.Apply(t.Context(), plain(packed(t, string(raw))), &report)
		if in == 2 && (!errors.Is(err, replica.ErrMismatch) || !strings.Contains(err.Error(), "group 3")) || in == 3 && err != nil {
			t.Errorf("%s: %v", verify, err)
		}
		if len(report.Notes) == 0 || !strings.Contains(report.Notes[0], "mutatieType") || report.Counts.Groups != in || len(report.Mismatches) != 1 || !strings.Contains(report.Mismatches[0].Found, "eindRegistratie") {
			t.Errorf("%s: %s", verify, asJSON(report))
		}
	}
}
