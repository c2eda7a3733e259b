package mutationcmd

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"schakel/server/cli"
	"schakel/server/cli/clitest"
)

// TestGroupSender checks what settles a file, how long is waited in between, and that every try carries the whole file, the same
// key, and asks before it sends.
//
// Rules: MUT-29.
func TestGroupSender(t *testing.T) {
	t.Parallel()
	problem := func(status int, code string, header ...string) *http.Response {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return clitest.AnswerWith(status, h, `{"code":"`+code+`","detail":"It is so."}`)
	}
	done := func() *http.Response { return clitest.AnswerWith(201, nil, `{"publicationId":"mpb_1"}`) }
	tests := []struct {
		name    string
		answers []*http.Response // nil is a cut; the last one is repeated
		tries   int
		took    time.Duration
		code    int
	}{
		{"taken", []*http.Response{done()}, 1, 0, cli.ExitOK},
		{"cut twice", []*http.Response{nil, nil, done()}, 3, 1500 * time.Millisecond, cli.ExitOK},
		{"the server saw the cut", []*http.Response{problem(400, "body-broken"), done()}, 2, 500 * time.Millisecond, cli.ExitOK},
		{"the file is cut", []*http.Response{problem(400, "body-broken"), problem(400, "body-broken")}, 2, 500 * time.Millisecond, cli.ExitFailed},
		{"the first request is not over", []*http.Response{problem(409, "key-in-use", "Retry-After", "2"), done()}, 2, 2 * time.Second, cli.ExitOK},
		{"told to wait", []*http.Response{problem(429, "too-many-requests", "Retry-After", "7"), done()}, 2, 7 * time.Second, cli.ExitOK},
		{"token died", []*http.Response{problem(401, "unauthorized"), done()}, 2, 0, cli.ExitOK},
		{"token refused", []*http.Response{problem(401, "unauthorized")}, 2, 0, cli.ExitFailed},
		{"refused", []*http.Response{problem(422, "mutations-refused")}, 1, 0, cli.ExitFailed},
		{"ended", []*http.Response{problem(409, "conflict")}, 1, 0, cli.ExitFailed},
		{"unreadable", []*http.Response{problem(400, "mutations-unreadable")}, 1, 0, cli.ExitFailed},
		{"a page", []*http.Response{clitest.AnswerWith(413, nil, "<html>")}, 1, 0, cli.ExitFailed},
		{"no publication", []*http.Response{clitest.AnswerWith(201, nil, "<html>")}, 1, 0, cli.ExitFailed},
		{"redirect", []*http.Response{clitest.AnswerWith(307, http.Header{"Location": {"https://evil.example"}}, "")}, 1, 0, cli.ExitFailed},
		{"told to wait too long", []*http.Response{problem(503, "busy", "Retry-After", "3600")}, 1, 0, cli.ExitFailed},
		{"never well", []*http.Response{nil}, 8, 45*time.Second + 500*time.Millisecond, cli.ExitFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := clitest.ParcelFile(t, "a.ndjson", clitest.ParcelLines("a", 9))
			want, err := os.ReadFile(path)
			must(t, err)
			synctest.Test(t, func(t *testing.T) {
				c := &Publish{URL: "https://schakel.example.nl/mutations/v1/datasets/d/", Kind: "auto", As: "auto", MaxTime: time.Minute, Files: []string{path}}
				inputs, err := c.inputs(nil)
				must(t, err)
				defer closeInputs(inputs)
				in := inputs[0]
				must(t, in.identify(c))
				tokens := 0
				s := newGroupSender(c, func(_ context.Context, renew bool) (string, error) {
					if renew {
						tokens++
					}
					return "t", nil
				}, io.Discard)
				tries := 0
				s.Client.Transport = clitest.RoundTripper(func(r *http.Request) (*http.Response, error) {
					body, err := io.ReadAll(r.Body)
					if err != nil || string(body) != string(want) || r.Header.Get("Idempotency-Key") != `"`+in.key+`"` || r.Header.Get("Expect") == "" ||
						r.URL.Path != "/mutations/v1/datasets/d/mutation-groups" || r.Header.Get("Content-Type") != "application/x-ndjson" || r.ContentLength != int64(len(want)) {
						t.Errorf("%d bytes, %v, %v", len(body), err, r)
					}
					tries++
					a := tt.answers[min(tries, len(tt.answers))-1]
					if a == nil {
						return nil, errors.New("connection reset by peer")
					}
					return a, nil
				})
				began := time.Now()
				out := s.send(t.Context(), in)
				took := time.Since(began)
				err = newPublishReport(c.dataset()).add(in, out)
				if code := cli.ExitCode(err, cli.Streams{Err: io.Discard}); code != tt.code || tries != tt.tries || took != tt.took {
					t.Errorf("exit %d after %d tries and %s: %v", code, tries, took, err)
				}
			})
		})
	}
}

