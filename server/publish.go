package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"schakel/server/cli"
)

// PublishCmd sends one event, or a batch, to a Schakel. The same
// Idempotency-Key goes with every try, so a try too many is one event still.
type PublishCmd struct {
	cli.ClientCredentials
	URL            string        `name:"url" required:"" placeholder:"URL" help:"Base address of the Schakel, as https://events.example.nl."`
	IdempotencyKey string        `placeholder:"UUID" help:"Key of this request (UUIDv4). Default: a new one. Give the one of a failed run to try that again."`
	MaxTime        time.Duration `default:"1m" help:"How long to keep trying while the other side is busy or unreachable."`
	Type           string        `placeholder:"TYPE" help:"With --source: the input is the event's data, and this its type. Default: the input is a whole event (JSON), or a batch (JSON array)."`
	Source         string        `placeholder:"URI" help:"Source of the event, with --type."`
	ID             string        `name:"id" placeholder:"ID" help:"Id of the event, with --type. Default: a new UUID."`
	Subject        string        `placeholder:"TEXT" help:"Subject of the event, with --type."`
	ContentType    string        `default:"application/json" help:"Content type of the data, with --type."`
	File           string        `arg:"" default:"-" help:"File to send; - is standard input."`
}

// maxPublishInput bounds the input, in bytes.
const maxPublishInput = 64 << 20

// CheckFlags checks what flags cannot say one by one.
func (c *PublishCmd) CheckFlags() error {
	if (c.Type == "") != (c.Source == "") {
		return errors.New("--type and --source go together")
	}
	if c.IdempotencyKey != "" {
		if id, err := uuid.Parse(c.IdempotencyKey); err != nil || id.Version() != 4 {
			return errors.New("--idempotency-key must be a UUID of version 4")
		}
	}
	if err := cli.CheckURL(c.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if c.ClientID == "" {
		return errors.New("--client-id is missing: say which client publishes")
	}
	return nil
}

// Run sends the event and prints the answer.
func (c *PublishCmd) Run(ctx context.Context, streams cli.Streams) error {
	body, err := c.read(streams.In)
	if err != nil {
		return err
	}
	key := c.IdempotencyKey
	if key == "" {
		key = uuid.NewString()
	}
	p, err := newPublisher(c, key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.MaxTime)
	defer cancel()
	answer, err := p.send(ctx, c.header(body), body)
	if len(answer) > 0 {
		fmt.Fprintln(streams.Out, strings.TrimSpace(string(answer)))
	}
	if err != nil {
		fmt.Fprintln(streams.Err, "idempotency key:", key)
	}
	return err
}

func (c *PublishCmd) read(in io.Reader) ([]byte, error) {
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, fmt.Errorf("open event: %w", err)
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, maxPublishInput+1))
	if err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	if len(body) > maxPublishInput {
		return nil, fmt.Errorf("read event: more than %d bytes", maxPublishInput)
	}
	return body, nil
}

// header picks the HTTP mode: binary for bare data, batch for a JSON array,
// structured for anything else.
func (c *PublishCmd) header(body []byte) http.Header {
	h := http.Header{}
	if c.Type != "" {
		c.binaryHeader(h)
		return h
	}
	h.Set("Content-Type", "application/cloudevents+json")
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		h.Set("Content-Type", "application/cloudevents-batch+json")
	}
	return h
}

func (c *PublishCmd) binaryHeader(h http.Header) {
	id := c.ID
	if id == "" {
		id = uuid.NewString()
	}
	h.Set("Content-Type", c.ContentType)
	for name, value := range map[string]string{
		"specversion": "1.0", "type": c.Type, "source": c.Source, "id": id, "subject": c.Subject,
	} {
		if value != "" {
			h.Set("ce-"+name, percentEncode(value))
		}
	}
}

// percentEncode writes a header value as the HTTP binding asks (CE-54): what is
// not printable ASCII, the quote and the percent sign become %XX.
func percentEncode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= 0x20 || c >= 0x7f || c == '"' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// publisher sends one request until it is settled.
type publisher struct {
	*cli.Machine
	eventURL string
	key      string
}

func newPublisher(c *PublishCmd, key string) (*publisher, error) {
	base := strings.TrimRight(c.URL, "/")
	m, err := c.Machine("publish", base, "events.publish")
	if err != nil {
		return nil, err
	}
	return &publisher{eventURL: base + "/events/v1/events", key: key, Machine: m}, nil
}

// send tries until the event is taken, refused, or the context ends.
func (p *publisher) send(ctx context.Context, header http.Header, body []byte) ([]byte, error) {
	header = header.Clone()
	header.Set("Idempotency-Key", strconv.Quote(p.key))
	return p.Post(ctx, p.eventURL, header, body)
}
