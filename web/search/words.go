package search

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/search"
	"schakel/web/site"
)

// byWords finds what holds all words of the question, kind by kind.
func (f *finder) byWords(ctx context.Context) error {
	query := url.Values{"q": {f.asked()}}.Encode()
	for _, group := range []struct {
		kind, more string
		find       func(context.Context) ([]view.Hit, error)
	}{
		{"partner", "/admin/partners?" + query, f.partnersNamed},
		{"event-type", "/event-types?" + query, f.eventTypes},
		{"contract", "/contracts?" + query, f.contracts},
		{"part", "", f.parts},
		{"endpoint", f.area.Base + "/endpoints", f.endpoints},
		{"client", f.area.Base + "/clients", f.clients},
		{"dataset", f.area.Base + "/datasets?" + query, f.datasets},
		{"subject", f.subjects(), f.ofSubject},
		{"setting", "/admin/settings", f.settings},
		{"guide", "/docs", f.guidesWith},
	} {
		hits, err := group.find(ctx)
		if err != nil {
			return err
		}
		f.add(ctx, group.kind, hits, group.more)
	}
	return nil
}

// asked is the question for lists that look for it as a whole: of its last word they get what is looked for.
func (f *finder) asked() string {
	words := strings.Fields(f.text)
	if len(words) == 0 || len(words) != len(f.words) {
		return f.text
	}
	words[len(words)-1] = f.words[len(words)-1]
	return strings.Join(words, " ")
}

func (f *finder) partnersNamed(ctx context.Context) ([]view.Hit, error) {
	if !f.scope.All {
		return nil, nil
	}
	return f.partners(ctx, store.PartnerFilter{Search: f.asked()})
}

func (f *finder) partners(ctx context.Context, filter store.PartnerFilter) ([]view.Hit, error) {
	filter.Page = store.Page{Number: 1, Size: few + 1}
	rows, _, err := f.DB.Partners(ctx, filter)
	hits := make([]view.Hit, len(rows))
	for i, p := range rows {
		hits[i] = view.Hit{Title: p.Name, Href: "/admin/partners/" + p.ID, State: p.Status, Detail: partners.Numbers(p)}
	}
	return hits, err
}

func (f *finder) eventTypes(ctx context.Context) ([]view.Hit, error) {
	all, err := f.Registry.EventTypes.Catalogue(ctx, f.reader)
	if err != nil {
		return nil, err
	}
	var hits []view.Hit
	for _, t := range site.TypesWith(all, f.words, "") {
		hits = append(hits, view.Hit{Title: t.Name, Href: site.EventTypeHref(t.Name), State: t.Status, Detail: joined(site.TypeTitle(ctx, t), t.ContractID+" "+t.ContractVersion)})
	}
	return hits, nil
}

func (f *finder) contracts(ctx context.Context) ([]view.Hit, error) {
	rows, _, err := f.Registry.Contracts.List(ctx, f.reader, store.ContractFilter{Search: f.asked(), Page: store.Page{Number: 1, Size: few + 1}})
	hits := make([]view.Hit, len(rows))
	for i, c := range rows {
		hits[i] = view.Hit{Title: c.Title, Href: site.ContractHref(c.ID), State: c.Latest.Status, Detail: joined(c.ID+" "+c.Latest.Version, c.Owner)}
	}
	return hits, err
}

// parts finds operations, channels, messages and schemas of contracts.
func (f *finder) parts(ctx context.Context) ([]view.Hit, error) {
	const most = 20 // there is no other list that shows them
	rows, complete, err := f.Registry.Contracts.FindParts(ctx, f.reader, f.words, most)
	f.view.Partial = !complete
	hits := make([]view.Hit, len(rows))
	for i, p := range rows {
		part := url.Values{"part": {p.Anchor}}
		hits[i] = view.Hit{
			Title: p.Name, Href: site.ContractVersionHref(p.ContractID, p.Version) + "/reading?" + part.Encode() + "#" + p.Anchor, State: p.Status,
			Detail: joined(i18n.Of(ctx, "search.part", p.Kind), site.FirstLine(p.Summary, 120), p.Title+" "+p.Version),
		}
	}
	return hits, err
}

func (f *finder) endpoints(ctx context.Context) ([]view.Hit, error) {
	if !f.member() {
		return nil, nil
	}
	rows, err := f.DB.FindEndpoints(ctx, f.owner(), f.words, few+1)
	if err != nil {
		return nil, err
	}
	names := f.DeliveryNamesOf(f.owner())
	hits := make([]view.Hit, len(rows))
	for i, e := range rows {
		partner := ""
		if f.scope.All {
			if partner, err = names.Partner(ctx, e.PartnerID); err != nil {
				return nil, err
			}
		}
		hits[i] = view.Hit{Title: e.Name, Href: f.area.Base + "/endpoints/" + e.ID, State: e.Status, Detail: joined(partner, site.KindLabel(ctx, e.Kind))}
	}
	return hits, nil
}

