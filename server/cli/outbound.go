package cli

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"time"

	"schakel/delivery/outbound"
	"schakel/registry/partners"
)

// OutboundFlags bound where the program itself may connect to.
type OutboundFlags struct {
	AllowOutbound []netip.Prefix `placeholder:"CIDR" help:"Private or special range to which deliveries may go (repeatable). Default: none, only public addresses."`
	PlainHTTP     bool           `name:"plain-http-loopback" help:"Also deliver over http:// to this machine itself: for measurements and demonstrations, never for real data."`
	CAFile        string         `name:"ca-file" placeholder:"FILE" help:"PEM file with the roots that partners' certificates are checked against. Default: those of the system."`
}

// Client makes the one guarded client that every outgoing request passes, but for those of mirrors. A request may take as long as
// an endpoint may say.
func (f OutboundFlags) Client() (*outbound.Client, error) {
	return f.Guard(outbound.Config{ResponseTimeout: partners.LongestTimeout})
}

// MirrorHTTP makes the guarded client that fetches from registers of others: to the same addresses as all others, but for
// answers of the size of a contract, or of a list of them.
func (f OutboundFlags) MirrorHTTP(document int64) (*http.Client, error) {
	guard, err := f.Guard(outbound.Config{MaxResponseBytes: max(document, 8<<20) + 1, ResponseTimeout: time.Minute})
	if err != nil {
		return nil, err
	}
	return guard.HTTPClient(), nil
}

// PublicHTTP makes the guarded client that fetches what documents of partners refer to: from public addresses alone, since
// their owners read the answers.
func (f OutboundFlags) PublicHTTP(document int64) (*http.Client, error) {
	f.AllowOutbound, f.PlainHTTP = nil, false
	return f.MirrorHTTP(document)
}

// RevocationHTTP makes the guarded client that asks issuers about their certificates; they answer over plain HTTP, signed.
func (f OutboundFlags) RevocationHTTP() (*http.Client, error) {
	guard, err := f.Guard(outbound.Config{MaxResponseBytes: 16<<20 + 1, AllowUnsigned: true})
	if err != nil {
		return nil, err
	}
	return guard.HTTPClient(), nil
}

// MaxAnswerBytes bounds the answer to a question that came by AMQP; no broker takes a longer message.
const MaxAnswerBytes = 16 << 20

// Asking makes the guarded client that asks endpoints of ours, whose answers go on to who asked.
func (f OutboundFlags) Asking() (*outbound.Client, error) {
	return f.Guard(outbound.Config{MaxResponseBytes: MaxAnswerBytes})
}

// Guard makes a guarded client by the flags.
func (f OutboundFlags) Guard(cfg outbound.Config) (*outbound.Client, error) {
	cfg.AllowPrefixes, cfg.AllowPlainHTTP = f.AllowOutbound, f.PlainHTTP
	if f.CAFile != "" {
		pem, err := os.ReadFile(f.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read CA file: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s holds no PEM certificate", f.CAFile)
		}
	}
	return outbound.New(cfg), nil
}
