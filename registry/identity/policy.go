package identity

import (
	"context"
	"time"

	"schakel/registry"
	"schakel/registry/identity/passkey"
	"schakel/store"
)

// Configure gives the accounts the key that seals factors, the mails and the settings. Without it nobody has a second factor, nobody
// is mailed, and logins last as long as they do by default. Call it before the accounts are used.
func (a *Accounts) Configure(cfg registry.Config, profile registry.ProfileSource) error {
	site, err := passkey.SiteOf(cfg.BaseURL, cfg.Organisation)
	a.cfg, a.profile, a.site = cfg, profile, site
	return err
}

// policy reads the settings about people who log in.
func (a *Accounts) policy(ctx context.Context) (registry.Profile, error) {
	if a.profile == nil {
		return registry.Profile{AdministratorIdle: 2 * time.Hour, AdministratorLogin: 12 * time.Hour, PartnerIdle: 2 * time.Hour, PartnerLogin: 12 * time.Hour}, nil
	}
	inForce, err := a.profile.InForce(ctx)
	if err != nil {
		return registry.Profile{}, registry.Wrap("read settings of logins", err)
	}
	return *inForce, nil
}

// mustHaveFactor reports whether the settings, or a short password, ask a second factor of an account. An account without a password
// logs in at a provider, which has its own.
func mustHaveFactor(p registry.Profile, account store.Account) bool {
	if account.PasswordHash == "" {
		return false
	}
	asked := p.PartnerFactor
	if registry.OfOrganisation(account) {
		asked = p.AdministratorFactor
	}
	return asked == registry.PolicyRequire || account.ShortPassword
}

// limits returns the time that a login of an account lasts unused, and the longest that it lasts: of the limits of its side and of its role
// the shortest.
func limits(p registry.Profile, account store.Account) (idle, most time.Duration) {
	idle, most = p.PartnerIdle, p.PartnerLogin
	if registry.OfOrganisation(account) {
		idle, most = p.AdministratorIdle, p.AdministratorLogin
	}
	switch account.Role {
	case store.RoleAdministrator:
		return shortest(idle, p.AdministratorRoleIdle), shortest(most, p.AdministratorRoleLogin)
	case store.RoleManager:
		return shortest(idle, p.ManagerIdle), shortest(most, p.ManagerLogin)
	}
	return idle, most
}

// shortest returns the limit of a role where it has one and that is shorter.
func shortest(side, role time.Duration) time.Duration {
	if role == 0 {
		return side
	}
	return min(side, role)
}

// tell mails the owner of an account about a change of it.
func (a *Accounts) tell(ctx context.Context, tx *store.Tx, account store.Account, msg registry.Message) error {
	if a.cfg.Vault == nil {
		return nil
	}
	return registry.Wrap("mail the owner of an account", a.cfg.Mail(ctx, tx, account.Email, msg))
}
