package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/crypto/ocsp"
)

// status is the verdict of a source on a certificate.
type status int

const (
	statusUnknown status = iota
	statusGood
	statusRevoked
)

// answer is a status that was asked for.
type answer struct {
	status  status
	refresh time.Time // asked again from here on
	until   time.Time // the end of its life
}

// askResponders asks the OCSP responders that c names, one after another, and
// keeps the answer until its end. An error means that none of them answered.
func (v *Validator) askResponders(ctx context.Context, c, issuer *x509.Certificate, now time.Time) (status, error) {
	if cached, ok := v.answers.get(string(c.Raw)); ok && now.Before(cached.refresh) {
		return cached.status, nil
	}
	var err error
	for _, url := range reachable(c.OCSPServer) {
		found, failed := v.askResponder(ctx, url, c, issuer, now)
		if failed == nil {
			v.answers.put(string(c.Raw), found)
			return found.status, nil
		}
		err = errors.Join(err, failed)
	}
	if err == nil {
		err = fmt.Errorf("%w: OCSP: no address", errSource)
	}
	return statusUnknown, err
}

func (v *Validator) askResponder(ctx context.Context, url string, c, issuer *x509.Certificate, now time.Time) (answer, error) {
	question, err := ocsp.CreateRequest(c, issuer, nil)
	if err != nil {
		return answer{}, fmt.Errorf("%w: ask OCSP: %w", errSource, err)
	}
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(question))
	if err != nil {
		return answer{}, fmt.Errorf("%w: ask OCSP: %w", errSource, err)
	}
	request.Header.Set("Content-Type", "application/ocsp-request")
	request.Header.Set("Accept", "application/ocsp-response")
	body, err := v.fetch(ctx, request, v.cfg.MaxOCSP)
	if err != nil {
		return answer{}, fmt.Errorf("%w: ask OCSP: %w", errSource, err)
	}
	found, err := readOCSP(body, c, issuer, now)
	if err != nil {
		return answer{}, fmt.Errorf("%w: read OCSP: %w", errSource, err)
	}
	found.until = earlier(found.until, now.Add(v.cfg.CacheFor))
	found.refresh = found.until
	return found, nil
}

// readOCSP checks who signed an answer and how old it is.
func readOCSP(body []byte, c, issuer *x509.Certificate, now time.Time) (answer, error) {
	response, err := ocsp.ParseResponseForCert(body, c, issuer)
	if err != nil {
		return answer{}, err
	}
	if err := checkResponder(response.Certificate, issuer, now); err != nil {
		return answer{}, err
	}
	if response.ThisUpdate.After(now.Add(skew)) {
		return answer{}, errors.New("the answer is from the future")
	}
	until := response.NextUpdate
	switch {
	case until.IsZero() && now.Sub(response.ThisUpdate) > time.Hour:
		return answer{}, errors.New("the answer is old and has no end")
	case until.IsZero():
		until = now // newer ones are always to be had: not cached
	case now.After(until.Add(skew)):
		return answer{}, errors.New("the answer has ended")
	}
	switch response.Status {
	case ocsp.Good:
		return answer{status: statusGood, until: until}, nil
	case ocsp.Revoked:
		return answer{status: statusRevoked, until: until}, nil
	}
	return answer{status: statusUnknown, until: now}, nil
}

// checkResponder wants a delegated responder to be named so by the issuer
// (RFC 6960, 4.2.2.2). Without a certificate the issuer has signed itself.
func checkResponder(responder, issuer *x509.Certificate, now time.Time) error {
	switch {
	case responder == nil:
		return nil
	case !bytes.Equal(responder.RawIssuer, issuer.RawSubject):
		return errors.New("the responder's certificate is of another issuer")
	case !slices.Contains(responder.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning):
		return errors.New("the responder's certificate is not for OCSP")
	case now.Before(responder.NotBefore) || now.After(responder.NotAfter):
		return errors.New("the responder's certificate is not valid now")
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
