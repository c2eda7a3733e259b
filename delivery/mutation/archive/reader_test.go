package archive_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"schakel/delivery/mutation/archive"
	"schakel/store/needs"
)

// entry is a file of a zip to be made.
type entry struct {
	name, text string
	method     uint16
}

func made(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: e.method}
		w, err := z.CreateHeader(h)
		must(t, err)
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	must(t, z.Close())
	return out.Bytes()
}

// list reads a whole zip.
func list(r io.Reader, limits archive.Limits) (string, error) {
	var out strings.Builder
	z := archive.NewReader(r, limits)
	for {
		f, err := z.Next()
		if errors.Is(err, io.EOF) {
			return strings.TrimSpace(out.String() + strings.Join(z.Notes(), "")), nil
		}
		if err != nil {
			return out.String(), err
		}
		text, err := io.ReadAll(f)
		if err != nil {
			return out.String(), err
		}
		fmt.Fprintf(&out, "%s=%d ", f.Name, len(text))
	}
}

var three = []entry{{"1.xml", strings.Repeat("<a/>", 5000), zip.Deflate}, {"2.xml", "", zip.Deflate}, {"3.xml", "abc", zip.Deflate}}

// TestForeign reads what other programs write, byte by byte too: with and without sizes in the local headers, stored, and
// with records of 64 bits for a zip that came from a pipe.
//
// Rules: MUT-28
func TestForeign(t *testing.T) {
	t.Parallel()
	want := "1.xml=20000 2.xml=0 3.xml=3"
	for _, r := range []io.Reader{bytes.NewReader(made(t, three...)), iotest.OneByteReader(bytes.NewReader(made(t, three...)))} {
		if got, err := list(r, archive.Limits{}); err != nil || got != want {
			t.Errorf("%s, %v", got, err)
		}
	}
	dir := t.TempDir()
	for _, e := range three {
		must(t, os.WriteFile(filepath.Join(dir, e.name), []byte(e.text), 0o600))
	}
	scripts := map[string]string{
		"zip": "zip -q - 1.xml 2.xml 3.xml", "zip -0": "zip -q -0 x.zip 1.xml 2.xml 3.xml && cat x.zip", "zip64": "zip -q -fz y.zip 1.xml 2.xml 3.xml && cat y.zip",
		"python": `python3 -c 'import zipfile,sys; z=zipfile.ZipFile(sys.stdout.buffer,"w",zipfile.ZIP_DEFLATED)
for n in "123":
  i=zipfile.ZipInfo(n+".xml"); i.compress_type=8
  z.open(i,"w",force_zip64=True).write(open(n+".xml","rb").read())
z.close()'`,
		"python pipe": `python3 -c 'import zipfile,sys; z=zipfile.ZipFile(sys.stdout.buffer,"w",zipfile.ZIP_DEFLATED)
for n in "123": z.write(n+".xml")
z.close()' | cat`,
	}
	for name, script := range scripts {
		needs.Program(t, strings.Fields(script)[0])
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := list(bytes.NewReader(out), archive.Limits{}); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestCut cuts a zip at every byte: what comes out is never more than what is there, and never looks whole.
//
// Rules: MUT-29
func TestCut(t *testing.T) {
	t.Parallel()
	doc := made(t, three...)
	for n := range len(doc) {
		if got, err := list(bytes.NewReader(doc[:n]), archive.Limits{}); !errors.Is(err, archive.ErrTruncated) {
			t.Fatalf("cut at %d of %d: %s, %v", n, len(doc), got, err)
		}
	}
	broken := errors.New("connection reset")
	r := io.MultiReader(bytes.NewReader(doc[:100]), iotest.ErrReader(broken))
	if _, err := list(r, archive.Limits{}); !errors.Is(err, broken) {
		t.Errorf("the error below is lost: %v", err)
	}
}

// TestFlipped changes every byte: a zip that still reads as whole has the same content.
//
// Rules: MUT-29
func TestFlipped(t *testing.T) {
	t.Parallel()
	doc := made(t, three...)
	for n := range doc {
		bad := bytes.Clone(doc)
		bad[n] ^= 0x55
		if got, err := list(bytes.NewReader(bad), archive.Limits{}); err == nil && got != "1.xml=20000 2.xml=0 3.xml=3" {
			t.Errorf("byte %d: %s", n, got)
		}
	}
}

// TestRefused reads zips that must not be read to their end.
//
// Rules: MUT-27, MUT-30
func TestRefused(t *testing.T) {
	t.Parallel()
	one := func(name string) []byte { return made(t, entry{name, "x", zip.Deflate}) }
	patch := func(doc []byte, at int, value uint16) []byte {
		doc = bytes.Clone(doc)
		binary.LittleEndian.PutUint16(doc[at:], value)
		return doc
	}
	zeros := strings.Repeat("\x00", 3<<20)
	sound := made(t, three...)
	cases := []struct {
		name  string
		doc   []byte
		want  error
		bound archive.Limits
	}{
		{"up", one("../a.xml"), archive.ErrName, archive.Limits{}},
		{"up inside", one("a/../../b.xml"), archive.ErrName, archive.Limits{}},
		{"root", one("/a.xml"), archive.ErrName, archive.Limits{}},
		{"drive", one("c:a.xml"), archive.ErrName, archive.Limits{}},
		{"backslash", one(`a\b.xml`), archive.ErrName, archive.Limits{}},
		{"newline", one("a\nb.xml"), archive.ErrName, archive.Limits{}},
		{"nested", one("a.ZIP"), archive.ErrName, archive.Limits{}},
		{"not UTF-8", one("\xff.xml"), archive.ErrName, archive.Limits{}},
		{"no name", one(""), archive.ErrName, archive.Limits{}},
		{"long name", one(strings.Repeat("a", 300)), archive.ErrName, archive.Limits{}},
		{"twice", made(t, three[0], three[0]), archive.ErrName, archive.Limits{}},
		{"twice in capitals", made(t, entry{"A.xml", "", 8}, entry{"a.xml", "", 8}), archive.ErrName, archive.Limits{}},
		{"order", made(t, three[1], three[0]), archive.ErrOrder, archive.Limits{}},
		{"encrypted", patch(one("a.xml"), 6, 9), archive.ErrUnsupported, archive.Limits{}},
		{"method", patch(one("a.xml"), 8, 12), archive.ErrUnsupported, archive.Limits{}},
		{"ratio", made(t, entry{"a.xml", zeros, 8}), archive.ErrLimit, archive.Limits{}},
		{"ratio of all", made(t, entry{"a.xml", zeros[:1<<20], 8}, entry{"b.xml", zeros[:1<<20], 8}), archive.ErrLimit, archive.Limits{}},
		{"file", sound, archive.ErrLimit, archive.Limits{Entry: 100}},
		{"total", sound, archive.ErrLimit, archive.Limits{Total: 100}},
		{"count", sound, archive.ErrLimit, archive.Limits{Entries: 2}},
		{"something before", append([]byte("MZ"), sound...), archive.ErrZip, archive.Limits{}},
		{"something behind", append(bytes.Clone(sound), 0), archive.ErrZip, archive.Limits{}},
		{"nothing", nil, archive.ErrTruncated, archive.Limits{}},
		{"text", []byte("<html>no</html>"), archive.ErrZip, archive.Limits{}},
		{"two zips", append(bytes.Clone(sound), sound...), archive.ErrZip, archive.Limits{}},
		{"hidden file", hidden(t), archive.ErrZip, archive.Limits{}},
	}
	for _, c := range cases {
		got, err := list(bytes.NewReader(c.doc), c.bound)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v after %s", c.name, err, got)
		}
		var place *archive.Error
		if errors.As(err, &place) && place.Entry != "" && place.Index < 1 {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if got, err := list(bytes.NewReader(made(t, entry{"a/", "", 0}, entry{"a/b.xml", "x", 8})), archive.Limits{}); err != nil || got != "a/b.xml=1" {
		t.Errorf("a folder: %s, %v", got, err)
	}
	if got, err := list(bytes.NewReader(made(t)), archive.Limits{}); err != nil || got != "" {
		t.Errorf("no files: %s, %v", got, err)
	}
}

// TestStoredWithoutSize reads files that are stored as they are with their size behind them, as programs write them into a
// pipe, also when they hold what looks like the record behind the data; folders that are packed; and names in the order of
// the alphabet with capitals in it.
//
// Rules: MUT-27, MUT-28
func TestStoredWithoutSize(t *testing.T) {
	t.Parallel()
	mark := "PK\x07\x08"
	texts := []string{"", "x", mark, "P" + mark + mark[:3], strings.Repeat("y", 300_000) + mark + "z", string(made(t, entry{"a.xml", "x", zip.Store}))}
	var entries []entry
	want := ""
	for i, text := range texts {
		entries = append(entries, entry{fmt.Sprint(i, ".xml"), text, zip.Store})
		want += fmt.Sprintf("%d.xml=%d ", i, len(text))
	}
	doc := made(t, entries...)
	for _, r := range []io.Reader{bytes.NewReader(doc), iotest.HalfReader(bytes.NewReader(doc))} {
		if got, err := list(r, archive.Limits{}); err != nil || got != strings.TrimSpace(want) {
			t.Errorf("%s, %v", got, err)
		}
	}
	for _, n := range []int{40, 60, 100, 300_000, len(doc) - 30} {
		if got, err := list(bytes.NewReader(doc[:n]), archive.Limits{}); !errors.Is(err, archive.ErrTruncated) {
			t.Errorf("cut at %d: %s, %v", n, got, err)
		}
	}
	bad := bytes.Replace(doc, []byte("yyyy"), []byte("yyxy"), 1)
	if got, err := list(bytes.NewReader(bad), archive.Limits{}); err == nil {
		t.Errorf("a changed byte: %s", got)
	}
	for name, doc := range map[string][]byte{
		"a packed folder":      folderByJava(t),
		"small before capital": made(t, entry{"a.xml", "x", 8}, entry{"B.xml", "x", 8}, entry{"c.xml", "x", 8}),
		"capital before small": made(t, entry{"B.xml", "x", 8}, entry{"C.xml", "x", 8}, entry{"a.xml", "x", 8}),
	} {
		if _, err := list(bytes.NewReader(doc), archive.Limits{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := list(bytes.NewReader(made(t, entry{"B.xml", "x", 8}, entry{"a.xml", "x", 8}, entry{"C.xml", "x", 8}, entry{"b.xml", "x", 8})), archive.Limits{}); err == nil {
		t.Error("no order at all was taken")
	}
}

// folderByJava is a zip in which the folder is packed with deflate and has a record behind it, as those of Java are.
func folderByJava(t *testing.T) []byte {
	t.Helper()
	doc := made(t, entry{"data0", "", 8}, entry{"data0b.xml", "x", 8})
	return bytes.ReplaceAll(doc, []byte("data0"), []byte("data/"))
}

// hidden is a zip with a file that its directory does not name.
func hidden(t *testing.T) []byte {
	t.Helper()
	full := made(t, three[1], three[2])
	only := made(t, three[2])
	at := bytes.Index(full, []byte("PK\x01\x02"))
	from := bytes.Index(only, []byte("PK\x01\x02"))
	return append(bytes.Clone(full[:at]), only[from:]...)
}

// FuzzReader reads anything; what it takes, the library of the standard takes as well, with the same files.
//
// Rules: MUT-30
func FuzzReader(f *testing.F) {
	f.Add(made(f, three...))
	f.Add(made(f, entry{"a/", "", 0}, entry{"a/b.xml", "x", 8}))
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := list(bytes.NewReader(doc), archive.Limits{Total: 1 << 20})
		if err != nil {
			return
		}
		z, err := zip.NewReader(bytes.NewReader(doc), int64(len(doc)))
		if err != nil {
			t.Fatalf("we read %s, the library says %v", got, err)
		}
		want := ""
		for _, e := range z.File {
			if !strings.HasSuffix(e.Name, "/") {
				want += fmt.Sprintf("%s=%d ", e.Name, e.UncompressedSize64)
			}
		}
		if strings.TrimSpace(want) != got {
			t.Fatalf("we read %s, the library %s", got, want)
		}
	})
}
