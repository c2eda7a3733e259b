package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/ui"
)

// adminMails lists the mails that were written, and what came of them. Their
// texts are not shown: they hold links with which others log in. That of a mail
// which nobody got is on a page of its own.
func (p *portal) adminMails(c echo.Context) error {
	paging := pagePaging(c)
	mails, total, err := p.Registry.Mails.List(c.Request().Context(), actor(c), store.Page{Number: paging.Page, Size: paging.PerPage})
	if err != nil {
		return err
	}
	v := view.AdminMailsView{Total: total, Pager: longPager(c, paging, total), Now: p.cfg.Now(), NoMail: p.noMail()}
	for _, m := range mails {
		v.Rows = append(v.Rows, view.MailRow{
			Href: "/admin/mails/" + m.ID, Recipient: m.Recipient, Subject: m.Subject, Status: m.Status, Error: m.Error, Attempts: int(m.Attempts),
			Written: m.CreatedAt.Time, Sent: m.SentAt.Time, Due: m.DueAt.Time,
		})
	}
	page := p.frame(c, "Mails")
	page.Lead = "What was written to people, and whether it was sent."
	return p.render(c, http.StatusOK, view.AdminMails(page, v))
}

// noMail reports whether nobody gets mails: there is no mail server, nor the mailbox of the demonstration.
func (p *portal) noMail() bool { return !p.Mailbox && !p.Registry.Mails.Sends() }

// adminMail shows what became of a mail, and offers its text when nobody got it.
func (p *portal) adminMail(c echo.Context) error {
	m, err := p.Registry.Mails.Get(c.Request().Context(), actor(c), c.Param("id"))
	if err != nil {
		return err
	}
	return p.showMail(c, m, nil)
}

// adminMailText shows the text of a mail that nobody got. That is a form and no link, because the audit trail tells of it.
func (p *portal) adminMailText(c echo.Context) error {
	m, err := p.Registry.Mails.Read(c.Request().Context(), actor(c), c.Param("id"))
	if e, ok := errors.AsType[*registry.Error](err); ok && e.Code == registry.CodeConflict {
		p.flash(c, ui.KindWarning, e.Message)
		return c.Redirect(http.StatusSeeOther, "/admin/mails/"+c.Param("id"))
	}
	if err != nil {
		return err
	}
	return p.showMail(c, m, mailParagraphs(m.Body, p.cfg.BaseURL))
}

func (p *portal) showMail(c echo.Context, m store.Mail, text [][][]view.MailText) error {
	v := view.AdminMailView{
		Recipient: m.Recipient, Subject: m.Subject, Status: m.Status, Error: m.Error, Attempts: int(m.Attempts), Written: m.CreatedAt.Time,
		Sent: m.SentAt.Time, Now: p.cfg.Now(), Paragraphs: text,
	}
	if p.Registry.Mails.Unsent(m) {
		v.Show = "/admin/mails/" + m.ID + "/text"
	}
	page := p.frame(c, m.Subject, ui.Crumb{Label: "Mails", Href: "/admin/mails"})
	return p.render(c, http.StatusOK, view.AdminMail(page, v))
}
