package admin

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/ui"
	"schakel/web/site"
)

// mailboxPage lists the mails this Schakel wrote, in a demonstration.
func (p *pages) mailboxPage(c echo.Context) error {
	paging := site.PagePaging(c)
	mails, total, err := p.DB.Mails(c.Request().Context(), store.Page{Number: paging.Page, Size: paging.PerPage})
	if err != nil {
		return err
	}
	v := view.MailboxView{Total: total, Pager: site.LongPager(c, paging, total), Now: p.Cfg.Now()}
	for _, m := range mails {
		v.Rows = append(v.Rows, view.MailboxRow{Href: "/mailbox/" + m.ID, Subject: m.Subject, To: m.Recipient, At: m.CreatedAt.Time})
	}
	page := p.Page(c, "Mailbox")
	page.Lead = "The mails that this demonstration would send, to anyone."
	return p.Render(c, http.StatusOK, view.MailboxPage(page, v))
}

// mailPage shows one mail.
func (p *pages) mailPage(c echo.Context) error {
	m, err := p.DB.Mail(c.Request().Context(), c.Param("id"))
	if err != nil {
		return err
	}
	v := view.MailView{
		To: m.Recipient, Subject: m.Subject, At: m.CreatedAt.Time, Now: p.Cfg.Now(), Paragraphs: mailParagraphs(m.Body, p.Cfg.BaseURL),
	}
	page := p.Page(c, m.Subject)
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: "Mailbox", Href: "/mailbox"}, ui.Crumb{Label: m.Subject})
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
