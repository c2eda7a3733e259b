package outbound

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"schakel/store/needs"
)

// wire is a receiver that serves connections as a test says. It counts the requests it read by Idempotency-Key.
type wire struct {
	url    string
	client *Client
	dials  atomic.Int32
	mu     sync.Mutex
	got    map[string]int
}

// newWire starts a receiver, over TLS or plain. serve gets each connection, and calls next to read a request.
func newWire(t *testing.T, secure bool, serve func(c net.Conn, next func() bool)) *wire {
	t.Helper()
	w := &wire{got: make(map[string]int)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w.url, w.client = "http://"+listener.Addr().String(), New(Config{AllowPlainHTTP: true})
	if secure {
		model := httptest.NewTLSServer(nil)
		t.Cleanup(model.Close)
		listener = tls.NewListener(listener, &tls.Config{Certificates: model.TLS.Certificates})
		w.client = trusting(model, Config{AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
		w.url = "https://" + listener.Addr().String()
	}
	t.Cleanup(func() { _ = listener.Close(); w.client.CloseIdleConnections() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			w.dials.Add(1)
			go func() {
				defer func() { _ = c.Close() }()
				in := bufio.NewReader(c)
				serve(c, func() bool { return w.read(in) })
			}()
		}
	}()
	return w
}

func (w *wire) read(in *bufio.Reader) bool {
	r, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got[r.Header.Get("Idempotency-Key")]++
	return true
}

func (w *wire) has(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got[key] > 0
}

// post sends a request under a key for an owner.
func (w *wire) post(ctx context.Context, owner, key string) (*Response, error) {
	req, err := http.NewRequest("POST", w.url+"/hook", strings.NewReader(`{"event":true}`))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Idempotency-Key", key)
	return w.client.DoFor(ctx, owner, req)
}

func say(c net.Conn, status int, more string) {
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d Fine\r\nContent-Length: 0\r\n\r\n%s", status, more)
}

const extra = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"

// A receiver that writes two answers on a connection answers no request but the one it got, for whatever endpoint that is,
// whether the second comes at once, or a moment later, and the receiver reads no more.
//
// Rules: EDU-09.
func TestSecondAnswerDeliversNothing(t *testing.T) { // guarantee G1
	t.Parallel()
	for name, serve := range map[string]func(c net.Conn, next func() bool){
		"at once": func(c net.Conn, next func() bool) {
			if next() {
				say(c, 202, extra)
				time.Sleep(100 * time.Millisecond) // and reads no more
			}
		},
		"in two writes": func(c net.Conn, next func() bool) {
			if next() {
				say(c, 202, "")
				say(c, 202, "")
				time.Sleep(100 * time.Millisecond)
			}
		},
		"later": func(c net.Conn, next func() bool) {
			if next() {
				say(c, 202, "")
				time.Sleep(5 * time.Millisecond)
				say(c, 202, "")
				time.Sleep(100 * time.Millisecond)
			}
		},
		"now and then": func() func(c net.Conn, next func() bool) {
			var n atomic.Int32
			return func(c net.Conn, next func() bool) {
				for next() {
					if n.Add(1)%50 == 0 {
						say(c, 202, extra)
						return
					}
					say(c, 202, "")
				}
			}
		}(),
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %t", name, secure), func(t *testing.T) {
				t.Parallel()
				w := newWire(t, secure, serve)
				requests := 5000
				if secure && name != "at once" || !needs.All() {
					requests = 1000 // most go over a connection of their own, and a handshake takes long
				}
				var wrong, failed, unasked atomic.Int32
				var group sync.WaitGroup
				for sender := range 8 {
					group.Go(func() {
						for i := range requests / 8 {
							key := fmt.Sprintf("%d-%d", sender, i)
							resp, err := w.post(t.Context(), fmt.Sprint("endpoint ", sender%4), key)
							switch {
							case err != nil:
								failed.Add(1)
							case !w.has(key):
								wrong.Add(1)
							case resp.Unasked:
								unasked.Add(1)
							}
						}
					})
				}
				group.Wait()
				if n := wrong.Load(); n != 0 {
					t.Errorf("%d of %d requests were answered and never read", n, requests)
				}
				if n := failed.Load(); n > 50 {
					t.Errorf("%d of %d requests failed", n, requests)
				}
				if unasked.Load() == 0 {
					t.Error("nothing tells that the receiver answers unasked")
				}
			})
		}
	}
}

// No request of one owner goes over a connection of another, though the host is the same.
func TestOwnersShareNoConnection(t *testing.T) {
	t.Parallel()
	var owners sync.Map
	w := newWire(t, true, func(c net.Conn, next func() bool) {
		for next() {
			say(c, 202, "")
		}
	})
	for i := range 30 {
		for _, owner := range []string{"north", "south", "east"} {
			if _, err := w.post(t.Context(), owner, fmt.Sprint(owner, i)); err != nil {
				t.Fatal(err)
			}
			owners.Store(owner, true)
		}
		time.Sleep(idleBeforeReuse / 20)
	}
	p := w.client.pool.Load()
	seen := make(map[string]string)
	for name, o := range p.owners {
		for _, h := range o.hosts {
			for _, c := range h.idle {
				address := c.raw.LocalAddr().String()
				if other := seen[address]; other != "" {
					t.Errorf("%s and %s share a connection", name, other)
				}
				seen[address] = name.name
			}
		}
	}
	if len(p.owners) != 3 || len(seen) < 3 {
		t.Errorf("%d owners, %d connections", len(p.owners), len(seen))
	}
}

