package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// TestNotices holds the notices in the tree against the modules that the program is built of now.
func TestNotices(t *testing.T) {
	t.Parallel()
	var now bytes.Buffer
	if err := run(t.Context(), []string{"notices"}, &now); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../THIRD-PARTY.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(now.Bytes(), kept) {
		t.Error("THIRD-PARTY.md is old: run make notices and commit the result")
	}
	for _, want := range []string{"| github.com/labstack/echo/v4 |", "Permission is hereby granted", "| htmx.org |", "| @utrecht/button-css |", "Go standard library", "LGPL-2.1"} {
		if !strings.Contains(now.String(), want) {
			t.Errorf("no %q in the notices", want)
		}
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Permission is hereby granted, free\n of charge, to any person":                                                         "MIT",
		"Apache License\n  Version 2.0, January 2004":                                                                           "Apache-2.0",
		"Redistributions in binary form must reproduce":                                                                         "BSD-2-Clause",
		"Redistributions in binary form must reproduce … may be used to endorse or promote products":                            "BSD-3-Clause",
		"for any purpose with or without fee is hereby granted, provided that the above copyright":                              "ISC",
		"Permission is hereby granted, free of charge … Licensed under the Apache License, Version 2.0":                         "Apache-2.0 AND MIT",
		"All rights reserved. You may look at it.":                                                                              "",
		"// Permission is hereby granted,\n// free of charge":                                                                   "MIT",
		"EUROPEAN UNION PUBLIC LICENCE v. 1.2":                                                                                  "EUPL-1.2",
		"software for\nany purpose with or without fee is hereby granted.\nTHE SOFTWARE IS PROVIDED":                            "0BSD",
		"Redistributions in binary form must reproduce … may be used to endorse or promote products: all advertising materials": "",
	} {
		got, err := identify(strings.ReplaceAll(text, "//", ""))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestSBOM holds that the list has each module once, with what SPDX requires, and that it covers the program.
func TestSBOM(t *testing.T) {
	t.Parallel()
	all, err := parts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info := &buildinfo.BuildInfo{GoVersion: "go1.26", Deps: []*debug.Module{{Path: "github.com/labstack/echo/v4", Sum: "h1:x"}}}
	for _, p := range all {
		if p.Name == info.Deps[0].Path {
			info.Deps[0].Version = p.Version
		}
	}
	o := options{version: "1.2.0", arch: "amd64", created: time.Unix(0, 0).UTC()}
	d, err := sbom(info, all, sha256.Sum256(nil), o)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{d.ID: true}
	sums := 0
	for _, p := range d.Packages {
		if ids[p.ID] || p.Name == "" || p.Version == "" || p.Concluded == "" || p.Declared == "" || p.Location == "" {
			t.Errorf("%+v", p)
		}
		if p.Comment == "go.sum: h1:x" {
			sums++
		}
		ids[p.ID] = true
	}
	for _, r := range d.Relationships {
		if !ids[r.Of] || !ids[r.To] {
			t.Errorf("%+v leads nowhere", r)
		}
	}
	if len(d.Packages) < 60 || len(d.Relationships) != len(d.Packages) || sums != 1 {
		t.Errorf("%d packages, %d relationships, %d sums", len(d.Packages), len(d.Relationships), sums)
	}
	info.Deps = append(info.Deps, &debug.Module{Path: "example.com/unknown", Version: "v1.0.0"})
	if _, err := sbom(info, all, sha256.Sum256(nil), o); err == nil || !strings.Contains(err.Error(), "example.com/unknown") {
		t.Errorf("a module without a licence: %v", err)
	}
}

// files reads an archive.
func files(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := all[h.Name]; twice {
			t.Errorf("%s is there twice", h.Name)
		}
		all[h.Name] = content
		if h.Name == "data/" && (h.Uid != containerUser || h.Mode != 0o750) {
			t.Errorf("%+v", h)
		}
	}
}

// TestImage follows the digests of an image from its index to the program, and holds that a second one has the same bytes.
func TestImage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, authorities := filepath.Join(dir, "schakel"), filepath.Join(dir, "ca.pem")
	for path, text := range map[string]string{program: "the program", authorities: "the authorities"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := run(t.Context(), []string{"image", "--version", "1.2.0+3", "--arch", "arm64", "--created", "2026-11-24", "--ca", authorities, "--binary", program}, out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two images of the same program differ")
	}
	all := files(t, &first)
	get := func(d descriptor) []byte {
		t.Helper()
		content := all[path(d)]
		if got := blob(d.MediaType, content); got.Digest != d.Digest || got.Size != d.Size {
			t.Fatalf("%+v is %+v", d, got)
		}
		return content
	}
	var top index
	var list manifest
	var config imageConfig
	for _, err := range []error{
		json.Unmarshal(all["index.json"], &top), json.Unmarshal(get(top.Manifests[0]), &list), json.Unmarshal(get(list.Config), &config),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	plain, err := gzip.NewReader(bytes.NewReader(get(list.Layers[0])))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	inside := files(t, bytes.NewReader(layer))
	if config.RootFS.DiffIDs[0] != blob("", layer).Digest || config.Architecture != "arm64" || config.Config.User != "65532:65532" || string(inside["usr/bin/schakel"]) != "the program" ||
		string(inside["etc/ssl/certs/ca-certificates.crt"]) != "the authorities" || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.0-3" {
		t.Errorf("%+v, %+v", config, top)
	}
	if !strings.Contains(string(all["manifest.json"]), "schakel:1.2.0-3") || len(all["oci-layout"]) == 0 {
		t.Error("docker load or OCI would not know it")
	}
}

// TestChartAndSums holds that the archive of the chart has its version, and that sums name each file.
func TestChartAndSums(t *testing.T) {
	t.Parallel()
	var chart bytes.Buffer
	if err := run(t.Context(), []string{"chart", "--version", "1.2.0~rc1", "--dir", "../chart"}, &chart); err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(chart.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	all := files(t, plain)
	if text := string(all["schakel/Chart.yaml"]); strings.Count(text, "1.2.0-rc1") != 2 || len(all["schakel/templates/deployment.yaml"]) == 0 {
		t.Errorf("%s", text)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	var sums bytes.Buffer
	if err := run(t.Context(), []string{"sums", "--dir", dir}, &sums); err != nil || !strings.HasSuffix(sums.String(), "48bb  a\n") {
		t.Errorf("%v: %s", err, sums.String())
	}
	for _, args := range [][]string{nil, {"other"}, {"chart", "--version", "1", "--dir", dir}, {"sbom"}, {"image"}, {"chart", "--created", "today"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%v is no error", args)
		}
	}
}
