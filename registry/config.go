package registry

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"schakel/store"
)

// Doer sends a request, as an http.Client does.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// Config holds what the services of the registry are built from. A member without
// a default must be set.
type Config struct {
	DB  *store.DB
	Now func() time.Time
	Log *slog.Logger
	// BaseURL is the address of the portal, for the links in mails, without a
	// slash at its end.
	BaseURL string
	// Organisation is the name of the organisation that runs this Schakel.
	Organisation string
	// TermsVersion names the terms a partner accepts. Default "1".
	TermsVersion string
	// Vault seals secrets before they are stored.
	Vault *Vault
	// CheckURL judges an address a partner wants us to send to; its error is
	// shown to that partner.
	CheckURL func(string) error
	// CheckFilters judges the filters of a subscription, a JSON list; its error
	// is shown to that partner. Default none: no filters are taken.
	CheckFilters func(string) error
	// CheckWindows judges when an endpoint may be sent to; its error is shown to
	// that partner. Default none: no windows are taken.
	CheckWindows func(string) error
	// ReadArea checks the boundary of an area, WKT or GeoJSON, given in the coordinate
	// system crs where it does not say, and gives it as WKT in the system target (EPSG
	// codes); its error is shown to the partner. Default none: no polygons are taken.
	ReadArea func(given string, crs, target int) (wkt string, err error)
	// ServedKinds are the kinds of endpoint this program can serve. Default
	// webhook alone.
	ServedKinds []string
	// Profile is the profile of the chain collaboration where nobody chose
	// anything else. What is zero is as in DefaultProfile.
	Profile Profile
	// AllowOpenEndpoints permits endpoints without credentials. Default no:
	// a receiver gives credentials (EDU-14).
	AllowOpenEndpoints bool
	// MailServer says that mails are sent. Without it administrators may read their texts, to hand links over in another way.
	MailServer bool
	// OwnDocuments describe our own APIs and events, for the register. Default none.
	OwnDocuments []OwnDocument
	// MirrorHTTP fetches from the registers that are mirrored, and what documents of the own organisation refer to; it
	// follows no redirects, and decides where requests may go. Default none: runs fail.
	MirrorHTTP Doer
	// PublicHTTP fetches what documents of partners refer to, from public addresses alone. Default none: it is refused.
	PublicHTTP Doer
	// MaxDocumentBytes bounds a contract that is mirrored. Default 16 MiB.
	MaxDocumentBytes int64
}

// WithDefaults fills in what has a default.
func (c Config) WithDefaults() Config {
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	if c.TermsVersion == "" {
		c.TermsVersion = "1"
	}
	if len(c.ServedKinds) == 0 {
		c.ServedKinds = []string{store.EndpointWebhook}
	}
	return c
}

// Check refuses a configuration that lacks what has no default.
func (c Config) Check() error {
	if c.DB == nil || c.Now == nil || c.Log == nil || c.Vault == nil || c.CheckURL == nil || c.BaseURL == "" || c.Organisation == "" {
		return errors.New("registry: DB, Now, Log, Vault, CheckURL, BaseURL and Organisation must be set")
	}
	return nil
}

// OwnDocument describes one of our own APIs, or the events we send ourselves.
type OwnDocument struct {
	ID      string // of its contract
	Title   string
	Summary string
	Content []byte // OpenAPI or AsyncAPI; its version is that of its info
}
