package site

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// SecurityContact says whom to tell of a vulnerability of this installation.
type SecurityContact struct {
	// Addresses are mailto:, https: or tel: addresses, the preferred one first.
	Addresses []string
	// Policy is the https address of what reporters may expect. Optional.
	Policy string
	// Languages are codes of the languages in which reports are read.
	Languages []string
}

// securityTxtLife bounds the time after which the file expires. It always tells the configuration of the day.
const securityTxtLife = 90 * 24 * time.Hour

// mountSecurityTxt serves security.txt (RFC 9116) where a contact is configured.
func (a *App) mountSecurityTxt() {
	if a.Cfg.Security != nil {
		a.API(MaxFormBytes, "/.well-known").PublicGET("/security.txt", a.securityTxt)
	}
}

func (a *App) securityTxt(c echo.Context) error {
	s := a.Cfg.Security
	var text strings.Builder
	line := func(name, value string) { fmt.Fprintf(&text, "%s: %s\n", name, value) }
	for _, address := range s.Addresses {
		line("Contact", address)
	}
	line("Expires", a.Cfg.Now().UTC().Truncate(24*time.Hour).Add(securityTxtLife).Format(time.RFC3339))
	if len(s.Languages) > 0 {
		line("Preferred-Languages", strings.Join(s.Languages, ", "))
	}
	line("Canonical", a.Absolute("/.well-known/security.txt"))
	if s.Policy != "" {
		line("Policy", s.Policy)
	}
	c.Response().Header().Set("Cache-Control", "max-age=86400")
	return c.String(http.StatusOK, text.String())
}
