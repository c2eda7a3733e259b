package identity

import (
	"context"
	"fmt"
	"slices"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// maxNamed bounds the people whom a refusal names.
const maxNamed = 3

// WhoGivesRoles names the people who can give somebody of a partner another role, or of the organisation when partnerID is empty.
func (a *Accounts) WhoGivesRoles(ctx context.Context, partnerID string) (i18n.Message, error) {
	all, err := a.db.Accounts(ctx, partnerID)
	if err != nil {
		return "", fmt.Errorf("list who gives roles: %w", err)
	}
	all = slices.DeleteFunc(all, func(one store.Account) bool { return !holds(one, registry.ChangePeople) })
	var text i18n.Message
	for _, one := range all[:min(len(all), maxNamed)] {
		if text == "" {
			text = i18n.Raw(one.Name)
		} else {
			text = i18n.M("registry.or", text, i18n.Raw(one.Name))
		}
	}
	if text == "" {
		return "identity.operator-of-server", nil
	}
	return text, nil
}

// holds reports whether somebody can log in, and has a permission then.
func holds(a store.Account, p registry.Permission) bool {
	return a.Status == store.AccountActive && registry.Allows(a.Role, p)
}
