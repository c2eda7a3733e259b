package contracts

import (
	"context"

	"schakel/registry"
	"schakel/registry/contracts/lint"
	"schakel/store"
)

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
		return registry.Conflict("Version %s has a score of %d of 100, and this chain asks for %d. Mend what the advice names and upload it again.",
			v.Version, report.Score, state.MinScore)
	}
	return nil
}

// GoodEnough reports whether a score reaches the one the chain asks for to publish.
func (a *Advice) GoodEnough(ctx context.Context, report lint.Report) (bool, error) {
	state, err := a.contracts.profile.InForce(ctx)
	return err == nil && report.Score >= state.MinScore, err
}