// TestGroupSenderWaits tells each second how far it is, takes a line on which nothing moves for cut, and does not try on with a
// certificate that is not trusted.
func TestGroupSenderWaits(t *testing.T) {
	t.Parallel()
	path := clitest.ParcelFile(t, "a.ndjson", clitest.ParcelLines("a", 9))
	synctest.Test(t, func(t *testing.T) {
		c := &Publish{URL: "https://schakel.example.nl/mutations/v1/datasets/d", Kind: "auto", As: "auto", MaxTime: time.Minute, Files: []string{path}}
		inputs, err := c.inputs(nil)
		must(t, err)
		defer closeInputs(inputs)
		var said strings.Builder
		s := newGroupSender(c, nil, io.Discard)
		s.Client.Transport = clitest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if _, err := io.CopyN(io.Discard, r.Body, 1000); err != nil {
				return nil, err
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		began, report := time.Now(), newPublishReport(c.dataset())
		must(t, inputs[0].identify(c))
		stop := inputs[0].tell(&said)
		out := s.send(t.Context(), inputs[0])
		stop()
		if took := time.Since(began); took < stillTime || !errors.Is(out.err, errStill) {
			t.Errorf("took %s, %v", took, out.err)
		}
		if n := strings.Count(said.String(), " bytes sent ("); n < 590 || !strings.Contains(said.String(), "a.ndjson: 1000 of ") {
			t.Errorf("%d lines, such as %.200s", n, said.String())
		}
		s.Client.Transport = clitest.RoundTripper(func(*http.Request) (*http.Response, error) {
			return nil, &tls.CertificateVerificationError{Err: errors.New("expired")}
		})
		out = s.send(t.Context(), inputs[0])
		if err := report.add(inputs[0], out); out.tries != 1 || err == nil || report.Files[0].Groups != nil {
			t.Errorf("%d tries, %v", out.tries, err)
		}
	})
}

func TestMutationsPublishUsage(t *testing.T) {
	t.Parallel()
	a, other := clitest.ParcelFile(t, "a.ndjson", clitest.ParcelLines("a", 1)), clitest.ParcelFile(t, "other", "hello")
	good := []string{"--url", "https://x.example/mutations/v1/datasets/d"}
	for says, args := range map[string][]string{
		"--url":                    {a},
		"must be https":            {"--url", "http://x.example/d", a},
		"without ? and #":          {"--url", "https://x.example/d?x=1", a},
		"--token-url":              append(slices.Clone(good), "--token-url", "http://x.example", a),
		"UUID of version 4":        append(slices.Clone(good), "--key", "1", a),
		"that of one file":         append(slices.Clone(good), "--key", uuid.NewString(), a, a),
		"is one file":              append(slices.Clone(good), "--kind", "initial", a, a),
		"goes with an initial":     append(slices.Clone(good), "--kind", "delta", "--replace-reason", "x", a),
		"--kind must be one of":    append(slices.Clone(good), "--kind", "all", a),
		"--as must be one of":      append(slices.Clone(good), "--as", "csv", a),
		"no such file":             append(slices.Clone(good), a, filepath.Join(t.TempDir(), "none")),
		"is a folder":              append(slices.Clone(good), t.TempDir()),
		"neither XML, nor a zip":   append(slices.Clone(good), other),
		"is named twice":           append(slices.Clone(good), "--as", "xml", "-", "-"),
		"standard input is neithe": append(slices.Clone(good), "-"),
		"secret file":              append(slices.Clone(good), "--token-file", filepath.Join(t.TempDir(), "none"), a),
		`expected "<file> ..."`:    good,
	} {
		code, out, problems := command(t, append([]string{"mutations", "publish"}, args...)...)
		if code != cli.ExitUsage || !strings.Contains(problems, says) {
			t.Errorf("%v: exit %d, want %q\n%s\n%s", args, code, says, out, problems)
		}
	}
}

func TestFormOf(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{
		{"x.xml", "<a/>", "xml"},
		{"x", "\xef\xbb\xbf\n<a/>", "xml"},
		{"x.json", "PK\x03\x04", "zip"},
		{"x.zip", "PK\x05\x06", "zip"},
		{"x.json", "{", "json"},
		{"X.NDJSON", `{"groups"`, "ndjson"},
		{"x.jsonl", "", "ndjson"},
		{"-", ` { "groups":`, "json"},
		{"-", `{ "mutations":`, "ndjson"},
		{"-", "", ""},
		{"x.txt", "hello", ""},
		{"x.json", "[", ""},
		{"x", "\xff\xfe<\x00", "xml"},
	} {
		if got := formOf(tt[0], []byte(tt[1])); got != tt[2] {
			t.Errorf("%q as %s: %q, want %q", tt[1], tt[0], got, tt[2])
		}
	}
}

// The key of a file is always the same one, another for other bytes and other requests, and one that the API takes.
func TestContentKey(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("a"))
	other := sha256.Sum256([]byte("b"))
	key := contentKey("https://x.example/d/mutation-groups", sum[:])
	if id, err := uuid.Parse(key); err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 {
		t.Errorf("%s is no key: %v", key, err)
	}
	if key != contentKey("https://x.example/d/mutation-groups", sum[:]) || key == contentKey("https://x.example/d/mutation-groups", other[:]) ||
		key == contentKey("https://x.example/d/mutation-groups?kind=initial", sum[:]) {
		t.Errorf("%s is not the file's", key)
	}
}

