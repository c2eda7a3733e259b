package admin

import (
	"github.com/labstack/echo/v4"
	"schakel/web/site"
)

// exportAudit sends the audit trail with its filter as a file.
func (p *pages) exportAudit(c echo.Context) error {
	wrong := site.FormErrors{}
	filter := site.ReadAuditQuery(c).Filter(wrong)
	if len(wrong) > 0 {
		return site.FilterProblem(wrong)
	}
	return p.SendAudit(c, "", filter)
}
