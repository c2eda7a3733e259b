package mutationcmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/server/cli"
	"schakel/server/cli/clitest"
)

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
