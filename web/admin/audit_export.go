package admin

import (
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/web/site"
)

// exportAudit sends the audit trail with its filter as a file.
func (p *pages) exportAudit(c echo.Context) error {
	ctx, wrong := c.Request().Context(), site.FormErrors{}
	filter := readAuditQuery(c).filter(wrong)
	if len(wrong) > 0 {
		return site.FilterProblem(wrong)
	}
	return p.SendExport(c, site.Export{Name: "audit", Columns: []string{
		"entry_id", "at", "actor_kind", "actor_id", "actor_name", "action", "object_kind", "object_id", "object_name", "partner_id", "detail",
	}}, func(write func(...any) error) error {
		return p.DB.EachAudit(ctx, filter, func(rows []store.Audit) error {
			for _, a := range rows {
				err := write(a.ID, a.At, a.ActorKind, a.ActorID, a.ActorName, a.Action, a.ObjectKind, a.ObjectID, a.ObjectName, a.PartnerID, registry.AuditDetail(a))
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}
