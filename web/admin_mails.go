package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates"
)

// adminMails lists the mails that were written, and what came of them. Their
// texts are not shown: they hold links with which others log in.
func (p *portal) adminMails(c echo.Context) error {
	paging := pagePaging(c)
	mails, total, err := p.Registry.Mails.List(c.Request().Context(), actor(c), store.Page{Number: paging.Page, Size: paging.PerPage})
	if err != nil {
		return err
	}
	v := templates.AdminMailsView{Total: total, Pager: pager(c, paging, total), Now: p.cfg.Now()}
	for _, m := range mails {
		v.Rows = append(v.Rows, templates.MailRow{
			Recipient: m.Recipient, Subject: m.Subject, Status: m.Status, Error: m.Error, Attempts: int(m.Attempts),
			Written: m.CreatedAt.Time, Sent: m.SentAt.Time, Due: m.DueAt.Time,
		})
	}
	page := p.frame(c, "Mails")
	page.Lead = "What was written to people, and whether it was sent."
	return p.render(c, http.StatusOK, templates.AdminMails(page, v))
}
