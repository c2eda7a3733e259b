package account

import (
	"context"
	"strings"
	"time"

	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// SessionRow is a browser in which the account is logged in.
type SessionRow struct {
	ID, Address string
	Device      i18n.Message
	Since, Seen time.Time
	Here        bool // the browser that asks
}

func (v AccountView) sessionsTable(ctx context.Context) ui.TableView {
	return ui.TableView{
		ID: "sessions", Caption: i18n.T(ctx, "account.devices"), Total: len(v.Sessions), Noun: [2]string{i18n.T(ctx, "account.session-noun"), i18n.T(ctx, "account.sessions-noun")},
		Columns: []ui.Column{
			{Label: i18n.T(ctx, "account.device")},
			{Label: i18n.T(ctx, "account.address")},
			{Label: i18n.T(ctx, "account.session-since")},
			{Label: i18n.T(ctx, "account.session-seen")},
			{Label: i18n.T(ctx, "ui.actions"), Unseen: true},
		},
	}
}

func (v AccountView) sessionCells(ctx context.Context, r SessionRow) ui.Cells {
	device := r.Device
	if r.Here {
		device = i18n.M("account.device-here", r.Device)
	}
	return ui.Cells{
		ui.PlainText(device.In(ctx)), ui.PlainText(r.Address), ui.Ago(r.Since, v.Now), ui.Ago(r.Seen, v.Now),
		ui.When(!r.Here, ui.PostButton(ui.Subtle, i18n.T(ctx, "account.end-session"), "/account/sessions/"+r.ID+"/end")),
	}
}

func (v AccountView) factorsText() i18n.Message {
	if v.Factors == 0 {
		return "account.factors-none"
	}
	return i18n.M("account.factors-count", v.Factors)
}

// joined is a code a line.
func joined(codes []string) string { return strings.Join(codes, "\n") }
