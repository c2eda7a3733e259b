package admin

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminMails lists the mails that were written, and what came of them. Their
// texts are not shown: they hold links with which others log in. That of a mail
// which nobody got is on a page of its own.
func (p *pages) adminMails(c echo.Context) error {
	paging := site.PagePaging(c)
	mails, total, err := p.Registry.Mails.List(c.Request().Context(), site.Actor(c), paging)
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
	page := p.Frame(c, i18n.T(c.Request().Context(), "admin.mails.title"))
	page.Lead = i18n.T(c.Request().Context(), "admin.mails.lead")
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

// releaseMail sends a mail that was held back.
func (p *pages) releaseMail(c echo.Context) error {
	back := "/admin/mails/" + c.Param("id")
	err := p.Registry.Mails.Release(c.Request().Context(), site.Actor(c), c.Param("id"))
	if e, ok := errors.AsType[*registry.Error](err); ok && e.Code == registry.CodeConflict {
		p.Flash(c, ui.KindWarning, e.Message)
		return c.Redirect(http.StatusSeeOther, back)
	}
	if err != nil {
		return err
	}
	return p.Done(c, back, "admin.mails.released")
}

func (p *pages) showMail(c echo.Context, m store.Mail, text [][][]view.MailText) error {
	v := view.AdminMailView{
		Recipient: m.Recipient, Subject: m.Subject, Status: m.Status, Error: m.Error, Attempts: int(m.Attempts), Written: m.CreatedAt.Time,
		Sent: m.SentAt.Time, Now: p.Cfg.Now(), Paragraphs: text, Due: m.DueAt.Time,
	}
	if p.Registry.Mails.Unsent(m) {
		v.Show = "/admin/mails/" + m.ID + "/text"
	}
	if m.Status == store.MailHeld {
		v.Release = "/admin/mails/" + m.ID + "/release"
	}
	page := p.Frame(c, m.Subject, ui.Crumb{Label: i18n.T(c.Request().Context(), "admin.mails.title"), Href: "/admin/mails"})
	return p.Render(c, http.StatusOK, view.AdminMail(page, v))
}

// mailboxPage lists the mails this Schakel wrote, in a demonstration.
func (p *pages) mailboxPage(c echo.Context) error {
	paging := site.PagePaging(c)
	mails, total, err := p.DB.Mails(c.Request().Context(), paging)
	if err != nil {
		return err
	}
	v := view.MailboxView{Total: total, Pager: site.LongPager(c, paging, total), Now: p.Cfg.Now()}
	for _, m := range mails {
		v.Rows = append(v.Rows, view.MailboxRow{Href: "/mailbox/" + m.ID, Subject: m.Subject, To: m.Recipient, At: m.CreatedAt.Time})
	}
	page := p.Page(c, i18n.T(c.Request().Context(), "admin.mailbox.title"))
	page.Lead = i18n.T(c.Request().Context(), "admin.mailbox.lead")
	return p.Render(c, http.StatusOK, view.MailboxPage(page, v))
}

// mailPage shows one mail.
func (p *pages) mailPage(c echo.Context) error {
	m, err := p.Registry.Mails.Get(c.Request().Context(), registry.SystemActor(), c.Param("id")) // a demonstration shows its mails to all
	if err != nil {
		return err
	}
	v := view.MailView{
		To: m.Recipient, Subject: m.Subject, At: m.CreatedAt.Time, Now: p.Cfg.Now(), Paragraphs: mailParagraphs(m.Body, p.Cfg.BaseURL),
	}
	page := p.Page(c, m.Subject)
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: i18n.T(c.Request().Context(), "admin.mailbox.title"), Href: "/mailbox"}, ui.Crumb{Label: m.Subject})
	return p.Render(c, http.StatusOK, view.MailPage(page, v))
}

// mailParagraphs cuts a text into paragraphs, lines and pieces. Only addresses of
// ours become links: what people typed into a form can stand in a mail, too.
func mailParagraphs(body string, base *url.URL) [][][]view.MailText {
	var paragraphs [][][]view.MailText
	for text := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		var lines [][]view.MailText
		for line := range strings.SplitSeq(text, "\n") {
			lines = append(lines, mailPieces(line, base))
		}
		paragraphs = append(paragraphs, lines)
	}
	return paragraphs
}

func mailPieces(line string, base *url.URL) []view.MailText {
	var pieces []view.MailText
	for word := range strings.SplitSeq(line, " ") {
		if n := len(pieces); n > 0 && pieces[n-1].Href == "" {
			pieces[n-1].Text += " "
		} else if n > 0 {
			pieces = append(pieces, view.MailText{Text: " "})
		}
		href := ownAddress(word, base)
		if n := len(pieces); href == "" && n > 0 && pieces[n-1].Href == "" {
			pieces[n-1].Text += word
			continue
		}
		pieces = append(pieces, view.MailText{Text: word, Href: href})
	}
	return pieces
}

// ownAddress is the path and query of an address of ours; empty for any other word.
func ownAddress(word string, base *url.URL) string {
	u, err := url.Parse(word)
	if err != nil || u.Scheme != base.Scheme || u.Host != base.Host || u.User != nil {
		return ""
	}
	return site.LocalPath(u.RequestURI())
}