func (f *finder) clients(ctx context.Context) ([]view.Hit, error) {
	if !f.member() {
		return nil, nil
	}
	rows, err := f.DB.FindClients(ctx, f.owner(), f.words, few+1)
	if err != nil {
		return nil, err
	}
	names := f.DeliveryNamesOf(f.owner())
	hits := make([]view.Hit, len(rows))
	for i, client := range rows {
		partner := ""
		if f.scope.All {
			if partner, err = names.Partner(ctx, client.PartnerID); err != nil {
				return nil, err
			}
		}
		hits[i] = view.Hit{Title: client.Name, Href: f.area.Base + "/clients/" + client.ID, State: client.Status, Detail: joined(partner, client.ID)}
	}
	return hits, nil
}

func (f *finder) datasets(ctx context.Context) ([]view.Hit, error) {
	if !f.member() {
		return nil, nil
	}
	filter := store.DatasetFilter{Text: f.asked(), Page: store.Page{Number: 1, Size: few + 1}}
	if !f.scope.All {
		filter.Status, filter.FollowedBy = store.DatasetActive, f.owner()
	}
	rows, _, err := f.Registry.Datasets.List(ctx, filter)
	hits := make([]view.Hit, len(rows))
	for i, d := range rows {
		hits[i] = view.Hit{Title: d.Title, Href: f.area.Base + "/datasets/" + url.PathEscape(d.ID), State: d.Status, Detail: d.ID}
	}
	return hits, err
}

// subjects is the list of all events, or of all deliveries of a partner, with the subject.
func (f *finder) subjects() string {
	list := "/partner/deliveries?"
	if f.scope.All {
		list = "/admin/events?"
	}
	return list + url.Values{"subject": {f.text}}.Encode()
}

// ofSubject finds events by their subject; for a partner its deliveries of those.
func (f *finder) ofSubject(ctx context.Context) ([]view.Hit, error) {
	switch {
	case f.view.Similar: // a subject is whole or it is another
	case f.scope.All:
		return f.events(ctx, store.EventFilter{Subject: f.text})
	case f.member():
		return f.deliveriesOf(ctx, store.DeliveryFilter{Subject: f.text})
	}
	return nil, nil
}

// settings finds settings by their words in the language of the reader, by their keys and by the rules they are about.
func (f *finder) settings(ctx context.Context) ([]view.Hit, error) {
	if !f.scope.All {
		return nil, nil
	}
	state, err := f.Registry.Profile.Load(ctx)
	if err != nil {
		return nil, err
	}
	values := state.Values()
	var hits []view.Hit
	for _, s := range profile.Settings() {
		title := s.Title.In(ctx)
		if !site.ContainsAll(strings.ToLower(title+" "+s.Explain.In(ctx)+" "+s.Key+" "+strings.Join(s.Rules, " ")), f.words) {
			continue
		}
		hits = append(hits, view.Hit{Title: title, Href: "/admin/settings/edit#" + s.Key, Detail: s.Text(values[s.Key]).In(ctx)})
	}
	// Of what is set at the start this one alone changes what partners may send, so it is looked for among the settings.
	asked := i18n.M("admin.installation.mandates-on")
	if f.Registry.Mandates == nil {
		asked = "admin.installation.mandates-off"
	}
	if title := i18n.T(ctx, "admin.installation.mandates"); site.ContainsAll(strings.ToLower(title+" "+asked.In(ctx)), f.words) {
		hits = append(hits, view.Hit{Title: title, Href: "/admin/installation#mandates", Detail: asked.In(ctx)})
	}
	return hits, nil
}

// guide is a page of the documentation, with its titles and its words in lower case by language.
type guide struct {
	site.Doc
	titles, words map[i18n.Lang]string
}

func readGuides(docs []site.Doc) []guide {
	list := make([]guide, len(docs))
	for i, d := range docs {
		list[i] = guide{d, map[i18n.Lang]string{}, map[i18n.Lang]string{}}
		for _, lang := range i18n.Langs() {
			text := cmp.Or(d.Translations[lang], d.Markdown)
			title, _, _ := strings.Cut(text, "\n")
			list[i].titles[lang], list[i].words[lang] = strings.TrimSpace(strings.TrimLeft(title, "# ")), strings.ToLower(text)
		}
	}
	return list
}

// guidesWith finds guides by their words in the language of the reader, or in English.
func (f *finder) guidesWith(ctx context.Context) ([]view.Hit, error) {
	var hits []view.Hit
	lang := i18n.From(ctx).Lang
	for _, g := range f.guides {
		answers, title := g.Answers.In(ctx), cmp.Or(g.TitleIn(ctx), g.titles[lang])
		if site.ContainsAll(g.words[lang]+strings.ToLower(title+" "+answers), f.words) || site.ContainsAll(g.words[i18n.English], f.words) {
			hits = append(hits, view.Hit{Title: title, Href: "/docs/" + g.Name, Detail: answers})
		}
	}
	return hits, nil
}
