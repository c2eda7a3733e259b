package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file, or a folder whose name ends in a slash, of an archive.
type entry struct {
	name    string
	content []byte
	mode    int64
	owner   int
}

// writeTar writes an archive with the order of its entries and one time for all.
func writeTar(out io.Writer, at time.Time, entries []entry) error {
	w := tar.NewWriter(out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: at, Uid: e.owner, Gid: e.owner, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return fmt.Errorf("write %s: %w", e.name, err)
		}
		if _, err := w.Write(e.content); err != nil {
			return fmt.Errorf("write %s: %w", e.name, err)
		}
	}
	return w.Close()
}

// writeTarGz is writeTar, compressed.
func writeTarGz(out io.Writer, at time.Time, entries []entry) error {
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(z, at, entries), z.Close())
}

// writeChart writes the archive of the chart in a folder, with the version of the release in its Chart.yaml.
func writeChart(out io.Writer, o options) error {
	if o.version == "" {
		return errors.New("chart needs --version")
	}
	var entries []entry
	err := filepath.WalkDir(o.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(o.dir, path)
		if err != nil {
			return err
		}
		if name == "Chart.yaml" {
			content = []byte(strings.ReplaceAll(string(content), "0.0.0-dev", semver(o.version)))
		}
		entries = append(entries, entry{name: "schakel/" + filepath.ToSlash(name), content: content, mode: 0o644})
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the chart: %w", err)
	}
	if len(entries) == 0 || !slices.ContainsFunc(entries, func(e entry) bool { return e.name == "schakel/Chart.yaml" }) {
		return fmt.Errorf("%s has no Chart.yaml", o.dir)
	}
	return writeTarGz(out, o.created, entries)
}

// semver is a version of a package as Helm takes it: 0.0.0~dev… sorts before 0.0.0 in packages, which is -dev in semantic versions.
func semver(version string) string { return strings.Replace(version, "~", "-", 1) }

// writeSums lists the SHA-256 of each file in a folder, as sha256sum --check reads it.
func writeSums(out io.Writer, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the release: %w", err)
	}
	for _, f := range files {
		if f.IsDir() || f.Name() == "SHA256SUMS" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return fmt.Errorf("read %s: %w", f.Name(), err)
		}
		sum := sha256.Sum256(content)
		if _, err := fmt.Fprintf(out, "%s  %s\n", hex.EncodeToString(sum[:]), f.Name()); err != nil {
			return err
		}
	}
	return nil
}
