package site

import (
	"net/http"
	"slices"
	"strings"

	"schakel/registry/identity"
	"schakel/registry/identity/token"
)

// OIDCConfig is login at an OpenID provider.
type OIDCConfig struct {
	// ID names the provider in addresses; those of several must differ. It may be empty.
	ID string
	// Issuer is the provider's issuer identifier, an https address.
	Issuer string
	// ClientID and ClientSecret are ours at the provider.
	ClientID, ClientSecret string
	// Label names the provider on the login page.
	Label string
	// Scopes to ask for; openid is added when it is missing.
	Scopes []string
	// Require lists what all must hold of anyone who logs in here.
	Require []ClaimRule
	// AdminEmails lists administrators by an address that the provider verified. Administrators makes administrators of all who fit one of its
	// rules. Both empty: nobody.
	AdminEmails    []string
	Administrators []ClaimRule
	// Partner makes people users of partners; without a claim nobody.
	Partner PartnerRule
	// OwnRedirect gives the provider a redirect address of its own, so that its answers are told from those of another that does not name itself.
	OwnRedirect bool
	// UntypedLogout takes logout tokens whose type is not logout+jwt, of providers that are older than that.
	UntypedLogout bool
	// HTTP is the guarded client that talks to the provider.
	HTTP *http.Client
}

// ClaimRule holds when a claim is a value, or a list or an object that holds it.
type ClaimRule struct {
	Claim string // a name, or the way to it in objects, as realm_access.roles
	Value string
}

// PartnerRule finds the partner of a person.
type PartnerRule struct {
	Claim string            // names the partner
	By    string            // by which of [identity.PartnerNumbers]
	Map   map[string]string // values of the claim that stand for others; empty takes them as they are
	Only  []string          // values or ids of partners that the provider may speak for; empty for all
	When  []ClaimRule       // what must hold besides
}

func (r ClaimRule) holds(claims map[string]any) bool {
	return r.Value != "" && slices.Contains(token.ClaimTexts(claims, r.Claim), r.Value)
}

func allHold(rules []ClaimRule, claims map[string]any) bool {
	return !slices.ContainsFunc(rules, func(r ClaimRule) bool { return !r.holds(claims) })
}

// Claims lists the claims that the configuration reads, but for sub.
func (cfg OIDCConfig) Claims() []string {
	names := []string{"email", "name"}
	for _, rules := range [][]ClaimRule{cfg.Require, cfg.Administrators, cfg.Partner.When} {
		for _, r := range rules {
			names = append(names, r.Claim)
		}
	}
	if cfg.Partner.Claim != "" {
		names = append(names, cfg.Partner.Claim)
	}
	return names
}

// Administrator reports whether these claims make someone administrator.
func (cfg OIDCConfig) Administrator(claims map[string]any) bool {
	if !allHold(cfg.Require, claims) {
		return false
	}
	if email, _ := claims["email"].(string); email != "" && EmailVerified(claims) {
		for _, allowed := range cfg.AdminEmails {
			if strings.EqualFold(strings.TrimSpace(allowed), email) {
				return true
			}
		}
	}
	return slices.ContainsFunc(cfg.Administrators, func(r ClaimRule) bool { return r.holds(claims) })
}

// PartnerOf returns what these claims say about the partner of a person; the zero value for nothing.
func (cfg OIDCConfig) PartnerOf(claims map[string]any) identity.PartnerClaim {
	rule := cfg.Partner
	if rule.Claim == "" || !allHold(cfg.Require, claims) || !allHold(rule.When, claims) {
		return identity.PartnerClaim{}
	}
	found := identity.PartnerClaim{By: rule.By, Only: rule.Only}
	for _, value := range token.ClaimTexts(claims, rule.Claim) {
		if len(rule.Map) > 0 {
			value = rule.Map[value]
		}
		if value != "" {
			found.Values = append(found.Values, value)
		}
	}
	return found
}

// EmailVerified reports whether the provider verified the e-mail address.
func EmailVerified(claims map[string]any) bool {
	verified, _ := claims["email_verified"].(bool)
	return verified
}
