package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"schakel/server/trial"
)

// What the receiver answers.
const (
	receiverToken = "token-of-the-receiver"
	tokenBody     = `{"access_token":"` + receiverToken + `","token_type":"Bearer","expires_in":3600}`
)

// receiver plays the endpoints of partners: each has a port of its own, with a webhook and a token endpoint. It notes
// each event it gets in the ledger that its id names.
type receiver struct {
	naming  naming
	tokens  bool // whether a token is asked for
	scheme  string
	hosts   []string // of endpoint n, host and port
	ledgers [10]atomic.Pointer[ledger]
	holes   []atomic.Bool // endpoints that take a request and never answer
	rejects []atomic.Bool // endpoints that reject what they get, and do not note it

	requests, refused atomic.Int64

	ctx       context.Context
	end       context.CancelFunc
	listeners []net.Listener
	mu        sync.Mutex
	open      map[net.Conn]bool
	all       sync.WaitGroup
}

// anyPort has a receiver listen on a free port of this machine.
const anyPort = "127.0.0.1:0"

// startReceiver starts endpoints, each where listen says; config is nil for plain HTTP.
func startReceiver(n naming, endpoints int, listen string, tokens bool, config *tls.Config) (*receiver, error) {
	ctx, end := context.WithCancel(context.Background())
	r := &receiver{
		naming: n, tokens: tokens, scheme: "http", holes: make([]atomic.Bool, endpoints),
		rejects: make([]atomic.Bool, endpoints), ctx: ctx, end: end,
		open: map[net.Conn]bool{},
	}
	for i := range endpoints {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			r.close()
			return nil, fmt.Errorf("listen as endpoint %d: %w", i, err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		r.hosts = append(r.hosts, "localhost:"+port)
		if config != nil {
			r.scheme, l = "https", tls.NewListener(l, config)
		}
		r.listeners = append(r.listeners, l)
		r.all.Go(func() { r.listen(i, l) })
	}
	return r, nil
}

func (r *receiver) url(endpoint int, path string) string {
	return r.scheme + "://" + r.hosts[endpoint] + path
}

func (r *receiver) listen(endpoint int, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // closed
		}
		if !r.keep(conn) {
			_ = conn.Close()
			return
		}
		r.all.Go(func() {
			defer r.drop(conn)
			r.serve(endpoint, newWire(conn))
		})
	}
}

func (r *receiver) keep(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return false
	}
	r.open[conn] = true
	return true
}

func (r *receiver) drop(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, conn)
	_ = conn.Close()
}

// close ends all connections and returns when nothing runs any more.
func (r *receiver) close() {
	r.end()
	for _, l := range r.listeners {
		_ = l.Close()
	}
	r.mu.Lock()
	for conn := range r.open {
		_ = conn.Close()
	}
	r.mu.Unlock()
	r.all.Wait()
}

// serve answers the requests of one connection until it ends.
func (r *receiver) serve(endpoint int, w *wire) {
	accepted := []byte("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
	refused := []byte("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
	rejected := []byte("HTTP/1.1 422 Unprocessable Content\r\nContent-Length: 0\r\n\r\n")
	token := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(tokenBody), tokenBody)
	for {
		if w.next() != nil {
			return
		}
		answer := accepted
		switch {
		case bytes.HasPrefix(w.first, []byte("POST /token ")):
			answer = token
		case r.tokens && !is(w.token, "Bearer "+receiverToken):
			r.refused.Add(1)
			answer = refused
		case r.rejects[endpoint].Load():
			answer = rejected
		default:
			if r.holes[endpoint].Load() {
				<-r.ctx.Done() // the one who sends gives up first
				return
			}
			r.take(endpoint, w.body)
		}
		if _, err := w.conn.Write(answer); err != nil || w.closing {
			return
		}
	}
}

// take notes every event of a body, which may be a batch.
func (r *receiver) take(endpoint int, body []byte) {
	r.requests.Add(1)
	prefix := []byte(r.naming.run)
	for {
		_, rest, found := bytes.Cut(body, prefix)
		if !found {
			return
		}
		body = rest
		l, place, ok := r.find(rest)
		if !ok {
			continue
		}
		if l.route(place) != endpoint {
			l.misdirected.Add(1)
			continue
		}
		l.receive(place, l.now())
	}
}

// find reads what follows the prefix of an id: the digit of a ledger, a dash and a place.
func (r *receiver) find(id []byte) (l *ledger, place int, ok bool) {
	if len(id) < 2+placeDigits || id[0] < '0' || id[0] > '9' {
		return nil, 0, false
	}
	l = r.ledgers[id[0]-'0'].Load()
	place, ok = number(id[2 : 2+placeDigits])
	return l, place, ok && l != nil
}

// relayed is a request that was taken and not yet passed on.
type relayed struct {
	kind, key string
	body      []byte
}

const relayQueue = 1024

// startRelay starts a relay and gives the address to publish at. It does the work of a Schakel without its checks,
// its routing and its disk: a server of Go's own HTTP library that answers 202, and clients of it that post what they
// get to endpoint 0. Its throughput bounds that of any program in Go on this machine; it runs in the loader's own process.
func (s *stage) startRelay() string {
	queue := make(chan relayed, relayQueue)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	trial.Must(s, err)
	server := &http.Server{Handler: takeIn(queue), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if s.plan.tls {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{s.pki.Cert}, NextProtos: []string{"http/1.1"}})
	}
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(l) }) // ends with Close
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: maxConcurrency, TLSClientConfig: &tls.Config{RootCAs: s.roots, NextProtos: []string{"http/1.1"}},
	}}
	ctx, cancel := context.WithCancel(context.Background())
	for range maxConcurrency {
		all.Go(func() { s.passOn(ctx, client, queue) })
	}
	s.Cleanup(func() {
		_ = server.Close()
		cancel()
		client.CloseIdleConnections()
		all.Wait()
	})
	return "localhost:" + port
}

// takeIn answers 202 for what it could put in the queue.
func takeIn(queue chan<- relayed) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		queue <- relayed{r.Header.Get("Content-Type"), r.Header.Get("Idempotency-Key"), body}
		w.WriteHeader(http.StatusAccepted)
	}
}

// passOn posts what is in the queue until the context ends.
func (s *stage) passOn(ctx context.Context, client *http.Client, queue <-chan relayed) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-queue:
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.receiver.url(0, "/events"), bytes.NewReader(q.body))
			if err != nil {
				continue // the ledger shows it
			}
			req.Header.Set("Content-Type", q.kind)
			req.Header.Set("Idempotency-Key", q.key)
			req.Header.Set("Authorization", "Bearer "+receiverToken)
			if answer, err := client.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}
	}
}
