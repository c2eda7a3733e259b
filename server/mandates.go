package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	"schakel/delivery/event"
	"schakel/registry"
	"schakel/registry/mandate"
	"schakel/server/cli"
	"schakel/store"
)

// MandateFlags name the register that is asked who acts for other organisations.
type MandateFlags struct {
	Mandates string `placeholder:"FILE" help:"YAML file that describes the register of mandates that is asked when a partner sends or receives for another organisation, such as the OSR of Kennisnet; /docs/mandates lists what it holds. Default: nobody is asked."`
}

// mandateFile is a file that describes a register of mandates.
type mandateFile struct {
	URL       string        `yaml:"url"`
	KeyHeader string        `yaml:"key-header"`
	KeyFile   string        `yaml:"key-file"`
	Fresh     time.Duration `yaml:"fresh"`
	Unknown   string        `yaml:"unknown"`
	Recipient string        `yaml:"recipient-attribute"`
	Services  []struct {
		Types     []string `yaml:"types"`
		Namespace string   `yaml:"namespace"`
	} `yaml:"services"`
}

// What happens while the register cannot be asked.
const (
	unknownRefuse = "refuse"
	unknownAccept = "accept"
)

// read reads the file, and checks it.
func (f MandateFlags) read() (m mandateFile, key string, err error) {
	content, err := os.ReadFile(f.Mandates)
	if err != nil {
		return m, "", fmt.Errorf("--mandates: %w", err)
	}
	m = mandateFile{KeyHeader: "X-Api-Key", Fresh: time.Hour, Unknown: unknownRefuse}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		return m, "", fmt.Errorf("--mandates %s: %w", f.Mandates, err)
	}
	if err := m.check(); err != nil {
		return m, "", fmt.Errorf("--mandates %s: %w", f.Mandates, err)
	}
	if key, err = cli.ReadSecretFile(m.KeyFile); err != nil {
		return m, "", fmt.Errorf("--mandates %s: key-file: %w", f.Mandates, err)
	}
	return m, key, nil
}

func (m mandateFile) check() error {
	u, err := url.Parse(m.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "":
		return errors.New("url is missing, or is no address as https://osr.kennisnet.nl/api/v2")
	case m.KeyHeader == "" || strings.ContainsAny(m.KeyHeader, " :\r\n"):
		return errors.New("key-header must be the name of a header")
	case m.Fresh < time.Minute || m.Fresh > 24*time.Hour:
		return errors.New("fresh must be between 1m and 24h")
	case m.Unknown != unknownRefuse && m.Unknown != unknownAccept:
		return errors.New("unknown must be refuse or accept")
	case !registry.AllOf(m.Recipient, "abcdefghijklmnopqrstuvwxyz0123456789"):
		return errors.New("recipient-attribute must be the name of an extension attribute: small letters and digits")
	case len(m.Services) == 0:
		return errors.New("services is missing: without one no event needs a mandate")
	}
	for i, s := range m.Services {
		if s.Namespace == "" || len(s.Types) == 0 {
			return fmt.Errorf("services: %d: types and namespace are needed", i+1)
		}
		for _, t := range s.Types {
			if name := strings.TrimSuffix(strings.TrimSuffix(t, "*"), "."); !registry.ValidEventType(name) {
				return fmt.Errorf("services: %d: %q is no event type, nor a prefix and a star", i+1, t)
			}
		}
	}
	return nil
}

// CheckFlags checks what flags cannot say one by one.
func (f MandateFlags) CheckFlags() error {
	if f.Mandates == "" {
		return nil
	}
	_, _, err := f.read()
	return err
}

// checker makes what judges mandates; nil when nobody is asked.
func (f MandateFlags) checker(db *store.DB, client registry.Doer, log *slog.Logger) (registry.Mandates, error) {
	if f.Mandates == "" {
		return nil, nil
	}
	m, key, err := f.read()
	if err != nil {
		return nil, err
	}
	cfg := mandate.Config{
		Source: mandate.OSR{Base: m.URL, KeyHeader: m.KeyHeader, Key: key, HTTP: client}, Fresh: m.Fresh, Open: m.Unknown == unknownAccept, Attribute: m.Recipient,
		DB: db, Now: cli.Clock, Log: log,
	}
	for _, s := range m.Services {
		cfg.Services = append(cfg.Services, mandate.Service{Types: s.Types, Name: s.Namespace})
	}
	return mandate.New(cfg), nil
}

// whyNot tells why a client may not send events of a type and source over AMQP: by what it was granted, or since the organisation that the source
// names did not mandate it. While the register cannot be asked, and by setting that refuses, it is an error: the message waits at the broker.
func (p *program) whyNot(ctx context.Context, clientID, eventType, source string) (string, error) {
	client, err := p.db.Client(ctx, clientID)
	if errors.Is(err, store.ErrNotFound) {
		return "The party has no client whose rights hold for what it sends.", nil
	}
	if err != nil {
		return "", err
	}
	why, err := p.registry.Clients.WhyNot(ctx, client, eventType, source)
	if err != nil || why != "" || p.registry.Mandates == nil {
		return why, err
	}
	sender, err := p.db.Partner(ctx, client.PartnerID)
	if err != nil {
		return "", err
	}
	err = p.registry.Mandates.MaySend(ctx, sender, eventType, source)
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return e.Message.String(), nil
	}
	return "", err
}

// audience limits an event that came over AMQP and names a recipient to that one and those who have its mandate.
func (p *program) audience(ctx context.Context, ev *event.Event) (store.Audience, error) {
	if p.registry.Mandates == nil {
		return "", nil
	}
	recipient, ok := ev.Extension(p.registry.Mandates.RecipientAttribute())
	if !ok {
		return "", nil
	}
	return p.registry.Mandates.AudienceOf(ctx, ev.Type, recipient)
}
