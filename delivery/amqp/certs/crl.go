package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

var errOtherList = errors.New("the list speaks of other certificates")

type list struct {
	revoked map[string]struct{} // serial numbers, as big-endian octets
	scope   scope
	refresh time.Time // fetched again from here on
	until   time.Time // of no use after this
	other   bool      // it is of another issuer
}

// listReread is the longest time between two looks at the file of a list.
const listReread = time.Minute

// askGiven looks c up in the lists of Config.Lists. ok is false when none of them speaks of it; err is then why one could not be read.
func (v *Validator) askGiven(ctx context.Context, c, issuer *x509.Certificate, now time.Time) (found status, ok bool, err error) {
	for _, place := range v.cfg.Lists {
		l, failed := v.listAt(ctx, place, issuer, now)
		if failed == nil {
			failed = l.scope.check(c)
		}
		switch {
		case errors.Is(failed, errOtherList):
			continue
		case failed != nil:
			err = errors.Join(err, fmt.Errorf("%w: revocation list %s: %w", errSource, place, failed))
			continue
		}
		if _, revoked := l.revoked[string(c.SerialNumber.Bytes())]; revoked {
			return statusRevoked, true, nil
		}
		found, ok = statusGood, true
	}
	return found, ok, err
}

// askLists looks c up in the lists that it names, which are cached until they are
// replaced. An error means that none could be had.
func (v *Validator) askLists(ctx context.Context, c, issuer *x509.Certificate, now time.Time) (status, error) {
	var failed error
	for _, url := range reachable(c.CRLDistributionPoints) {
		found, err := v.listAt(ctx, url, issuer, now)
		if err == nil {
			err = found.scope.check(c)
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if _, revoked := found.revoked[string(c.SerialNumber.Bytes())]; revoked {
			return statusRevoked, nil
		}
		return statusGood, nil
	}
	if failed == nil {
		failed = errors.New("no address")
	}
	return statusUnknown, fmt.Errorf("%w: revocation list: %w", errSource, failed)
}

// listAt gives the list of one issuer at one address. One in the cache serves
// on, while it is valid and Config.Grace beyond that, when a new one cannot be had.
func (v *Validator) listAt(ctx context.Context, url string, issuer *x509.Certificate, now time.Time) (list, error) {
	key := Thumbprint(issuer) + " " + url
	cached, ok := v.lists.get(key)
	if ok && now.Before(cached.refresh) {
		if cached.other {
			return list{}, errOtherList
		}
		return cached, nil
	}
	found, err := v.fetchList(ctx, url, issuer, now)
	switch {
	case errors.Is(err, errOtherList):
		v.lists.put(key, list{other: true, refresh: now.Add(listReread)})
		return list{}, err
	case err == nil:
		v.lists.put(key, found)
		return found, nil
	case ok && !cached.other && now.Before(cached.until.Add(v.cfg.Grace)):
		return cached, nil
	}
	return list{}, err
}

func (v *Validator) fetchList(ctx context.Context, url string, issuer *x509.Certificate, now time.Time) (list, error) {
	again := v.cfg.CacheFor
	var body []byte
	var err error
	if strings.Contains(url, "://") {
		body, err = v.download(ctx, url)
	} else {
		body, err = os.ReadFile(url)
		again = min(again, listReread)
	}
	if err != nil {
		return list{}, err
	}
	found, err := readLists(body, issuer, now)
	if err != nil {
		return list{}, err
	}
	found.refresh = earlier(found.until, now.Add(again))
	return found, nil
}

func (v *Validator) download(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return v.fetch(ctx, request, v.cfg.MaxCRL)
}

// readLists finds the list of an issuer among those of a file: one in DER, or any number in PEM.
func readLists(body []byte, issuer *x509.Certificate, now time.Time) (found list, err error) {
	block, rest := pem.Decode(body)
	if block == nil {
		return readList(body, issuer, now)
	}
	for ; block != nil; block, rest = pem.Decode(rest) {
		found, wrong := readList(block.Bytes, issuer, now)
		if wrong == nil {
			return found, nil
		}
		if err == nil || errors.Is(err, errOtherList) {
			err = wrong // what is wrong with the list of the issuer, rather than that another is none
		}
	}
	return list{}, err
}

// readList checks who signed a list and how old it is, and that nothing in it has a meaning we do not know.
func readList(der []byte, issuer *x509.Certificate, now time.Time) (list, error) {
	crl, err := x509.ParseRevocationList(der)
	if err != nil {
		return list{}, err
	}
	if !bytes.Equal(crl.RawIssuer, issuer.RawSubject) {
		return list{}, fmt.Errorf("%w: it is of another issuer", errOtherList)
	}
	if err := crl.CheckSignatureFrom(issuer); err != nil {
		return list{}, err
	}
	if crl.ThisUpdate.After(now.Add(skew)) {
		return list{}, errors.New("the list is from the future")
	}
	if crl.NextUpdate.IsZero() || now.After(crl.NextUpdate.Add(skew)) {
		return list{}, errors.New("the list has ended")
	}
	out := list{until: crl.NextUpdate, revoked: make(map[string]struct{}, len(crl.RevokedCertificateEntries))}
	if out.scope, err = readScope(crl); err != nil {
		return list{}, err
	}
	for _, entry := range crl.RevokedCertificateEntries {
		out.revoked[string(entry.SerialNumber.Bytes())] = struct{}{}
	}
	return out, nil
}

// scope is which certificates a list speaks of.
type scope struct {
	Point      asn1.RawValue  `asn1:"optional,tag:0"`
	Users      bool           `asn1:"optional,tag:1"`
	CAs        bool           `asn1:"optional,tag:2"`
	Reasons    asn1.BitString `asn1:"optional,tag:3"`
	Indirect   bool           `asn1:"optional,tag:4"`
	Attributes bool           `asn1:"optional,tag:5"`
}

// check wants a list that is one of several to be the one that c names, or else
// another part could be shown in which c cannot stand.
func (s scope) check(c *x509.Certificate) error {
	if s.Users && c.IsCA || s.CAs && !c.IsCA {
		return errOtherList
	}
	if len(s.Point.FullBytes) == 0 {
		return nil
	}
	for _, url := range c.CRLDistributionPoints {
		name, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 6, Bytes: []byte(url)})
		if err == nil && bytes.Contains(s.Point.Bytes, name) {
			return nil
		}
	}
	return errOtherList
}

// readScope reads the issuing distribution point (RFC 5280, 5.2.5). Lists of
// changes only, of some reasons only and of other issuers are not used.
func readScope(crl *x509.RevocationList) (scope, error) {
	var out scope
	for _, e := range crl.Extensions {
		if !e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 28}) {
			if e.Critical {
				return scope{}, fmt.Errorf("the list has an unknown extension %s", e.Id)
			}
			continue
		}
		if _, err := asn1.Unmarshal(e.Value, &out); err != nil {
			return scope{}, err
		}
	}
	if out.Indirect || out.Attributes || out.Reasons.BitLength > 0 {
		return scope{}, errOtherList
	}
	return out, nil
}
