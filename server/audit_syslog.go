package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"schakel/registry/audit"
	"schakel/registry/installation"
	"schakel/server/cli"
)

// How long a syslog server may take.
const (
	syslogDial  = 10 * time.Second // to be connected, TLS included
	syslogWrite = time.Minute      // to take a batch
	syslogClose = 30 * time.Second // to read the end of it, and close
)

// syslogServer sends entries to a syslog server: messages of RFC 5424, each behind its length in bytes (RFC 5425, and RFC 6587 without
// TLS). Syslog has no answers; therefore each batch has a connection of its own, which ends with our half of it closed, and counts as
// sent when the server has closed the other half: it has read everything then. A connection that breaks sends the batch again.
type syslogServer struct {
	address string
	config  *tls.Config // nil without TLS
	host    string      // of this machine
	version string
}

func newSyslogServer(f AuditFlags, out cli.OutboundFlags, shown *certificateFile) (*syslogServer, error) {
	address, plain := f.syslog()
	s := &syslogServer{address: address, host: thisHost(), version: syslogVersion()}
	if plain {
		return s, nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--audit-syslog: %w", err)
	}
	roots, err := out.Roots()
	if err != nil {
		return nil, err
	}
	s.config = &tls.Config{
		MinVersion: tls.VersionTLS12, CipherSuites: cipherSuites(), ServerName: host, RootCAs: roots, ClientSessionCache: tls.NewLRUClientSessionCache(1),
		VerifyConnection: out.Servers.At(installation.ExpirySyslog, address),
	}
	if shown != nil {
		s.config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return shown.get(nil) }
	}
	return s, nil
}

// send sends entries and waits until the server has read them.
func (s *syslogServer) send(ctx context.Context, lines []audit.Line) error {
	var batch []byte
	for _, l := range lines {
		message, err := l.Syslog(s.host, s.version)
		if err != nil {
			return err
		}
		batch = strconv.AppendInt(batch, int64(len(message)), 10)
		batch = append(append(batch, ' '), message...)
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return fmt.Errorf("connect to syslog server %s: %w", s.address, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := conn.SetDeadline(time.Now().Add(syslogWrite)); err != nil {
		return err
	}
	if _, err := conn.Write(batch); err != nil {
		return fmt.Errorf("send to syslog server %s: %w", s.address, err)
	}
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.New("this connection cannot be closed halfway")
	}
	if err := half.CloseWrite(); err != nil {
		return fmt.Errorf("end of what goes to syslog server %s: %w", s.address, err)
	}
	if err := conn.SetDeadline(time.Now().Add(syslogClose)); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(conn, 1<<20)); err != nil {
		return fmt.Errorf("wait until syslog server %s has read what was sent: %w", s.address, err)
	}
	return nil
}

func (s *syslogServer) connect(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, syslogDial)
	defer cancel()
	if s.config == nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
	}
	return (&tls.Dialer{Config: s.config}).DialContext(ctx, "tcp", s.address)
}
