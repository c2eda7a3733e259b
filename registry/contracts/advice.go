package contracts

import (
	"context"
	"sync"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/lint"
	"schakel/store"
)

// Advice scores contracts by the NL API Design Rules and what the Edukoppeling
// profile asks of events and webhooks (EDU-21). Reports are made when they are asked
// for, so that they follow the rules of this program, and cached while there is room.
type Advice struct {
	contracts *Contracts

	mu   sync.Mutex
	kept map[string]lint.Report // by digest of the document
	size int                    // findings in all of them
}

// keptFindings bounds the memory of what is kept, to some 20 MB.
const keptFindings = 50_000

// NewAdvice makes the service.
func NewAdvice(contracts *Contracts) *Advice {
	return &Advice{contracts: contracts, kept: map[string]lint.Report{}}
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
		a.keep(v.DocumentDigest(), report)
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

// OnUpload gives the advice on a document that is not kept, with the files of a zip
// that findings come from.
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
	report, ok := a.kept[digest]
	return report, ok
}

func (a *Advice) keep(digest string, report lint.Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	const own = 50 // a report without findings takes room too
	if _, ok := a.kept[digest]; ok {
		return
	}
	if weight := len(report.Findings) + own; a.size+weight > keptFindings {
		clear(a.kept)
		a.size = 0
	}
	a.kept[digest] = report
	a.size += len(report.Findings) + own
}
