package admin

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminMails lists the mails that were written, and what came of them. Their
// texts are not shown: they hold links with which others log in. That of a mail
// which nobody got is on a page of its own.
func (p *pages) adminMails(c echo.Context) error {
	paging := site.PagePaging(c)
	mails, total, err := p.Registry.Mails.List(c.Request().Context(), site.Actor(c), store.Page{Number: paging.Page, Size: paging.PerPage})
	if err != nil {
		return err
	}
	v := view.AdminMailsView{Total: total, Pager: site.LongPager(c, paging, total), Now: p.Cfg.Now(), NoMail: p.NoMail()}
	for _, m := range mails {
		v.Rows = append(v.Rows, view.MailRow{
			Href: "/admin/mails/" + m.ID, Recipient: m.Recipient, Subject: m.Subject, Status: m.Status, Error: m.Error, Attempts: int(m.Attempts),
			Written: m.CreatedAt.Time, Sent: m.SentAt.Time, Due: m.DueAt.Time,
		})
	}
	page := p.Frame(c, "Mails")
	page.Lead = "What was written to people, and whether it was sent."
	return p.Render(c, http.StatusOK, view.AdminMails(page, v))
}

// adminMail shows what became of a mail, and offers its text when nobody got it.
func (p *pages) adminMail(c echo.Context) error {
	m, err := p.Registry.Mails.Get(c.Request().Context(), site.Actor(c), c.Param("id"))
	if err != nil {
		return err
	}
	return p.showMail(c, m, nil)
}

// adminMailText shows the text of a mail that nobody got. That is a form and no link, because the audit trail tells of it.
func (p *pages) adminMailText(c echo.Context) error {
	m, err := p.Registry.Mails.Read(c.Request().Context(), site.Actor(c), c.Param("id"))
	if e, ok := errors.AsType[*registry.Error](err); ok && e.Code == registry.CodeConflict {
		p.Flash(c, ui.KindWarning, e.Message)
		return c.Redirect(http.StatusSeeOther, "/admin/mails/"+c.Param("id"))
	}
	if err != nil {
		return err
	}
	return p.showMail(c, m, mailParagraphs(m.Body, p.Cfg.BaseURL))
}

func (p *pages) showMail(c echo.Context, m store.Mail, text [][][]view.MailText) error {
	v := view.AdminMailView{
		Recipient: m.Recipient, Subject: m.Subject, Status: m.Status, Error: m.Error, Attempts: int(m.Attempts), Written: m.CreatedAt.Time,
		Sent: m.SentAt.Time, Now: p.Cfg.Now(), Paragraphs: text,
	}
	if p.Registry.Mails.Unsent(m) {
		v.Show = "/admin/mails/" + m.ID + "/text"
	}
	page := p.Frame(c, m.Subject, ui.Crumb{Label: "Mails", Href: "/admin/mails"})
	return p.Render(c, http.StatusOK, view.AdminMail(page, v))
}
