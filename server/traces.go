package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/delivery/trace"
	"schakel/registry/installation"
	"schakel/server/cli"
	"schakel/server/release"
)

// TraceFlags name the collector that gets spans.
type TraceFlags struct {
	TraceEndpoint  string  `placeholder:"URL" help:"OpenTelemetry collector that gets spans of requests to the APIs and of attempts to deliver: OTLP over HTTP in JSON, as https://collector.example.nl:4318. http:// is for a collector on this machine alone. Its certificate is held against --ca-file, or the roots of the system. Default: none."`
	TraceTokenFile string  `placeholder:"FILE" help:"File that holds the header Authorization for the collector, as Bearer and a token. Refused when others can read it, as --tls-key."`
	TraceRatio     float64 `default:"0.01" placeholder:"0..1" help:"Share of what comes without a traceparent for which a trace begins. What comes with one is recorded when its sender records it."`
}

// CheckFlags checks what flags cannot say one by one.
func (f TraceFlags) CheckFlags() error {
	if f.TraceRatio < 0 || f.TraceRatio > 1 {
		return errors.New("--trace-ratio must be between 0 and 1")
	}
	if f.TraceEndpoint == "" {
		return nil
	}
	u, err := url.Parse(f.TraceEndpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return fmt.Errorf("--trace-endpoint: %q is no address, as https://collector.example.nl:4318", f.TraceEndpoint)
	}
	if u.Scheme == "http" && !installation.Local(f.TraceEndpoint) {
		return errors.New("--trace-endpoint: without TLS spans go to this machine alone, as http://127.0.0.1:4318; give an https address for a collector elsewhere")
	}
	return nil
}

// recorder makes what records spans; nil without a collector.
func (f TraceFlags) recorder() *trace.Recorder {
	if f.TraceEndpoint == "" {
		return nil
	}
	return trace.NewRecorder(f.TraceRatio, time.Now)
}

// traceService exports the spans of a recorder.
func traceService(f TraceFlags, out cli.OutboundFlags, recorder *trace.Recorder, node string, log *slog.Logger) (Service, error) {
	roots, err := out.Roots()
	if err != nil {
		return nil, err
	}
	token, err := cli.ReadSecretFile(f.TraceTokenFile)
	if err != nil {
		return nil, fmt.Errorf("--trace-token-file: %w", err)
	}
	to, err := url.Parse(f.TraceEndpoint)
	if err != nil {
		return nil, fmt.Errorf("--trace-endpoint: %w", err)
	}
	e := &trace.Exporter{
		Recorder: recorder, URL: f.TraceEndpoint, Header: http.Header{}, Log: log,
		Client: &http.Client{
			Transport: &http.Transport{
				TLSClientConfig: &tls.Config{
					MinVersion: tls.VersionTLS12, CipherSuites: cipherSuites(), RootCAs: roots, VerifyConnection: out.Servers.At(installation.ExpiryTraces, to.Host),
				},
				ForceAttemptHTTP2: true, IdleConnTimeout: idleTimeout,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Resource: []trace.Attr{{Key: "service.name", Value: "schakel"}, {Key: "service.version", Value: release.Current().Version}, {Key: "service.instance.id", Value: node}},
	}
	if token != "" {
		e.Header.Set("Authorization", token)
	}
	var done sync.WaitGroup
	var cancel context.CancelFunc
	return funcService{name: "traces", start: func(ctx context.Context) error {
		ctx, cancel = context.WithCancel(context.WithoutCancel(ctx)) // #nosec G118 -- stop calls it
		done.Go(func() { e.Run(ctx) })
		return nil
	}, stop: func(ctx context.Context) error {
		cancel()
		return waitFor(ctx, &done)
	}}, nil
}

// traceMetrics counts spans.
func traceMetrics(r *trace.Recorder) []prometheus.Collector {
	count := func(name, help string, read func() int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "schakel", Name: name, Help: help}, func() float64 { return float64(read()) })
	}
	return []prometheus.Collector{
		count("trace_spans_total", "Spans that the collector of --trace-endpoint took.", r.Sent),
		count("trace_spans_dropped_total", "Spans that were lost: too many waited, or the collector did not take them.", r.Dropped),
	}
}
