package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"schakel/store/needs"
)

// What a foreign client of TLS sees of our servers: nothing compressed, the extended master secret, no renegotiation, which a client may ask for with R,
// and no early data.
//
// Rules: SEC-24.
func TestTLSByOpenSSL(t *testing.T) {
	t.Parallel()
	needs.Full(t, "openssl")
	program := needs.Program(t, "openssl")
	certPath, keyPath := writeCertificate(t, t.TempDir(), ecKey(t), 1)
	certs, err := loadCertificate(certPath, keyPath, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", serverTLS(certs))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	says := func(input string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, append([]string{"s_client", "-connect", listener.Addr().String(), "-servername", "localhost"}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run() // it fails where the server ends the connection, which is looked for below
		return out.String()
	}
	const request = "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"
	for _, tc := range []struct {
		name, input string
		args        []string
		has, lacks  []string
	}{
		{"TLS 1.2", request, []string{"-tls1_2", "-comp", "-ign_eof"}, []string{"Compression: NONE", "Expansion: NONE", "Extended master secret: yes", "Secure Renegotiation IS supported", "404 Not Found"}, nil},
		{"renegotiation", "R\n", []string{"-tls1_2"}, []string{"RENEGOTIATING", "alert unexpected message"}, nil},
		{"TLS 1.3", request, []string{"-tls1_3", "-ign_eof"}, []string{"Compression: NONE", "Early data was not sent", "Max Early Data: 0", "404 Not Found"}, nil},
		{"TLS 1.1", request, []string{"-tls1_1", "-cipher", "ALL:@SECLEVEL=0"}, []string{"alert protocol version"}, []string{"404 Not Found"}},
	} {
		text := says(tc.input, tc.args...)
		for _, word := range tc.has {
			if !strings.Contains(text, word) {
				t.Errorf("%s: openssl does not say %q: %s", tc.name, word, text)
			}
		}
		for _, word := range tc.lacks {
			if strings.Contains(text, word) {
				t.Errorf("%s: openssl says %q", tc.name, word)
			}
		}
	}
}
