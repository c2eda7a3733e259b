package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"schakel/server/trial"
)

// relayed is a request that was taken and not yet passed on.
type relayed struct {
	kind, key string
	body      []byte
}

// relayQueue bounds what a relay holds.
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
