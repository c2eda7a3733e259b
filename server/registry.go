package main

import (
	"context"
	"log/slog"
	"strings"

	"schakel/delivery/filter"
	"schakel/delivery/mutation/area"
	"schakel/delivery/outbound"
	"schakel/delivery/window"
	"schakel/registry"
	"schakel/server/cli"
	"schakel/store"
	"schakel/web"
)

// registryFlags holds the flags that the services of the register need.
type registryFlags struct {
	keys         registry.KeySource
	baseURL      string
	organisation string
	profile      registry.Profile // where nobody chose
	mailServer   bool
}

// registryConfig configures the services of the register. A key that is not the one the stored secrets were
// sealed with is an error here, and not at the first delivery.
func registryConfig(ctx context.Context, db *store.DB, guard *outbound.Client, f registryFlags, log *slog.Logger) (registry.Config, error) {
	vault, err := f.keys.Open(ctx)
	if err != nil {
		return registry.Config{}, err
	}
	if err := vault.Check(ctx, db); err != nil {
		return registry.Config{}, err
	}
	return registry.Config{
		OwnDocuments: web.OwnDocuments(), MailServer: f.mailServer,
		DB: db, Now: cli.Clock, Log: log, Vault: vault, CheckURL: guard.CheckURL, CheckFilters: filter.Check, CheckWindows: window.Check, BaseURL: f.baseURL, Organisation: f.organisation,
		Profile: f.profile, ServedKinds: []string{store.EndpointWebhook, store.EndpointPull, store.EndpointAMQP, store.EndpointFiles, store.EndpointInbox},
		ReadArea: area.Boundary,
	}, nil
}

// ownContracts puts the descriptions of our own APIs in the register when the program
// starts, and says in /readyz when what runs is not what is registered (EDU-N03).
func (p *program) ownContracts() Service {
	return funcService{
		name:  "contracts",
		start: p.registry.OwnContracts.Register,
		ready: func(ctx context.Context) error {
			troubles, err := p.registry.OwnContracts.Check(ctx)
			if err != nil || len(troubles) == 0 {
				return err
			}
			var texts []string
			for _, t := range troubles {
				texts = append(texts, t.Text.String())
			}
			return warning(strings.Join(texts, " "))
		},
	}
}
