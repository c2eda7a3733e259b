package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"schakel/registry"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// security returns whom to tell of a vulnerability; nil where nobody is named.
func (f OrganisationFlags) security() (*site.SecurityContact, error) {
	if len(f.SecurityContact) == 0 {
		if f.SecurityPolicy != "" {
			return nil, errors.New("--security-policy needs --security-contact: name an address where a vulnerability is reported")
		}
		return nil, nil
	}
	s := &site.SecurityContact{Policy: f.SecurityPolicy, Languages: []string{f.Language}}
	if f.Language != string(i18n.English) {
		s.Languages = append(s.Languages, string(i18n.English))
	}
	for _, raw := range f.SecurityContact {
		address, ok := contactAddress(raw)
		if !ok {
			return nil, fmt.Errorf("--security-contact: %q is no e-mail address, nor an address with https: or tel:; write it as security@example.nl", raw)
		}
		s.Addresses = append(s.Addresses, address)
	}
	if f.SecurityPolicy != "" && !isHTTPS(f.SecurityPolicy) {
		return nil, fmt.Errorf("--security-policy: %q is no https address; write it as https://example.nl/disclosure", f.SecurityPolicy)
	}
	return s, nil
}

// contactAddress writes an address as security.txt has it; ok is false for one that it cannot have.
func contactAddress(raw string) (address string, ok bool) {
	if registry.ValidEmail(raw) {
		return "mailto:" + raw, true
	}
	if mail, found := strings.CutPrefix(raw, "mailto:"); found {
		return raw, registry.ValidEmail(mail)
	}
	if number, found := strings.CutPrefix(raw, "tel:"); found {
		return raw, number != "" && strings.Trim(number, "+-0123456789") == ""
	}
	return raw, isHTTPS(raw)
}

func isHTTPS(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && !strings.ContainsAny(raw, " \t\r\n")
}
