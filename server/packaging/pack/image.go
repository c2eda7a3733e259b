package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// containerUser is the user and the group of the program in a container.
const containerUser = 65532

// The form of an OCI image, as far as one layer needs it.
type (
	descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Platform    *platform         `json:"platform,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	manifest struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}
	index struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Manifests     []descriptor `json:"manifests"`
	}
	imageConfig struct {
		Created      string         `json:"created"`
		Architecture string         `json:"architecture"`
		OS           string         `json:"os"`
		Config       runConfig      `json:"config"`
		RootFS       rootFS         `json:"rootfs"`
		History      []historyEntry `json:"history"`
	}
	runConfig struct {
		User         string              `json:"User"`
		ExposedPorts map[string]struct{} `json:"ExposedPorts"`
		Env          []string            `json:"Env"`
		Entrypoint   []string            `json:"Entrypoint"`
		Cmd          []string            `json:"Cmd"`
		Volumes      map[string]struct{} `json:"Volumes"`
		WorkingDir   string              `json:"WorkingDir"`
		Labels       map[string]string   `json:"Labels"`
	}
	rootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
	historyEntry struct {
		Created string `json:"created"`
		By      string `json:"created_by"`
	}
	// dockerManifest serves docker load of older versions.
	dockerManifest struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
)

// writeImage writes an image of the program on top of nothing, as a tarball in the layout of OCI that podman, skopeo, containerd and docker load.
func writeImage(out io.Writer, o options) error {
	if o.binary == "" || o.version == "" {
		return errors.New("image needs --binary and --version")
	}
	program, err := os.ReadFile(o.binary)
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	authorities, err := os.ReadFile(o.ca)
	if err != nil {
		return fmt.Errorf("read the certificates of authorities (Debian package ca-certificates, or --ca FILE): %w", err)
	}
	return image(out, program, authorities, o)
}

// image writes the tarball.
func image(out io.Writer, program, authorities []byte, o options) error {
	layer, diffID, err := layerOf(program, authorities, o.created)
	if err != nil {
		return err
	}
	created := o.created.Format(time.RFC3339)
	config, err := json.Marshal(imageConfig{
		Created: created, Architecture: o.arch, OS: "linux",
		Config: runConfig{
			User:         fmt.Sprintf("%d:%d", containerUser, containerUser),
			ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8090/tcp": {}},
			Env: []string{
				"SCHAKEL_DATABASE=sqlite:/data/schakel.db", "SCHAKEL_SECRET_KEY_FILE=/data/schakel.key", "SCHAKEL_ADMIN_ADDR=:8090",
				"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt", "PATH=/usr/bin",
			},
			Entrypoint: []string{"/usr/bin/schakel"}, Cmd: []string{"serve"}, Volumes: map[string]struct{}{"/data": {}}, WorkingDir: "/data",
			Labels: map[string]string{
				"org.opencontainers.image.title": "Schakel", "org.opencontainers.image.version": o.version, "org.opencontainers.image.created": created,
				"org.opencontainers.image.description": "Exchange events with chain partners.",
			},
		},
		RootFS:  rootFS{Type: "layers", DiffIDs: []string{diffID}},
		History: []historyEntry{{Created: created, By: "pack image: the program, certificates of authorities, /data and /tmp"}},
	})
	if err != nil {
		return err
	}
	const oci = "application/vnd.oci.image."
	configBlob := blob(oci+"config.v1+json", config)
	layerBlob := blob(oci+"layer.v1.tar+gzip", layer)
	list, err := json.Marshal(manifest{SchemaVersion: 2, MediaType: oci + "manifest.v1+json", Config: configBlob, Layers: []descriptor{layerBlob}})
	if err != nil {
		return err
	}
	manifestBlob := blob(oci+"manifest.v1+json", list)
	manifestBlob.Platform = &platform{o.arch, "linux"}
	name := "schakel:" + tag(o.version)
	manifestBlob.Annotations = map[string]string{"org.opencontainers.image.ref.name": tag(o.version), "io.containerd.image.name": "docker.io/library/" + name}
	top, err := json.Marshal(index{SchemaVersion: 2, MediaType: oci + "index.v1+json", Manifests: []descriptor{manifestBlob}})
	if err != nil {
		return err
	}
	older, err := json.Marshal([]dockerManifest{{Config: path(configBlob), RepoTags: []string{name}, Layers: []string{path(layerBlob)}}})
	if err != nil {
		return err
	}
	file := func(name string, content []byte) entry { return entry{name: name, content: content, mode: 0o644} }
	return writeTar(out, o.created, []entry{
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
		file(path(configBlob), config), file(path(layerBlob), layer), file(path(manifestBlob), list),
		file("index.json", top), file("manifest.json", older), file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)),
	})
}

// layerOf makes the one layer, compressed, and the digest of it before compression.
func layerOf(program, authorities []byte, at time.Time) (layer []byte, diffID string, err error) {
	const nobody = "root:x:0:0:root:/:/sbin/nologin\nschakel:x:65532:65532:schakel:/data:/sbin/nologin\n"
	entries := []entry{
		{name: "data/", mode: 0o750, owner: containerUser},
		{name: "etc/", mode: 0o755},
		{name: "etc/group", content: []byte("root:x:0:\nschakel:x:65532:\n"), mode: 0o644},
		{name: "etc/passwd", content: []byte(nobody), mode: 0o644},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", content: authorities, mode: 0o644},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/schakel", content: program, mode: 0o755},
	}
	plain := sha256.New()
	if err := writeTar(plain, at, entries); err != nil {
		return nil, "", err
	}
	var packed bytes.Buffer
	if err := writeTarGz(&packed, at, entries); err != nil {
		return nil, "", err
	}
	return packed.Bytes(), "sha256:" + hex.EncodeToString(plain.Sum(nil)), nil
}

// blob describes content.
func blob(mediaType string, content []byte) descriptor {
	sum := sha256.Sum256(content)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: len(content)}
}

// path is the place of a blob in the layout.
func path(d descriptor) string { return "blobs/sha256/" + d.Digest[len("sha256:"):] }

// tag is a version as the tag of an image, which knows no ~ and no +.
func tag(version string) string {
	return string(bytes.Map(func(r rune) rune {
		if r == '~' || r == '+' {
			return '-'
		}
		return r
	}, []byte(version)))
}
