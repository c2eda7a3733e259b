package amqp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"schakel/registry"
	"schakel/registry/amqp/cpa"
	"schakel/store"
)

const maxAddressBytes = 4 << 20

// ErrNoAddress says that the address registry knows nothing of a HER-id.
var ErrNoAddress = errors.New("the address registry does not know this HER-id")

// Address holds the entry of a party in an address registry: its queues, and its enterprise certificates in PEM.
type Address struct {
	Queues       cpa.Queues
	Certificates string
}

// AddressRegistry looks up the current address of a party of the health exchange (AMQP-57, AMQP-62, AMQP-72). Our own
// records of parties work without one; an address registry keeps them up to date.
type AddressRegistry interface {
	// Address finds a party; ErrNoAddress when it is not known.
	Address(ctx context.Context, herID int64) (Address, error)
}

// AddressFolder is an address registry in a folder: communication details, CPPs or CPAs as files that end in .xml or
// .json, and certificates as <HER-id>*.pem.
type AddressFolder struct{ Dir string }

// Address implements AddressRegistry.
func (f AddressFolder) Address(_ context.Context, herID int64) (Address, error) {
	files, err := os.ReadDir(f.Dir)
	if err != nil {
		return Address{}, fmt.Errorf("read address registry: %w", err)
	}
	var found Address
	known := false
	for _, file := range files {
		if file.IsDir() {
			continue
		}
		if ok, err := f.take(&found, file.Name(), herID); err != nil {
			return Address{}, fmt.Errorf("read address registry: %s: %w", file.Name(), err)
		} else if ok {
			known = true
		}
	}
	if !known {
		return Address{}, ErrNoAddress
	}
	return found, nil
}

// take adds the entry of a HER-id in a file, and reports whether there is one.
func (f AddressFolder) take(to *Address, name string, herID int64) (bool, error) {
	extension := strings.ToLower(filepath.Ext(name))
	switch {
	case extension == ".pem" && leadingNumber(name) == herID, extension == ".xml", extension == ".json":
	default:
		return false, nil
	}
	raw, err := readBounded(filepath.Join(f.Dir, name))
	if err != nil {
		return false, err
	}
	if extension == ".pem" {
		to.Certificates += string(raw) + "\n"
		return true, nil
	}
	return to.takeDocument(raw, herID), nil
}

// takeDocument adds what a document says of a HER-id. One that cannot be read, or is about others, says nothing.
func (a *Address) takeDocument(raw []byte, herID int64) bool {
	doc, err := cpa.Parse(raw)
	if err != nil {
		return false
	}
	details, ok := doc.Party(int(herID))
	if !ok {
		return false
	}
	if details.Queues != (cpa.Queues{}) {
		a.Queues = details.Queues
	}
	for _, c := range append(details.Certificates.Sign, details.Certificates.Encrypt...) {
		a.Certificates += writeChain(certificateChain{leaf: c})
	}
	return true
}

// leadingNumber is the number a name begins with; 0 when it does not.
func leadingNumber(name string) int64 {
	digits := name[:len(name)-len(strings.TrimLeft(name, "0123456789"))]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	return readAll(file)
}

func readAll(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxAddressBytes+1))
	if err == nil && len(raw) > maxAddressBytes {
		err = fmt.Errorf("more than %d bytes", maxAddressBytes)
	}
	return raw, err
}

// AddressURL is an address registry over HTTP: GET {Base}/{HER-id} gives communication details, a CPP or a CPA, and
// GET {Base}/{HER-id}/certificates the certificates in PEM. HTTP decides where requests may go and follows no redirects.
type AddressURL struct {
	Base *url.URL
	HTTP registry.Doer
}

// Address implements AddressRegistry.
func (u AddressURL) Address(ctx context.Context, herID int64) (Address, error) {
	id := strconv.FormatInt(herID, 10)
	raw, err := u.get(ctx, id)
	if err != nil {
		return Address{}, err
	}
	var found Address
	if !found.takeDocument(raw, herID) {
		return Address{}, fmt.Errorf("the answer of the address registry says nothing of HER-id %d", herID)
	}
	raw, err = u.get(ctx, id, "certificates")
	if errors.Is(err, ErrNoAddress) {
		return found, nil
	}
	found.Certificates += string(raw)
	return found, err
}

func (u AddressURL) get(ctx context.Context, path ...string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Base.JoinPath(path...).String(), nil) // #nosec G125 -- JoinPath escapes what a part may not hold
	if err != nil {
		return nil, fmt.Errorf("ask address registry: %w", err)
	}
	answer, err := u.HTTP.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask address registry: %w", err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		return readAll(answer.Body)
	case http.StatusNotFound, http.StatusGone:
		return nil, ErrNoAddress
	}
	return nil, fmt.Errorf("the address registry answered %d", answer.StatusCode)
}

// Refresh asks the address registry for a counterpart anew, adds its new certificates and takes its queues over (AMQP-62).
// Certificates that the registry no longer has stay until they expire: a message may be on its way that was made with them
// (AMQP-65). Without an address registry, or a HER-id, our own records are all there is.
func (a *AMQP) Refresh(ctx context.Context, partyID string) error {
	if a.addresses == nil {
		return nil
	}
	p, err := a.cfg.DB.AMQPParty(ctx, partyID)
	if err != nil {
		return registry.Found("party", err)
	}
	if p.Own || p.HerID == 0 {
		return nil
	}
	address, err := a.addresses.Address(ctx, p.HerID)
	if errors.Is(err, ErrNoAddress) {
		return nil
	}
	if err != nil {
		return err
	}
	chains, err := readCertificates(address.Certificates)
	if address.Certificates != "" && err != nil {
		return fmt.Errorf("certificates of the address registry: %w", err)
	}
	list := make([]enterprise, len(chains))
	for i, c := range chains {
		list[i] = enterprise{certificateChain: c}
	}
	_, err = a.changeParty(ctx, registry.SystemActor(), partyID, func(tx *store.Tx, row *store.AMQPParty) error {
		return a.takeOver(ctx, tx, row, address.Queues, list)
	})
	return err
}

func (a *AMQP) takeOver(ctx context.Context, tx *store.Tx, row *store.AMQPParty, queues cpa.Queues, list []enterprise) error {
	actor, before := registry.SystemActor(), *row
	if _, err := a.addCertificates(ctx, tx, actor, *row, list, store.AMQPRegistry); err != nil {
		return err
	}
	for _, q := range []struct {
		to   *string
		name string
	}{{&row.AsyncQueue, queues.Async}, {&row.SyncQueue, queues.Sync}, {&row.ErrorQueue, queues.Error}} {
		if q.name != "" && checkQueue(q.name, false) == "" {
			*q.to = q.name
		}
	}
	changed := *row != before
	row.RefreshedAt = tx.Now
	if changed {
		row.Source = store.AMQPRegistry
	}
	if err := tx.UpdateAMQPParty(ctx, row); err != nil {
		return partyTaken(err)
	}
	if !changed {
		return nil
	}
	return registry.Record(ctx, tx, actor, registry.ActionPartyChanged, partyObject(*row), partyDetails(*row))
}
