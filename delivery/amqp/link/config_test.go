package link_test

import (
	"context"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
)

// A configuration that cannot work is refused with words that say why.
func TestConfigRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cfg  link.Config
		says string
	}{
		"no scheme":         {link.Config{URL: "broker:5672"}, "amqp://"},
		"no host":           {link.Config{URL: "amqp:///x"}, "no host"},
		"password in URL":   {link.Config{URL: "amqp://u:p@broker"}, "user or password"},
		"query":             {link.Config{URL: "amqp://broker?x=1"}, "query"},
		"unknown mechanism": {link.Config{URL: "amqp://broker", SASL: "gssapi"}, "gssapi"},
		"external, no TLS":  {link.Config{URL: "amqp://broker", SASL: link.External}, "certificate"},
	} {
		_, err := link.New(test.cfg)
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Dialects are found by name; the dead-letter queue is that of the dialect.
//
// Rules: AMQP-50, INC-28
func TestDialects(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		deadLetter string
		credit     int
	}{
		"": {"100_dl", 50}, "rabbitmq4": {"100_dl", 50}, "rabbitmq310": {"100_dl", 1}, "servicebus": {"100_async/$DeadLetterQueue", 50},
	} {
		d, err := link.ParseDialect(name)
		if err != nil || d.DeadLetter("100_async") != want.deadLetter || d.Credit(50) != want.credit {
			t.Errorf("%q: %v, dead letters in %s, credit %d", name, err, d.DeadLetter("100_async"), d.Credit(50))
		}
	}
	for _, name := range []string{"kafka", "rabbitmq3"} {
		if _, err := link.ParseDialect(name); err == nil || !strings.Contains(err.Error(), "rabbitmq310") {
			t.Errorf("the unknown dialect %s: %v", name, err)
		}
	}
}

// The waits between tries double up to the longest; a send fails at once meanwhile.
//
// Rules: AMQP-08
func TestBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tries []time.Duration
		start := time.Now()
		c, err := link.New(link.Config{
			URL: "amqp://broker", Jitter: func() float64 { return 0 },
			Dial: func(context.Context, string, string) (net.Conn, error) {
				tries = append(tries, time.Since(start))
				return nil, net.UnknownNetworkError("no way there")
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Start(t.Context())
		time.Sleep(200 * time.Second)
		if state := c.State(); state.Phase != link.Waiting || !strings.Contains(state.Error, "no way there") {
			t.Errorf("the state is %+v", state)
		}
		if kind := link.KindOf(c.Send(t.Context(), "q", plain("1"))); kind != link.Unavailable {
			t.Errorf("Send gave %q", kind)
		}
		_ = c.Stop(t.Context())
		want := []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183}
		for i, at := range tries {
			if i >= len(want) || at != want[i]*time.Second {
				t.Fatalf("tried at %v", tries)
			}
		}
		if state := c.State(); state.Phase != link.Stopped {
			t.Errorf("the state is %+v", state)
		}
	})
}

// Sends that were given up, receivers that ended and connections that were stopped
// leave nothing running.
func TestNothingIsLeftRunning(t *testing.T) {
	b := brokertest.StartScripted(t, map[string]brokertest.Behaviour{"silent": "silent", "stall": "stall", "accept": "accept", "drop": "drop"})
	before := runtime.NumGoroutine()
	for range 10 {
		c, err := link.New(quick(link.Config{URL: b.URL, Dialect: link.ServiceBus()}))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Start(context.Background())
		ctx, cancel := context.WithCancel(within(t))
		results := make(chan error)
		for _, queue := range []string{"silent", "stall", "accept", "drop", "unknown"} {
			go func() { results <- c.Send(ctx, queue, plain("1")) }()
		}
		go func() {
			results <- c.Receive(ctx, "accept", 3, func(context.Context, *link.Delivery) error { return nil })
		}()
		<-results
		cancel()
		for range 5 {
			<-results
		}
		if err := c.Stop(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	for until := time.Now().Add(giveUp); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(until) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// TestStateSaysWhy: a caller without a connection finds the reason in its state.
//
// Rule: AMQP-08
func TestStateSaysWhy(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		c := connect(t, link.Config{URL: "amqp://" + address, Username: "u", Password: "p"})
		if err := c.Send(within(t), "q", plain("1")); link.KindOf(err) != link.Unavailable {
			t.Fatalf("Send gave %v", err)
		}
		if state := c.State(); state.Error == "" {
			t.Fatalf("the state is %+v", state)
		}
	}
}
