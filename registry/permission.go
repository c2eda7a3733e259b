package registry

import (
	"slices"

	"schakel/store"
	"schakel/templates/i18n"
)

// Permission names something that somebody may do. A route names the one it needs when it is mounted; [Permissions] lists the roles
// that have it.
type Permission string

// What no role decides about.
const (
	// Anyone needs no account.
	Anyone Permission = "anyone"
	// ByToken is of machines: the scopes of their access token decide.
	ByToken Permission = "token"
)

// What roles allow. The first three are to read, and for everybody's own account.
const (
	ReadOrganisation Permission = "organisation.read"
	ReadPartner      Permission = "partner.read"
	// OwnFactors can be done by who has to get a second factor before anything else.
	OwnFactors          Permission = "factors.own"
	OwnAccount          Permission = "account.own"
	DecideApprovals     Permission = "approvals.decide"
	ChangeRoutes        Permission = "routes.change"
	PublishContracts    Permission = "contracts.publish"
	ChangeContracts     Permission = "contracts.change"
	ResendDeliveries    Permission = "queue.resend"
	DiscardDeliveries   Permission = "queue.discard"
	HandleIssues        Permission = "issues.handle"
	OperateEndpoints    Permission = "endpoints.operate"
	ChangeEndpoints     Permission = "endpoints.change"
	ChangeClients       Permission = "clients.change"
	ChangeSubscriptions Permission = "subscriptions.change"
	ChangePartners      Permission = "partners.change"
	ChangeBrokers       Permission = "brokers.change"
	ChangeDatasets      Permission = "datasets.change"
	ChangeOrganisation  Permission = "organisation.change"
	ManageMails         Permission = "mails.manage"
	ChangeSettings      Permission = "settings.change"
	// ConfirmActions decides about actions that wait for a second person, of the kinds that the role may take itself.
	ConfirmActions Permission = "confirmations.decide"
	ChangePeople   Permission = "people.change"
)

// Grant lists the roles that have a permission.
type Grant struct {
	Permission Permission
	Roles      []string
}

// What several permissions are for.
var (
	everyOrganisationRole = []string{store.RoleAdministrator, store.RoleApprover, store.RoleOperator, store.RoleAuditor}
	everyPartnerRole      = []string{store.RoleManager, store.RoleIntegrator, store.RoleReader}
	makers                = []string{store.RoleAdministrator, store.RoleManager, store.RoleIntegrator}
	operators             = []string{store.RoleAdministrator, store.RoleOperator, store.RoleManager, store.RoleIntegrator}
)

// grants holds the roles of each permission, in the order in which people read them; nothing else decides. People of the organisation have no
// role of a partner, so that a permission of both counts for each in its own part of the portal.
var grants = []Grant{
	{ReadOrganisation, everyOrganisationRole},
	{ReadPartner, everyPartnerRole},
	{OwnAccount, slices.Concat(everyOrganisationRole, everyPartnerRole)},
	{OwnFactors, slices.Concat(everyOrganisationRole, everyPartnerRole)},
	{DecideApprovals, []string{store.RoleAdministrator, store.RoleApprover}},
	{ChangeRoutes, []string{store.RoleAdministrator, store.RoleApprover}},
	{PublishContracts, []string{store.RoleAdministrator, store.RoleApprover, store.RoleManager, store.RoleIntegrator}},
	{ChangeContracts, makers},
	{ResendDeliveries, operators},
	{DiscardDeliveries, []string{store.RoleAdministrator, store.RoleOperator}},
	{HandleIssues, operators},
	{OperateEndpoints, operators},
	{ChangeEndpoints, makers},
	{ChangeClients, makers},
	{ChangeSubscriptions, makers},
	{ChangePartners, []string{store.RoleAdministrator}},
	{ChangeBrokers, []string{store.RoleAdministrator}},
	{ChangeDatasets, []string{store.RoleAdministrator}},
	{ChangeOrganisation, []string{store.RoleManager}},
	{ManageMails, []string{store.RoleAdministrator}},
	{ChangeSettings, []string{store.RoleAdministrator}},
	{ConfirmActions, []string{store.RoleAdministrator, store.RoleApprover, store.RoleOperator}},
	{ChangePeople, []string{store.RoleAdministrator, store.RoleManager}},
}

// Permissions is the table of who may do what.
func Permissions() []Grant { return slices.Clone(grants) }

// OrganisationRoles lists the roles of who is of the organisation that runs this Schakel, the one with most rights first.
func OrganisationRoles() []string { return slices.Clone(everyOrganisationRole) }

// PartnerRoles lists the roles of the people of a partner, the one with most rights first.
func PartnerRoles() []string { return slices.Clone(everyPartnerRole) }

// RolesOf lists the roles that people of a partner can have, or those of the organisation when partnerID is empty.
func RolesOf(partnerID string) []string {
	if partnerID == "" {
		return OrganisationRoles()
	}
	return PartnerRoles()
}

// RolesWith lists the roles that have a permission.
func RolesWith(p Permission) []string {
	for _, g := range grants {
		if g.Permission == p {
			return g.Roles
		}
	}
	return nil
}

// Allows reports whether a role has all of these permissions. What nobody needs a role for is allowed to all.
func Allows(role string, needed ...Permission) bool {
	return !slices.ContainsFunc(needed, func(p Permission) bool {
		return p != Anyone && p != ByToken && !slices.Contains(RolesWith(p), role)
	})
}

// Known reports whether a permission is one of the table, or one that needs no role.
func (p Permission) Known() bool { return p == Anyone || p == ByToken || RolesWith(p) != nil }

// Reads reports whether nothing but reading needs this permission, so that a route that changes something must name another.
func (p Permission) Reads() bool { return p == ReadOrganisation || p == ReadPartner }

// Require refuses an actor whose role does not have a permission. Machines and the program itself have none, and are not asked here.
func (a Actor) Require(p Permission) error {
	if a.Kind != ActorAccount || Allows(a.Role, p) {
		return nil
	}
	return &Error{Code: CodeForbidden, Message: i18n.M("registry.role-needed", AnyRole(p, a.Administrator))}
}

// AnyRole names the roles of which one is needed for a permission: those of the organisation, or those of partners.
func AnyRole(p Permission, organisation bool) i18n.Message {
	side := everyPartnerRole
	if organisation {
		side = everyOrganisationRole
	}
	var text i18n.Message
	for _, role := range side {
		if !Allows(role, p) {
			continue
		}
		word := i18n.Word("registry.role", role)
		if text == "" {
			text = word
		} else {
			text = i18n.M("registry.or", text, word)
		}
	}
	return text
}
