package partners

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbound"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/web/site"
)

// certificateRows lists the client certificates that an endpoint is shown, newest first.
func certificateRows(e store.Endpoint, now time.Time) (rows []view.CertificateRow) {
	list, err := partners.Certificates(e)
	if err != nil {
		return nil // the engine says that it cannot send
	}
	shown, _ := partners.ShownAt(list, now)
	for _, c := range list {
		rows = append(rows, view.CertificateRow{
			ID: c.ID, Subject: c.Subject, Issuer: c.Issuer, From: c.UsedFrom.Time, Until: c.NotAfter.Time, Shown: shown != nil && shown.ID == c.ID,
		})
	}
	return rows
}

// removeCertificate takes a client certificate away.
func (d ownerPages) removeCertificate(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	_, err = d.Registry.Endpoints.RemoveCertificate(c.Request().Context(), site.Actor(c), e.ID, c.Param("certificate"))
	return d.Settled(c, err, d.Href("/endpoints/"+e.ID), "partners.certificate.removed")
}

// certificateToTry is the client certificate that a token endpoint is shown while a form is handled: the one that is typed, else what is shown now.
func (d ownerPages) certificateToTry(in partners.EndpointInput, was store.Endpoint) (*outbound.Certificate, error) {
	if cert, id := partners.TypedCertificate(in); cert != nil {
		return &outbound.Certificate{ID: id, TLS: cert}, nil
	}
	if d.ClientCertificate == nil {
		return nil, nil
	}
	cert, _, err := d.ClientCertificate(was)
	return cert, err
}

// readCertificate reads the client certificate of the form.
func readCertificate(form site.Form, in *partners.EndpointInput, wrong site.FormErrors) {
	in.Certificate, in.CertificateKey = form.Raw("certificate"), form.Raw("certificateKey")
	in.CertificateWaitHours = site.FormNumber(form, "certificateWaitHours", wrong)
}

// withCertificate adds the part of the form about the client certificate. A key is never shown again; a certificate that was refused is.
func (d ownerPages) withCertificate(ctx context.Context, v *view.EndpointFormView, e store.Endpoint, in endpointForm) {
	v.Certificates, v.Certificate, v.CertificateWait = certificateRows(e, d.Cfg.Now()), in.Certificate, site.NumberText(in.CertificateWaitHours)
	v.Organisation = d.Registry.Endpoints.ShowsCertificate()
	for _, field := range []string{"certificate", "certificateKey", "certificateWaitHours"} {
		v.Advanced = v.Advanced || v.Wrong[field] != ""
	}
	v.Advanced = v.Advanced || in.Certificate != "" || in.TokenAuthMethod == registry.TokenAuthTLS && len(v.Certificates) == 0
}
