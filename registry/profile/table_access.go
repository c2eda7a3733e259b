package profile

import (
	"time"

	"schakel/registry"
	"schakel/templates/i18n"
)

// twoPeople begins the keys of the settings that make actions of a kind wait for a second person.
const twoPeople = "access.two_people_"

// newDestination is the key of the setting about other destinations, and about clients that read.
const newDestination = "sending.new_destination"

// accessSettings are about people who log in to the portal. The Edukoppeling profile asks nothing of it.
func accessSettings() []Setting {
	factor := []Choice{{registry.PolicyRequire, "profile.choice.always"}, {registry.FactorOptional, "profile.access-factor.optional"}}
	duration := func(key string, title, explain i18n.Message, least, most string, at func(*registry.Profile) *time.Duration) Setting {
		return Setting{Key: key, Title: title, Explain: explain, Least: least, Most: most, at: func(p *registry.Profile) any { return at(p) }}
	}
	ofRole := func(key string, title i18n.Message, least, most string, at func(*registry.Profile) *time.Duration) Setting {
		s := duration(key, title, "profile.access-role.explain", least, most, at)
		s.Zero = "profile.access-role.zero"
		return s
	}
	two := []Choice{{registry.PolicyOn, "profile.access-two.on"}, {registry.PolicyOff, "profile.access-two.off"}}
	return []Setting{
		{
			Key: "access.administrator_factor", Title: "profile.access-administrator-factor.title", Explain: "profile.access-administrator-factor.explain",
			Choices: factor, at: func(p *registry.Profile) any { return &p.AdministratorFactor },
		},
		{
			Key: "access.partner_factor", Title: "profile.access-partner-factor.title", Explain: "profile.access-partner-factor.explain",
			Choices: factor, at: func(p *registry.Profile) any { return &p.PartnerFactor },
		},
		duration("access.administrator_idle", "profile.access-administrator-idle.title", "profile.access-idle.explain", "5m", "24h",
			func(p *registry.Profile) *time.Duration { return &p.AdministratorIdle }),
		duration("access.administrator_login", "profile.access-administrator-login.title", "profile.access-login.explain", "15m", "720h",
			func(p *registry.Profile) *time.Duration { return &p.AdministratorLogin }),
		duration("access.partner_idle", "profile.access-partner-idle.title", "profile.access-idle.explain", "5m", "24h",
			func(p *registry.Profile) *time.Duration { return &p.PartnerIdle }),
		duration("access.partner_login", "profile.access-partner-login.title", "profile.access-login.explain", "15m", "720h",
			func(p *registry.Profile) *time.Duration { return &p.PartnerLogin }),
		ofRole("access.administrator_role_idle", "profile.access-administrator-role-idle.title", "5m", "24h",
			func(p *registry.Profile) *time.Duration { return &p.AdministratorRoleIdle }),
		ofRole("access.administrator_role_login", "profile.access-administrator-role-login.title", "15m", "720h",
			func(p *registry.Profile) *time.Duration { return &p.AdministratorRoleLogin }),
		ofRole("access.manager_idle", "profile.access-manager-idle.title", "5m", "24h",
			func(p *registry.Profile) *time.Duration { return &p.ManagerIdle }),
		ofRole("access.manager_login", "profile.access-manager-login.title", "15m", "720h",
			func(p *registry.Profile) *time.Duration { return &p.ManagerLogin }),
		duration("access.proof_age", "profile.access-proof-age.title", "profile.access-proof-age.explain", "1m", "12h",
			func(p *registry.Profile) *time.Duration { return &p.ProofAge }),
		{
			Key: twoPeople + registry.TwoApprovals, Title: "profile.access-two-approvals.title", Explain: "profile.access-two-approvals.explain",
			Choices: two, at: func(p *registry.Profile) any { return &p.TwoApprovals },
		},
		{
			Key: twoPeople + registry.TwoRoutes, Title: "profile.access-two-routes.title", Explain: "profile.access-two-routes.explain",
			Choices: two, at: func(p *registry.Profile) any { return &p.TwoRoutes },
		},
		{
			Key: twoPeople + registry.TwoDiscards, Title: "profile.access-two-discards.title", Explain: "profile.access-two-discards.explain",
			Choices: two, at: func(p *registry.Profile) any { return &p.TwoDiscards },
		},
		{
			Key: twoPeople + registry.TwoSettings, Title: "profile.access-two-settings.title", Explain: "profile.access-two-settings.explain",
			Choices: two, at: func(p *registry.Profile) any { return &p.TwoSettings },
		},
		duration("access.confirmation_age", "profile.access-confirmation-age.title", "profile.access-confirmation-age.explain", "1h", "720h",
			func(p *registry.Profile) *time.Duration { return &p.ConfirmationAge }),
	}
}
