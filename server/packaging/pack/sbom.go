package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"
)

// The form of SPDX 2.3 in JSON, as far as a list of modules needs it.
type (
	spdx struct {
		Version       string             `json:"spdxVersion"`
		DataLicense   string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID        string         `json:"SPDXID"`
		Name      string         `json:"name"`
		Version   string         `json:"versionInfo"`
		Location  string         `json:"downloadLocation"`
		Analyzed  bool           `json:"filesAnalyzed"`
		Concluded string         `json:"licenseConcluded"`
		Declared  string         `json:"licenseDeclared"`
		Copyright string         `json:"copyrightText"`
		Purpose   string         `json:"primaryPackagePurpose,omitempty"`
		Checksums []spdxChecksum `json:"checksums,omitempty"`
		Refs      []spdxRef      `json:"externalRefs,omitempty"`
		Comment   string         `json:"comment,omitempty"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxRef struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		Of   string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

const noAssertion = "NOASSERTION"

// writeSBOM lists the modules that the program itself says it was built of, with their licences.
func writeSBOM(ctx context.Context, out io.Writer, o options) error {
	if o.binary == "" || o.version == "" {
		return errors.New("sbom needs --binary and --version")
	}
	info, err := buildinfo.ReadFile(o.binary)
	if err != nil {
		return fmt.Errorf("read what %s was built of: %w", o.binary, err)
	}
	program, err := os.ReadFile(o.binary)
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	all, err := parts(ctx)
	if err != nil {
		return err
	}
	document, err := sbom(info, all, sha256.Sum256(program), o)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	return encoder.Encode(document)
}

// sbom is the document of a program. A module of the program that is not among the parts is an error: its licence is not known.
func sbom(info *buildinfo.BuildInfo, all []part, sum [sha256.Size]byte, o options) (*spdx, error) {
	digest := hex.EncodeToString(sum[:])
	d := &spdx{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "schakel-" + o.version + "-linux-" + o.arch,
		Namespace: "https://schakel.invalid/sbom/" + digest,
		Creation:  spdxCreation{Created: o.created.Format(time.RFC3339), Creators: []string{"Tool: schakel-pack"}},
	}
	const program = "SPDXRef-schakel"
	d.Packages = append(d.Packages, spdxPackage{
		ID: program, Name: "schakel", Version: o.version, Location: noAssertion, Concluded: noAssertion, Declared: noAssertion, Copyright: noAssertion,
		Purpose: "APPLICATION", Checksums: []spdxChecksum{{"SHA256", digest}}, Comment: "built with " + info.GoVersion + " for linux/" + o.arch,
	})
	d.Relationships = append(d.Relationships, spdxRelationship{d.ID, "DESCRIBES", program})
	sums := map[string]string{}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		sums[m.Path+"@"+m.Version] = m.Sum
	}
	for _, p := range all {
		key := p.Name + "@" + p.Version
		comment := ""
		if sum := sums[key]; sum != "" {
			comment = "go.sum: " + sum
		}
		delete(sums, key)
		one := spdxPackage{
			ID: spdxID(key), Name: p.Name, Version: p.Version, Location: noAssertion, Concluded: p.Licence, Declared: p.Licence, Copyright: noAssertion,
			Purpose: "LIBRARY", Refs: []spdxRef{{"PACKAGE-MANAGER", "purl", p.PURL}}, Comment: comment,
		}
		d.Packages = append(d.Packages, one)
		d.Relationships = append(d.Relationships, spdxRelationship{program, "CONTAINS", one.ID})
	}
	for unknown := range sums {
		return nil, fmt.Errorf("the program contains %s, which the source does not list: build it from this source", unknown)
	}
	return d, nil
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// spdxID makes an identifier of a name.
func spdxID(name string) string { return "SPDXRef-" + notInID.ReplaceAllString(name, "-") }
