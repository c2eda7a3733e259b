package site

import (
	"context"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/sorted"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// AuditQuery is the filter of an audit trail as it was typed.
type AuditQuery struct{ Partner, Actor, action, object, text, zone, from, until string }

// ReadAuditQuery reads the filter of a request.
func ReadAuditQuery(c echo.Context) AuditQuery {
	read := func(name string) string { return Shown(Clean(c.QueryParam(name))) }
	return AuditQuery{read("partner"), read("actor"), read("action"), read("object"), read("text"), read("zone"), read("from"), read("until")}
}

// Empty reports whether everything is selected.
func (q AuditQuery) Empty() bool { return q == AuditQuery{zone: q.zone} }

// Filter turns the query into what the store selects; what is wrong is told by field.
func (q AuditQuery) Filter(wrong FormErrors) store.AuditFilter {
	from, until := Period(q.zone, q.from, q.until, wrong)
	return store.AuditFilter{PartnerID: q.Partner, Action: q.action, ActorID: q.Actor, ObjectID: q.object, Text: q.text, From: from, Until: until}
}

// Fields are the fields of the form but for the partner: what happened, who did it, to what, and when.
func (q AuditQuery) Fields(ctx context.Context, actions []string, actors []ui.Option) []ui.Field {
	kinds := []ui.Option{{Label: i18n.T(ctx, "admin.audit.all-actions")}}
	for _, action := range actions {
		kinds = append(kinds, ui.Option{Value: action, Label: ActionLabel(ctx, action)})
	}
	sorted.By(kinds[1:], func(a, b ui.Option) int { return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)) })
	return []ui.Field{
		ChoiceField("action", i18n.T(ctx, "admin.audit.action"), q.action, kinds),
		ChoiceField("actor", i18n.T(ctx, "admin.audit.done-by"), q.Actor, actors),
		{Name: "text", Label: i18n.T(ctx, "admin.audit.text"), Value: q.text, MaxLength: MaxFilterText},
		{Name: "object", Label: i18n.T(ctx, "admin.audit.object"), Value: q.object, MaxLength: MaxFilterText},
		MomentField(ctx, "from", i18n.T(ctx, "admin.audit.from"), q.zone, q.from),
		MomentField(ctx, "until", i18n.T(ctx, "admin.audit.until"), q.zone, q.until),
	}
}

// AuditActors are the people of partners, given by id; "" is the own organisation.
func (p *Portal) AuditActors(ctx context.Context, partnerIDs ...string) ([]ui.Option, error) {
	options := []ui.Option{{Label: i18n.T(ctx, "admin.audit.everybody")}}
	for _, id := range partnerIDs {
		accounts, err := p.DB.Accounts(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, account := range accounts {
			options = append(options, ui.Option{Value: account.ID, Label: account.Name + " (" + account.Email + ")"})
		}
	}
	return options, nil
}

// PartnerAuditActions are the actions that can be an affair of a partner.
func PartnerAuditActions() []string {
	var list []string
	for _, action := range AuditActions() {
		switch noun, _, _ := strings.Cut(action, "."); noun {
		case "profile", "backup", "key", "signing-key", "audit", "mirror", "route", "amqp-broker":
		default:
			list = append(list, action)
		}
	}
	return list
}

// actorsOf lists the ids of the people and clients of a partner.
func (p *Portal) actorsOf(ctx context.Context, partnerID string) (map[string]bool, error) {
	ids := map[string]bool{}
	if partnerID == "" {
		return ids, nil
	}
	accounts, err := p.DB.Accounts(ctx, partnerID)
	if err != nil {
		return nil, err
	}
	clients, err := p.DB.Clients(ctx, partnerID)
	if err != nil {
		return nil, err
	}
	for _, a := range accounts {
		ids[a.ID] = true
	}
	for _, c := range clients {
		ids[c.ID] = true
	}
	return ids, nil
}

// SendAudit sends the entries of a filter as a file. Partners get the sentence in place of the details, which tell it what concerns them, and no
// addresses of the people and clients of others.
func (p *Portal) SendAudit(c echo.Context, partnerID string, filter store.AuditFilter) error {
	ctx := c.Request().Context()
	columns := []string{"entry_id", "at", "actor_kind", "actor_id", "actor_name", "action", "object_kind", "object_id", "object_name", "partner_id", "detail"}
	columns = append(columns, "address")
	own, err := p.actorsOf(ctx, partnerID)
	if err != nil {
		return err
	}
	if partnerID != "" {
		columns[len(columns)-2] = "sentence"
	}
	return p.SendExport(c, Export{Name: "audit", PartnerID: partnerID, Columns: columns}, func(write func(...any) error) error {
		return p.DB.EachAudit(ctx, filter, func(rows []store.Audit) error {
			for _, a := range rows {
				last := registry.AuditDetail(a)
				address := a.Address
				if partnerID != "" {
					last = AuditSentence(ctx, a)
					if a.ActorID != "" && !own[a.ActorID] {
						address = ""
					}
				}
				err := write(a.ID, a.At, a.ActorKind, a.ActorID, a.ActorName, a.Action, a.ObjectKind, a.ObjectID, a.ObjectName, a.PartnerID, last, address)
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}
