package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// part is something of others in the program: a module of Go, the standard library, or a bundle in static.
type part struct {
	Name, Version string
	Licence       string // SPDX expression
	Texts         []string
	PURL          string // package URL
}

// parts lists what of others is in the program: the modules of its packages as they are built for a release, Go itself, and the bundles
// that it serves. It runs the go command in the current module.
func parts(ctx context.Context) ([]part, error) {
	root, err := goCommand(ctx, "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	list, err := goCommand(ctx, "list", "-tags", releaseTags, "-deps", "-json=Module", "schakel/server")
	if err != nil {
		return nil, err
	}
	type module struct {
		Path, Version, Dir string
		Main               bool
	}
	var all []part
	seen := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(list)); ; {
		var p struct{ Module *module }
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		if p.Module == nil || p.Module.Main || seen[p.Module.Path] {
			continue
		}
		seen[p.Module.Path] = true
		one, err := partIn(p.Module.Path, p.Module.Version, p.Module.Dir)
		if err != nil {
			return nil, err
		}
		one.PURL = "pkg:golang/" + one.Name + "@" + one.Version
		all = append(all, one)
	}
	bundles, err := bundled(strings.TrimSpace(string(root)))
	if err != nil {
		return nil, err
	}
	standard, err := standardLibrary(ctx)
	if err != nil {
		return nil, err
	}
	all = append(append(all, bundles...), standard)
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// releaseTags are the build tags of a release, as in .ci/release.
const releaseTags = "netgo,osusergo,sqlite_omit_load_extension"

func goCommand(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return out, nil
}

var legal = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|notice)(\.(md|txt))?$`)

// partIn reads the licence and the notices in a folder.
func partIn(name, version, dir string) (part, error) {
	p := part{Name: name, Version: version}
	files, err := os.ReadDir(dir)
	if err != nil {
		return part{}, fmt.Errorf("read the licence of %s: %w", name, err)
	}
	for _, f := range files {
		if f.IsDir() || !legal.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return part{}, fmt.Errorf("read the licence of %s: %w", name, err)
		}
		p.Texts = append(p.Texts, string(text))
		if strings.HasPrefix(strings.ToLower(f.Name()), "notice") {
			continue
		}
		if p.Licence, err = identify(string(text)); err != nil {
			return part{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	if p.Licence == "" {
		return part{}, fmt.Errorf("%s has no licence in %s", name, dir)
	}
	return p, nil
}

// origin finds the names and versions of packages in an ORIGIN.md.
var origin = regexp.MustCompile("(?m)(@?[a-z][a-z0-9/.-]*)[ @`|]+(?:version )?v?([0-9]+\\.[0-9]+\\.[0-9]+)")

// bundled lists the bundles in static/vendor and the list of common passwords, each with its licence and where it came from.
func bundled(root string) ([]part, error) {
	dirs, err := filepath.Glob(filepath.Join(root, "static", "vendor", "*"))
	if err != nil {
		return nil, fmt.Errorf("list the bundles: %w", err)
	}
	var all []part
	for _, dir := range append(dirs, filepath.Join(root, "registry", "identity", "wordlist")) {
		text, err := os.ReadFile(filepath.Join(dir, "ORIGIN.md"))
		if err != nil {
			return nil, fmt.Errorf("read where %s came from: %w", dir, err)
		}
		found := origin.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			return nil, fmt.Errorf("%s/ORIGIN.md names no package and version", dir)
		}
		for _, f := range found {
			p, err := partIn(f[1], f[2], dir)
			if err != nil {
				return nil, err
			}
			p.PURL = "pkg:npm/" + strings.Replace(p.Name, "@", "%40", 1) + "@" + p.Version
			all = append(all, p)
		}
	}
	return all, nil
}

// standardLibrary is the part that Go itself is.
func standardLibrary(ctx context.Context) (part, error) {
	out, err := goCommand(ctx, "env", "GOROOT")
	if err != nil {
		return part{}, err
	}
	p, err := partIn("Go standard library", strings.TrimPrefix(runtime.Version(), "go"), strings.TrimSpace(string(out)))
	p.PURL = "pkg:golang/stdlib@" + p.Version
	return p, err
}
