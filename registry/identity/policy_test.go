package identity

import (
	"testing"
	"time"

	"schakel/registry"
	"schakel/store"
)

// TestLimits: the shortest limit that holds for a role counts, and a role without its own has that of its side.
func TestLimits(t *testing.T) {
	t.Parallel()
	const h = time.Hour
	sides := registry.Profile{AdministratorIdle: 2 * h, AdministratorLogin: 12 * h, PartnerIdle: 3 * h, PartnerLogin: 24 * h}
	roles := sides
	roles.AdministratorRoleIdle, roles.AdministratorRoleLogin, roles.ManagerIdle, roles.ManagerLogin = h, 48*h, 9*h, 8*h
	for _, tc := range []struct {
		role         string
		idle, most   time.Duration
		idle2, most2 time.Duration // with limits of roles
	}{
		{store.RoleAdministrator, 2 * h, 12 * h, h, 12 * h},
		{store.RoleApprover, 2 * h, 12 * h, 2 * h, 12 * h},
		{store.RoleOperator, 2 * h, 12 * h, 2 * h, 12 * h},
		{store.RoleAuditor, 2 * h, 12 * h, 2 * h, 12 * h},
		{store.RoleManager, 3 * h, 24 * h, 3 * h, 8 * h},
		{store.RoleIntegrator, 3 * h, 24 * h, 3 * h, 24 * h},
		{store.RoleReader, 3 * h, 24 * h, 3 * h, 24 * h},
	} {
		account := store.Account{Role: tc.role}
		if idle, most := limits(sides, account); idle != tc.idle || most != tc.most {
			t.Errorf("%s: %s and %s", tc.role, idle, most)
		}
		if idle, most := limits(roles, account); idle != tc.idle2 || most != tc.most2 {
			t.Errorf("%s with limits of roles: %s and %s", tc.role, idle, most)
		}
	}
}
