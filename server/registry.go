package main

import (
	"context"
	"fmt"
	"log/slog"

	"schakel/delivery/outbound"
	"schakel/registry"
	"schakel/store"
)

// registryConfig is what the services of the register need of the flags.
type registryConfig struct {
	keyFile      string
	baseURL      string
	organisation string
}

// newRegistry makes the services of the register. A key that is not the one the
// stored secrets were sealed with is an error here, and not at the first delivery.
func newRegistry(ctx context.Context, db *store.DB, accounts *registry.Accounts, guard *outbound.Client, cfg registryConfig, log *slog.Logger) (*registry.Services, error) {
	vault, err := registry.OpenVault(cfg.keyFile)
	if err != nil {
		return nil, err
	}
	if err := vault.Check(ctx, db); err != nil {
		return nil, fmt.Errorf("check secret key: %w", err)
	}
	return registry.New(registry.Config{
		DB: db, Now: clock, Log: log, Vault: vault, CheckURL: guard.CheckURL,
		BaseURL: cfg.baseURL, Organisation: cfg.organisation,
	}, accounts)
}
