package partners

import (
	"context"
	"slices"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// eraseVerb is the path of the decision to erase the data of a partner.
const eraseVerb = "erase-data"

// eraseStep erases what a partner sent that ended.
func (p *pages) eraseStep() site.Step {
	return site.Step{
		Verb: eraseVerb, Needs: registry.ChangePartners, Do: site.ByID(p.Registry.Partners.EraseData), From: []string{store.PartnerEnded}, Reason: true,
		Label: "partners.partner.erase", Explain: "partners.partner.erase-text", Done: "partners.partner.erased-data",
	}
}

// fillErasure shows when data was erased, and adds the effect of an erasure to its explanation, or removes the decision where there is nothing to
// erase.
func (p *pages) fillErasure(ctx context.Context, partner store.Partner, v *view.AdminPartnerView) error {
	e, err := p.Registry.Partners.Erasure(ctx, partner)
	if err != nil {
		return err
	}
	plain := ""
	if e.Plain > 0 {
		plain = " " + i18n.T(ctx, "partners.partner.erase-plain", i18n.CountUpTo(ctx, e.Plain, store.ListBound))
	}
	switch {
	case e.DoneAt.IsZero():
	case e.DoneBy == "":
		v.Erased = i18n.T(ctx, "partners.partner.data-erased", e.DoneAt.Time) + plain
	default:
		v.Erased = i18n.T(ctx, "partners.partner.data-erased-by", e.DoneAt.Time, e.DoneBy) + plain
	}
	i := slices.IndexFunc(v.Acts.Danger, func(d ui.Danger) bool { return d.ID == eraseVerb })
	if i < 0 {
		return nil
	}
	if !e.Possible {
		v.Acts.Danger = slices.Delete(v.Acts.Danger, i, i+1)
		if v.Erased == "" {
			v.NoErasure = i18n.T(ctx, "partners.partner.erase-nothing") + plain
		}
		return nil
	}
	d := &v.Acts.Danger[i]
	d.Explain = i18n.T(ctx, "partners.partner.erase-counts", i18n.CountUpTo(ctx, e.Events, store.ListBound), i18n.CountUpTo(ctx, e.Open, store.ListBound)) + " " + d.Explain + plain
	return nil
}