// A receiver that behaves gets its requests over few connections.
func TestLinesAreReused(t *testing.T) {
	t.Parallel()
	requests := 2000
	if needs.Raced {
		requests = 200
	}
	for _, secure := range []bool{false, true} {
		w := newWire(t, secure, func(c net.Conn, next func() bool) {
			for next() {
				say(c, 202, "")
			}
		})
		for i := range provenAfter {
			if _, err := w.post(t.Context(), "north", fmt.Sprint("first ", i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(idleBeforeReuse + 10*time.Millisecond)
		for i := range requests {
			if _, err := w.post(t.Context(), "north", fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		if n := w.dials.Load(); int(n) > 10+requests/50 {
			t.Errorf("TLS %t: %d connections for %d requests one by one", secure, n, requests)
		}
	}
}

// A receiver that closes connections that it kept open, with or without a word of it, loses no request and is not suspected.
func TestLineThatIsOver(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{
		"closed": "", "with 408": "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %t", name, secure), func(t *testing.T) {
				t.Parallel()
				closed := make(chan bool)
				w := newWire(t, secure, func(c net.Conn, next func() bool) {
					if next() {
						say(c, 202, "")
						time.Sleep(idleBeforeReuse)
						_, _ = io.WriteString(c, last)
						_ = c.Close()
						closed <- true
					}
				})
				for i := range 5 {
					resp, err := w.post(t.Context(), "north", fmt.Sprint(i))
					if err != nil || resp.Unasked || !w.has(fmt.Sprint(i)) {
						t.Fatalf("request %d: %+v, %v", i, resp, err)
					}
					<-closed
				}
			})
		}
	}
}

// A receiver that rejects a large request before it read it all is heard.
func TestEarlyRefusal(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		w := newWire(t, secure, func(c net.Conn, _ func() bool) {
			_, _ = c.Read(make([]byte, 1024))
			_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
			time.Sleep(200 * time.Millisecond)
		})
		req, err := http.NewRequest("POST", w.url, strings.NewReader(strings.Repeat("x", 16<<20)))
		must(t, err)
		resp, err := w.client.DoFor(t.Context(), "north", req)
		if err != nil || resp.Status != 413 {
			t.Errorf("TLS %t: %+v, %v", secure, resp, err)
		}
	}
}

// Informational answers come before the answer, and a header without end does not.
func TestLineAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		status int
		body   string
		kind   string
	}{
		"informational": {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", ""},
		"chunked":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, "ok", ""},
		"until the end": {"HTTP/1.0 200 OK\r\n\r\nok", 200, "ok", ""},
		"no content":    {"HTTP/1.1 204 No Content\r\n\r\n", 204, "", ""},
		"redirect":      {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 302, "", ""},
		"not HTTP":      {"SSH-2.0-OpenSSH_9.2\r\n\r\n", 0, "", KindProtocol},
		"nothing":       {"", 0, "", KindConnect},
		"a long header": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", 0, "", KindResponseTooLarge},
		"no end of it":  {strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 2000), 0, "", KindResponseTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, false, func(c net.Conn, next func() bool) {
				if next() {
					_, _ = io.WriteString(c, tt.answer)
				}
			})
			resp, err := w.post(t.Context(), "north", "1")
			if Kind(err) != tt.kind || err == nil && (resp.Status != tt.status || string(resp.Body) != tt.body) {
				t.Errorf("%+v, %v", resp, err)
			}
		})
	}
}

// The end of the context ends a request whatever the receiver does, as what it was.
func TestLineTimeout(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		w := newWire(t, secure, func(_ net.Conn, next func() bool) {
			next()
			time.Sleep(2 * time.Second)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := w.post(ctx, "north", "1")
		cancel()
		if Kind(err) != KindTimeout {
			t.Errorf("TLS %t, after the deadline: %v", secure, err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err = w.post(ctx, "north", "2"); Kind(err) != KindCanceled {
			t.Errorf("TLS %t, canceled: %v", secure, err)
		}
	}
}

// A receiver that speaks HTTP/2 gets it, and one that stops to speak it is reached all the same.
func TestLineVersionTwo(t *testing.T) {
	t.Parallel()
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Proto", r.Proto) })
	server := httptest.NewUnstartedServer(answer)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := trusting(server, Config{})
	for range 3 {
		resp, err := client.DoFor(t.Context(), "north", newRequest(t, "POST", server.URL, "x"))
		if err != nil || resp.Header.Get("X-Proto") != "HTTP/2.0" {
			t.Fatalf("%+v, %v", resp, err)
		}
	}
}

// A closed gate keeps a request from being written, and the connection stays as good as it was.
func TestGate(t *testing.T) {
	t.Parallel()
	w := newWire(t, true, func(c net.Conn, next func() bool) {
		for next() {
			say(c, 202, "")
		}
	})
	open := false
	ctx := WithGate(t.Context(), func() bool { return open })
	if _, err := w.post(ctx, "north", "1"); !errors.Is(err, ErrHeldBack) || Kind(err) != KindHeldBack {
		t.Errorf("%v", err)
	}
	open = true
	if _, err := w.post(ctx, "north", "2"); err != nil || w.has("1") || !w.has("2") {
		t.Errorf("%v, %v", err, w.got)
	}
}
