package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

// runDemo serves a Schakel from a scratch folder until the context ends, and
// removes the folder when it made it.
func runDemo(ctx context.Context, c DemoCmd, streams Streams, log *slog.Logger) error {
	dir := c.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "schakel-demo-"); err != nil {
			return fmt.Errorf("make scratch folder: %w", err)
		}
		defer os.RemoveAll(dir)
	}
	return run(ctx, ServeCmd{
		DatabaseFlags: DatabaseFlags{
			Database:      "sqlite:" + filepath.Join(dir, "schakel.db"),
			SecretKeyFile: filepath.Join(dir, "schakel.key"),
		},
		OrganisationFlags: OrganisationFlags{Organisation: "Schakel demo"},
		HTTPFlags:         HTTPFlags{Addr: c.Addr, AdminAddr: "127.0.0.1:0"},
	}, streams, log)
}
