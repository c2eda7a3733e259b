package contractcmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"schakel/server/cli"
)

// Pull fetches a document, to build with.
type Pull struct {
	RegisterFlags
	Output string `short:"o" required:"" placeholder:"FILE" help:"File to keep it in, written only when it changes; - is standard output."`
	As     string `enum:"original,json,yaml" default:"original" help:"Form: original (byte for byte what was uploaded), json or yaml."`
	Digest string `placeholder:"SHA256" help:"Digest the bytes must have, as sha256:… or in hexadecimal; other bytes are refused."`
	Check  bool   `help:"Write nothing; fail when the file is not what the register has."`
	Name   string `arg:"" name:"contract" help:"ID or ID@VERSION; without a version the latest stable one."`
}

// Help implements kong.HelpProvider.
func (c *Pull) Help() string {
	return "The bytes are checked against the digest that the register tells. " + contractExits
}

// CheckFlags checks what flags cannot say one by one.
func (c *Pull) CheckFlags() error {
	if err := c.RegisterFlags.CheckFlags(); err != nil {
		return err
	}
	if _, _, ok := splitContract(c.Name); !ok {
		return fmt.Errorf("%q is no contract: write its id, or its id and version as students@1.2.0", c.Name)
	}
	if raw, err := hex.DecodeString(strings.TrimPrefix(c.Digest, "sha256:")); c.Digest != "" && (err != nil || len(raw) != sha256.Size) {
		return errors.New("--digest must be a SHA-256 in hexadecimal")
	}
	if c.Check && c.Output == "-" {
		return errors.New("--check compares with a file: give it with --output")
	}
	return nil
}

// Run fetches the document and keeps it.
func (c *Pull) Run(ctx context.Context, streams cli.Streams) error {
	return cli.PipelineError(c.run(ctx, streams))
}

func (c *Pull) run(ctx context.Context, streams cli.Streams) error {
	id, version, _ := splitContract(c.Name)
	if version == "" {
		version = "latest"
	}
	r, err := c.open("registry.read")
	if err != nil {
		return err
	}
	form := map[string]string{"original": "original", "json": "content.json", "yaml": "content.yaml"}[c.As]
	content, exact, err := r.fetch(ctx, id, version, form)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	name := fmt.Sprintf("%s@%s (sha256:%x)", id, exact, sum)
	if want := strings.TrimPrefix(c.Digest, "sha256:"); want != "" && !strings.EqualFold(want, hex.EncodeToString(sum[:])) {
		return cli.FoundError(name + " is not what --digest asks")
	}
	return c.keep(content, name, streams)
}

// keep writes the document where it belongs, or says that it is not there.
func (c *Pull) keep(content []byte, name string, streams cli.Streams) error {
	if c.Output == "-" {
		_, err := streams.Out.Write(content)
		return err
	}
	same, err := fileHolds(c.Output, content)
	switch {
	case err != nil:
		return err
	case same:
		fmt.Fprintf(streams.Out, "%s: unchanged, %s\n", c.Output, name)
		return nil
	case c.Check:
		return cli.FoundError(c.Output + " is not " + name)
	}
	if err := replaceFile(c.Output, content); err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "%s: written, %s\n", c.Output, name)
	return nil
}

// fileHolds reports whether a file has exactly these bytes; one that is not there has not.
func fileHolds(path string, content []byte) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read file: %w", err)
	}
	defer f.Close()
	has, err := io.ReadAll(io.LimitReader(f, int64(len(content))+1))
	if err != nil {
		return false, fmt.Errorf("read file: %w", err)
	}
	return bytes.Equal(has, content), nil
}

// replaceFile writes a file whole or not at all.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}
