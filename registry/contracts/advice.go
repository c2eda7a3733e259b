package contracts

import (
	"context"
	"sync"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/lint"
	"schakel/store"
)

// Advice scores contracts by the NL API Design Rules and what the Edukoppeling profile asks of events and webhooks (EDU-21).
// Reports are made when they are asked for, so that they follow the rules of this program, and cached while there is room.
type Advice struct {
	contracts *Contracts

	mu     sync.Mutex
	cached map[string]lint.Report // by digest of the document
	size   int                    // findings in all of them
}

// maxCachedFindings bounds the memory of cached reports, to some 20 MB.
const maxCachedFindings = 50_000

// NewAdvice makes the service.
func NewAdvice(contracts *Contracts) *Advice {
	return &Advice{contracts: contracts, cached: map[string]lint.Report{}}
}

// On gives the advice on a version of a contract that a reader may see. For a large
// document it may take a second, and it waits while others are read.
func (a *Advice) On(ctx context.Context, reader registry.Reader, id, version string) (store.ContractVersion, lint.Report, error) {
	v, err := a.contracts.Version(ctx, reader, id, version)
	if err != nil {
		return v, lint.Report{}, err
	}
	if report, ok := a.find(v.DocumentDigest()); ok {
		return v, report, nil
	}
	report, err := a.contracts.lintVersion(ctx, v)
	if err == nil {
		a.cache(v.DocumentDigest(), report)
	}
	return v, report, err
}

// quickSize is the document in bytes whose advice takes no time worth speaking of.
const quickSize = 256 << 10

// AtOnce is On for who would not wait: ok is false when the advice on a large
// document, or on one of several files, was not asked for before.
func (a *Advice) AtOnce(ctx context.Context, reader registry.Reader, v store.ContractVersion) (report lint.Report, ok bool, err error) {
	if report, ok = a.find(v.DocumentDigest()); ok || v.Size > quickSize || v.Files != "" {
		return report, ok, nil
	}
	_, report, err = a.On(ctx, reader, v.ContractID, v.Version)
	return report, err == nil, err
}

// OnUpload gives the advice on a document that is not stored, with the files of a zip that findings come from.
func (a *Advice) OnUpload(ctx context.Context, read *contract.Upload) (lint.Report, error) {
	leave, err := a.contracts.turns.take(ctx)
	if err != nil {
		return lint.Report{}, err
	}
	defer leave()
	report := lint.Check(read.Document)
	read.Trace(report.Findings)
	return report, nil
}

func (a *Advice) find(digest string) (lint.Report, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	report, ok := a.cached[digest]
	return report, ok
}

func (a *Advice) cache(digest string, report lint.Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	const own = 50 // a report without findings takes room too
	if _, ok := a.cached[digest]; ok {
		return
	}
	if weight := len(report.Findings) + own; a.size+weight > maxCachedFindings {
		clear(a.cached)
		a.size = 0
	}
	a.cached[digest] = report
	a.size += len(report.Findings) + own
}

// lintVersion reads the document of a version and gives the advice on it.
func (c *Contracts) lintVersion(ctx context.Context, v store.ContractVersion) (lint.Report, error) {
	leave, err := c.turns.take(ctx)
	if err != nil {
		return lint.Report{}, err
	}
	defer leave()
	doc, err := c.readVersion(ctx, v)
	if err != nil {
		return lint.Report{}, err
	}
	return lint.Check(doc), nil
}

// scored refuses a version whose score is below what the chain asks for
// (register.min_score), which is nothing unless it was chosen.
func (c *Contracts) scored(ctx context.Context, v store.ContractVersion) error {
	state, err := c.profile.InForce(ctx)
	if err != nil || state.MinScore == 0 {
		return err
	}
	report, err := c.lintVersion(ctx, v)
	if err != nil {
		return err
	}
	if report.Score < state.MinScore {
		return registry.Conflict("contracts.score-too-low", v.Version, report.Score, state.MinScore)
	}
	return nil
}

// GoodEnough reports whether a score reaches the one the chain asks for to publish.
func (a *Advice) GoodEnough(ctx context.Context, report lint.Report) (bool, error) {
	state, err := a.contracts.profile.InForce(ctx)
	return err == nil && report.Score >= state.MinScore, err
}
