package link_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
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
		must(t, err)
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

// Sends that were given up, receivers that ended and connections that were stopped leave nothing running.
func TestNothingIsLeftRunning(t *testing.T) {
	b := brokertest.StartScripted(t, map[string]brokertest.Behaviour{"silent": "silent", "stall": "stall", "accept": "accept", "drop": "drop"})
	before := runtime.NumGoroutine()
	for range 10 {
		c, err := link.New(quick(link.Config{URL: b.URL, Dialect: link.ServiceBus()}))
		must(t, err)
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
		must(t, c.Stop(within(t)))
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
	must(t, err)
	address := closed.Addr().String()
	must(t, closed.Close())
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

type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key, a.cert, _ = a.sign("authority", nil)
	return a
}

// sign makes a key and a certificate, by the authority or, without one, by itself.
func (a *authority) sign(name string, by *authority) (*ecdsa.PrivateKey, *x509.Certificate, []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: by == nil, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if by == nil {
		template.KeyUsage |= x509.KeyUsageCertSign
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	must(a.t, err)
	cert, err := x509.ParseCertificate(raw)
	must(a.t, err)
	return key, cert, raw
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func asPEM(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}

// Over TLS the broker is verified, and a certificate can be the login.
func TestTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	key, _, server := a.sign("broker", a)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	b := brokertest.StartOwn(t, brokertest.RabbitMQ4, &brokertest.Certificates{
		Authority: asPEM("CERTIFICATE", a.cert.Raw), Certificate: asPEM("CERTIFICATE", server), Key: asPEM("PRIVATE KEY", secret),
	})
	p := b.NewParty(t)
	b.User(t, "party", "", ".*", ".*")
	partyKey, _, party := a.sign("party", a)
	certificate := tls.Certificate{Certificate: [][]byte{party}, PrivateKey: partyKey}
	trusting := &tls.Config{RootCAs: a.pool(), MinVersion: tls.VersionTLS12}
	byCertificate := trusting.Clone()
	byCertificate.Certificates = []tls.Certificate{certificate}

	for name, test := range map[string]struct {
		cfg link.Config
		ok  bool
	}{
		"password":       {link.Config{TLS: trusting, Username: brokertest.User, Password: brokertest.Password}, true},
		"wrong password": {link.Config{TLS: trusting, Username: brokertest.User, Password: "wrong"}, false},
		"certificate":    {link.Config{TLS: byCertificate, SASL: link.External}, true},
		"unknown issuer": {link.Config{Username: brokertest.User, Password: brokertest.Password}, false},
		"nobody":         {link.Config{TLS: trusting, SASL: link.Anonymous, Username: ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.cfg.URL = b.TLSURL
			c := connect(t, test.cfg)
			err := c.Send(within(t), p.Async, plain("1"))
			if (err == nil) != test.ok {
				t.Errorf("Send gave %v", err)
			}
			if state := c.State(); !test.ok && state.Error == "" {
				t.Errorf("the state is %+v", state)
			}
		})
	}
}