// TestMutationsPublishWaits publishes standard input to a server that takes longer than a moment to say that the first request
// with the key is not over, and then ends the connection. Nothing of the input was sent, so it goes in with the next request.
//
// Rules: MUT-22, MUT-29.
func TestMutationsPublishWaits(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	early, body := make(chan bool, 1), make(chan string, 1)
	go func() {
		for first := true; ; first = false {
			c, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(c)
			r, err := http.ReadRequest(in)
			if err != nil {
				_ = c.Close()
				continue
			}
			answer := `{"code":"key-in-use","detail":"The first request is still being handled."}`
			status := "409 Conflict\r\nRetry-After: 0"
			if first {
				_ = c.SetReadDeadline(time.Now().Add(3 * time.Second))
				_, err = in.ReadByte()
				early <- !errors.Is(err, os.ErrDeadlineExceeded)
			} else {
				_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
				text, _ := io.ReadAll(r.Body)
				body <- string(text)
				answer, status = `{"publicationId":"mpb_1","status":"published"}`, "201 Created"
			}
			_, _ = fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", status, len(answer), answer)
			_ = c.Close()
		}
	}()
	token := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(token, []byte("t"), 0o600))
	lines := clitest.ParcelLines("a", 2000)
	code, out, problems := commandWith(t, lines, "mutations", "publish", "--json", "--url", "http://"+l.Addr().String()+"/mutations/v1/datasets/d", "--token-file", token, "-")
	if <-early {
		t.Error("the body was sent before the server told to go on")
	}
	if code != cli.ExitOK || strings.Contains(problems, "cannot be sent again") {
		t.Fatalf("exit %d: %s\n%s", code, out, problems)
	}
	if got := <-body; got != lines {
		t.Errorf("%d bytes of %d were sent", len(got), len(lines))
	}
}

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
