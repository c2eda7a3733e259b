package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"schakel/registry/installation"
	"schakel/static"
	"schakel/web/site"
)

// maxBrandingFile bounds the logo and the style sheet of an organisation, in bytes: each browser loads them.
const maxBrandingFile = 256 << 10

// branding reads the logo and the style sheet that the flags name; nil when they name none.
func (f OrganisationFlags) branding() (*static.Branding, error) {
	files := make(map[string][]byte)
	if f.Logo != "" {
		content, err := readBrandingFile("--logo", f.Logo)
		if err != nil {
			return nil, err
		}
		switch ext := strings.ToLower(filepath.Ext(f.Logo)); {
		case ext == ".svg" && utf8.Valid(content) && bytes.Contains(content, []byte("<svg")):
			files[site.BrandingSVG] = content
		case ext == ".png" && bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n")):
			files[site.BrandingPNG] = content
		default:
			return nil, fmt.Errorf("--logo: %s is no SVG or PNG image; name a file that is one and ends in .svg or .png", f.Logo)
		}
	}
	if f.ThemeCSS != "" {
		content, err := readBrandingFile("--theme-css", f.ThemeCSS)
		if err != nil {
			return nil, err
		}
		if !utf8.Valid(content) {
			return nil, fmt.Errorf("--theme-css: %s is not UTF-8; save it as UTF-8", f.ThemeCSS)
		}
		files[site.BrandingTheme] = content
	}
	if len(files) == 0 {
		return nil, nil
	}
	return static.NewBranding(files), nil
}

func readBrandingFile(flag, path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	if info.IsDir() || info.Size() == 0 || info.Size() > maxBrandingFile {
		return nil, fmt.Errorf("%s: %s has %d bytes; name a file of 1 to %d bytes", flag, path, info.Size(), maxBrandingFile)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return content, nil
}

// portalName returns the name in the header; empty, for Schakel, while nobody named the organisation.
func (f OrganisationFlags) portalName() string {
	if f.Organisation == "" || f.Organisation == installation.DefaultOrganisation {
		return ""
	}
	return f.Organisation
}
