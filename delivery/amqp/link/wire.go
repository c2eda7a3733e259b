package link

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"time"

	amqp "github.com/Azure/go-amqp"
)

// closeGrace limits the time that a broker takes to close.
const closeGrace = time.Second

// wire is one open connection with one session.
type wire struct {
	raw     net.Conn
	conn    *amqp.Conn
	session *amqp.Session
}

// dial opens a wire, within ConnectTimeout.
func (c *Connection) dial(ctx context.Context) (*wire, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	raw, err := c.dialRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to broker: %w", err)
	}
	conn, err := amqp.NewConn(ctx, raw, c.options())
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("open AMQP connection: %w", err)
	}
	w := &wire{raw: raw, conn: conn}
	if w.session, err = conn.NewSession(ctx, nil); err != nil {
		w.close()
		return nil, fmt.Errorf("begin AMQP session: %w", err)
	}
	return w, nil
}

func (c *Connection) dialRaw(ctx context.Context) (net.Conn, error) {
	raw, err := c.cfg.Dial(ctx, "tcp", address(c.url))
	if err != nil || c.url.Scheme == "amqp" {
		return raw, err
	}
	config := c.cfg.TLS.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if config.ServerName == "" {
		config.ServerName = c.url.Hostname()
	}
	secure := tls.Client(raw, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return secure, nil
}

func (c *Connection) options() *amqp.ConnOptions {
	options := &amqp.ConnOptions{HostName: c.cfg.Dialect.virtualHost(c.url.Path), IdleTimeout: c.cfg.IdleTimeout, WriteTimeout: c.cfg.ConnectTimeout}
	if options.HostName == "" {
		options.HostName = c.url.Hostname()
	}
	switch c.cfg.SASL {
	case Plain:
		options.SASLType = amqp.SASLTypePlain(c.cfg.Username, c.cfg.Password)
	case External:
		options.SASLType = amqp.SASLTypeExternal("")
	default:
		options.SASLType = amqp.SASLTypeAnonymous()
	}
	return options
}

// close says goodbye, and hangs up when that takes too long. Nothing of the wire runs
// when it returns.
func (w *wire) close() {
	hangUp := time.AfterFunc(closeGrace, func() { _ = w.raw.Close() })
	defer hangUp.Stop()
	_ = w.conn.Close()
}

// lost gives why the wire ended.
func (w *wire) lost() error {
	if err := w.conn.Err(); err != nil {
		return fmt.Errorf("connection lost: %w", err)
	}
	return nil
}

func address(target *url.URL) string {
	port := target.Port()
	switch {
	case port != "":
	case target.Scheme == "amqps":
		port = "5671"
	default:
		port = "5672"
	}
	return net.JoinHostPort(target.Hostname(), port)
}
