package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of the HTTP servers against slow and greedy clients (SEC-27). Routes
// that wait or carry large bodies lengthen the read and write times themselves.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 90 * time.Second
	maxHeaderBytes    = 32 << 10
)

// httpService serves HTTP at one address.
type httpService struct {
	name   string
	addr   string
	server *http.Server
	tls    *tls.Config // nil: plain HTTP
	failed func(error) // called when serving ends by itself
	listen net.Listener
	cancel context.CancelFunc
}

// newHTTPService makes the service; handler gets requests from Start on. failed
// is called when the server ends without having been stopped.
func newHTTPService(name, addr string, handler http.Handler, cfg *tls.Config, log *slog.Logger, failed func(error)) *httpService {
	base, cancel := context.WithCancel(context.Background())
	s := &httpService{name: name, addr: addr, tls: cfg, failed: failed, cancel: cancel}
	s.server = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	return s
}

// Name implements Service.
func (s *httpService) Name() string { return s.name }

// Addr is the address it listens on; the port is known after Start.
func (s *httpService) Addr() string {
	if s.listen == nil {
		return s.addr
	}
	return s.listen.Addr().String()
}

// Start listens and serves in the background.
func (s *httpService) Start(ctx context.Context) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.addr, err)
	}
	s.listen = l
	if s.tls != nil {
		s.server.TLSConfig = s.tls
	}
	go s.serve(l)
	return nil
}

func (s *httpService) serve(l net.Listener) {
	var err error
	if s.tls != nil {
		err = s.server.ServeTLS(l, "", "")
	} else {
		err = s.server.Serve(l)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		s.failed(fmt.Errorf("serve %s: %w", s.name, err))
	}
}

// Stop takes no new connection and waits for the requests in flight. Requests that are still busy when a third of the time is
// left see their context end. A quarter of the time is for the parts that stop next: connections that are open even then are
// broken, as those of a large body that comes or goes slowly; such a one goes on at the next start, or at another node.
func (s *httpService) Stop(ctx context.Context) error {
	defer s.cancel()
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		t := time.AfterFunc(left*2/3, s.cancel)
		defer t.Stop()
		b := time.AfterFunc(left*3/4, func() { _ = s.server.Close() })
		defer b.Stop()
	}
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close()
		return fmt.Errorf("drain requests: %w", err)
	}
	return nil
}
