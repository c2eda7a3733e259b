package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/store"
)

// endingPair makes a certificate for a server and client on this machine that ends at a moment, and the PEM of it and its key.
func endingPair(t *testing.T, name string, until time.Time) (pair tls.Certificate, certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: until.AddDate(-1, 0, 0), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	certPEM, keyPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	must(t, os.WriteFile(certificate, certPEM, 0o600))
	must(t, os.WriteFile(key, keyPEM, 0o600))
	pair, err = tls.X509KeyPair(certPEM, keyPEM)
	must(t, err)
	return pair, certificate, key
}

// mailServer is a mail server over TLS on this machine; shown gets the name of who sends each mail, by its certificate.
func mailServer(t *testing.T, config *tls.Config, implicit bool) (port int, shown <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	names := make(chan string, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go takeMail(conn, config, implicit, names)
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port, names
}

func takeMail(conn net.Conn, config *tls.Config, implicit bool, names chan<- string) {
	defer func() { _ = conn.Close() }()
	var secure *tls.Conn
	if implicit {
		secure = tls.Server(conn, config)
		conn = secure
	}
	lines := bufio.NewScanner(conn)
	_, _ = fmt.Fprint(conn, "220 here\r\n")
	for lines.Scan() {
		switch word, _, _ := strings.Cut(strings.ToUpper(lines.Text()), " "); word {
		case "EHLO":
			_, _ = fmt.Fprint(conn, "250-here\r\n250 STARTTLS\r\n")
		case "STARTTLS":
			_, _ = fmt.Fprint(conn, "220 go on\r\n")
			secure = tls.Server(conn, config)
			conn = secure
			lines = bufio.NewScanner(conn)
		case "DATA":
			_, _ = fmt.Fprint(conn, "354 go on\r\n")
			for lines.Scan() && lines.Text() != "." {
				continue
			}
			name := ""
			if certs := secure.ConnectionState().PeerCertificates; len(certs) > 0 {
				name = certs[0].Subject.CommonName
			}
			names <- name
			_, _ = fmt.Fprint(conn, "250 taken\r\n")
		case "QUIT":
			_, _ = fmt.Fprint(conn, "221 bye\r\n")
			return
		default:
			_, _ = fmt.Fprint(conn, "250 ok\r\n")
		}
	}
}

// A mail server that asks for a certificate is shown the one of the flags, and no password is needed; one whose certificate is of another
// authority gets no mail.
func TestMailByCertificate(t *testing.T) {
	t.Parallel()
	until := time.Now().AddDate(0, 0, 90)
	theirs, theirCert, _ := endingPair(t, "relay", until)
	_, ourCert, ourKey := endingPair(t, "schakel", until)
	roots := x509.NewCertPool()
	text, err := os.ReadFile(ourCert)
	must(t, err)
	roots.AppendCertsFromPEM(text)
	config := &tls.Config{Certificates: []tls.Certificate{theirs}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots, MinVersion: tls.VersionTLS12}
	mail := store.Mail{ID: "mal_1", Recipient: "x@y.nl", Subject: "s", Body: "b"}
	for _, mode := range []string{"starttls", "implicit"} {
		port, shown := mailServer(t, config, mode == "implicit")
		f := MailFlags{SMTPHost: "localhost", SMTPPort: port, SMTPTLS: mode, SMTPFrom: "a@b.nl", SMTPCA: theirCert, SMTPCertificate: ourCert, SMTPKey: ourKey}
		must(t, f.CheckFlags())
		sender, err := f.sender(nil)
		must(t, err)
		must(t, sender.Send(t.Context(), mail))
		if name := <-shown; name != "schakel" {
			t.Errorf("%s: shown %q", mode, name)
		}
		for what, wrong := range map[string]MailFlags{
			"without a certificate": {SMTPHost: "localhost", SMTPPort: port, SMTPTLS: mode, SMTPFrom: "a@b.nl", SMTPCA: theirCert},
			"without its authority": {SMTPHost: "localhost", SMTPPort: port, SMTPTLS: mode, SMTPFrom: "a@b.nl", SMTPCertificate: ourCert, SMTPKey: ourKey},
		} {
			sender, err := wrong.sender(nil)
			must(t, err)
			if err := sender.Send(t.Context(), mail); err == nil || len(shown) != 0 {
				t.Errorf("%s %s: sent", mode, what)
			}
		}
	}
	for _, wrong := range []MailFlags{
		{SMTPHost: "localhost", SMTPFrom: "a@b.nl", SMTPTLS: "starttls", SMTPKey: ourKey},
		{SMTPHost: "localhost", SMTPFrom: "a@b.nl", SMTPTLS: "none", SMTPCA: theirCert},
	} {
		if wrong.CheckFlags() == nil {
			t.Errorf("%+v: taken", wrong)
		}
	}
}
