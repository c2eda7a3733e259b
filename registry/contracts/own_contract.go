package contracts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/store"
	"schakel/templates/i18n"
)

// OwnContracts keeps the descriptions of our own APIs in the register, as contracts like any other (EDU-06a, EDU-N03): public
// but for what only the own organisation gets, owned by it, and never changed once they are there.
type OwnContracts struct {
	cfg       registry.Config
	contracts *Contracts
	all       []ownVersion
}

type ownVersion struct {
	registry.OwnDocument
	kind    contract.Kind
	version string
}

// OwnTrouble explains why the register does not have one of our own descriptions as this program serves it.
type OwnTrouble struct {
	ContractID, Version string
	Text                i18n.Message
}

// NewOwnContracts reads what the own documents say of themselves.
func NewOwnContracts(cfg registry.Config, contracts *Contracts) (*OwnContracts, error) {
	o := &OwnContracts{cfg: cfg, contracts: contracts}
	for _, d := range cfg.OwnDocuments {
		read, findings, err := contract.Parse(d.Content, contract.Limits{})
		if err != nil {
			return nil, fmt.Errorf("read description %s: %w", d.ID, err)
		}
		if read == nil {
			return nil, fmt.Errorf("read description %s: %s", d.ID, findings[0].Detail)
		}
		o.all = append(o.all, ownVersion{d, read.Kind, read.Version})
	}
	return o, nil
}

// Register puts what the register does not have yet in it. What it refuses is
// logged, and told by Check; the error is for faults only.
func (o *OwnContracts) Register(ctx context.Context) error {
	for _, own := range o.all {
		err := o.register(ctx, own)
		if refused, ok := errors.AsType[*registry.Error](err); ok {
			o.cfg.Log.WarnContext(ctx, "own description is not in the register", slog.String("contract", own.ID),
				slog.String("version", own.version), slog.String("reason", refused.Message.String()))
		} else if err != nil {
			return fmt.Errorf("register %s: %w", own.ID, err)
		}
	}
	return nil
}

// register publishes a version that is not published. It never touches one that is.
func (o *OwnContracts) register(ctx context.Context, own ownVersion) error {
	v, err := o.cfg.DB.ContractVersion(ctx, own.ID, own.version)
	if err == nil && v.Status != store.VersionDraft {
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("find version: %w", err)
	}
	actor := registry.SystemActor()
	_, err = o.contracts.Create(ctx, actor, ContractInput{
		ID: own.ID, Kind: string(own.kind), Title: own.Title, Description: own.Summary, Maintainer: o.cfg.Organisation,
		Visibility: own.visibility(),
	})
	// It is there when an older version is; several nodes may start at once.
	if refused, ok := errors.AsType[*registry.Error](err); err != nil && (!ok || refused.Code != registry.CodeConflict) {
		return err
	}
	if _, err := o.contracts.Upload(ctx, actor, own.ID, Upload{Content: own.Content, FileName: own.ID + ".yaml"}); err != nil {
		return err
	}
	in := PublishInput{Digest: digestOf(own.Content)}
	_, err = o.contracts.Publish(ctx, actor, own.ID, own.version, in)
	if _, breaks := errors.AsType[*BreakingChangeError](err); breaks {
		in.Reason = "contracts.own.reason" // a key, written for its reader where it is shown
		_, err = o.contracts.Publish(ctx, actor, own.ID, own.version, in)
	}
	if err != nil {
		now, again := o.cfg.DB.ContractVersion(ctx, own.ID, own.version)
		if again == nil && now.Status == store.VersionPublished {
			return nil // another node was first
		}
	}
	return err
}

// Check holds the descriptions that run against those in the register; none when each is there with the same bytes.
func (o *OwnContracts) Check(ctx context.Context) ([]OwnTrouble, error) {
	var troubles []OwnTrouble
	for _, own := range o.all {
		v, err := o.cfg.DB.ContractVersion(ctx, own.ID, own.version)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("find version: %w", err)
		}
		if text := own.trouble(v); text != "" {
			troubles = append(troubles, OwnTrouble{own.ID, own.version, text})
		}
	}
	return troubles, nil
}

func (own ownVersion) visibility() string {
	if own.Internal {
		return store.VisibilityInternal
	}
	return store.VisibilityPublic
}

// trouble says why a version is not what runs; empty when it is.
func (own ownVersion) trouble(v store.ContractVersion) i18n.Message {
	switch {
	case v.ID == "" || v.Status == store.VersionDraft:
		return i18n.M("contracts.own.not-published", own.version, own.ID)
	case v.Digest != digestOf(own.Content):
		return i18n.M("contracts.own.other-bytes", own.version, own.ID)
	case v.Status == store.VersionWithdrawn:
		return i18n.M("contracts.own.withdrawn", own.version, own.ID)
	}
	return ""
}
