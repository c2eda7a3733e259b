package site

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/ui"
)

// AccountRows are the people of a partner, or those of the organisation when partnerID is empty. What is done to them is below base.
func (p *Portal) AccountRows(ctx context.Context, who registry.Actor, partnerID, base string) ([]ui.AccountRow, error) {
	accounts, err := p.DB.Accounts(ctx, partnerID)
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	var rows []ui.AccountRow
	for _, a := range accounts {
		row, err := p.AccountRow(ctx, who, a, base)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// AccountRow is somebody who may log in, with what can be done below base.
func (p *Portal) AccountRow(ctx context.Context, who registry.Actor, a store.Account, base string) (ui.AccountRow, error) {
	row := ui.AccountRow{
		Name: a.Name, Email: a.Email, Role: a.Role, Status: a.Status, LastLogin: a.LastLoginAt.Time, You: a.ID == who.ID, Href: base + "/" + a.ID,
	}
	if a.Status == store.AccountInvited {
		ends, err := p.Registry.Accounts.InvitationEnds(ctx, a)
		if err != nil {
			return row, err
		}
		row.InvitationEnds = ends.Time
	}
	switch {
	case row.You:
		return row, nil
	case a.Status == store.AccountBlocked:
		row.UnblockAction = row.Href + "/unblock"
	default:
		row.BlockAction, row.LinkAction = row.Href+"/block", row.Href+"/link"
	}
	row.RemoveAction = row.Href + "/removal"
	if who.Administrator && a.Factors > 0 {
		row.ResetAction = row.Href + "/reset-factors"
	}
	return row, nil
}
