package trial

import (
	"bytes"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/registry"
	"schakel/registry/datasets"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/server/demo"
	"schakel/store"
)

// MutationWorld is a dataset that a program delivers, with who publishes and who follows it.
type MutationWorld struct {
	Dataset   string
	Publisher demo.Credentials
	Followers []MutationFollower
}

// MutationFollower is a partner with an approved subscription to a dataset.
type MutationFollower struct {
	Name         string
	Area         string // WKT; empty for everything
	Credentials  demo.Credentials
	Subscription store.Subscription
	Actor        registry.Actor
}

// HistoryDataset is a dataset for histories of [historytest].
func HistoryDataset(id string) datasets.DatasetInput {
	return datasets.DatasetInput{
		ID: id, Title: "Register " + id, RootPrefix: "r", RootSpace: historytest.Namespace, RootLocal: "mutaties",
		ObjectTypes: historytest.Types(), CRS: 28992, AreaKind: store.AreaGeometry, PerFile: 50,
	}
}

// DeliverMutations creates a dataset and a follower for each area; an empty area is everything.
func (s *Program) DeliverMutations(t T, c *demo.Chain, dataset datasets.DatasetInput, areas ...string) MutationWorld {
	t.Helper()
	_, err := c.Datasets.Create(t.Context(), c.Admin, dataset)
	Must(t, err)
	w := MutationWorld{Dataset: dataset.ID, Publisher: s.mutationClient(t, c, c.Admin, identity.ScopeMutationsPublish)}
	for n, area := range areas {
		name := "follower " + string(rune('a'+n))
		_, actor, err := c.Approved(t.Context(), Organisation(name, "3456789"+string(rune('0'+n))))
		Must(t, err)
		w.Followers = append(w.Followers, s.follower(t, c, actor, MutationFollower{Name: name, Area: area, Actor: actor}, dataset.ID))
	}
	return w
}

func (s *Program) follower(t T, c *demo.Chain, actor registry.Actor, f MutationFollower, dataset string) MutationFollower {
	t.Helper()
	endpoint, err := c.Endpoints.Create(t.Context(), actor, "", partners.EndpointInput{Name: "Files", Kind: store.EndpointFiles})
	Must(t, err)
	f.Subscription, err = c.Subscriptions.RequestDataset(t.Context(), actor, partners.DatasetRequest{
		Dataset: dataset, EndpointID: endpoint.ID, Purpose: "Keep an exact copy.", Area: partners.AreaInput{Text: f.Area},
	})
	Must(t, err)
	Must(t, c.Subscriptions.Approve(t.Context(), c.Admin, f.Subscription.ID))
	f.Credentials = s.mutationClient(t, c, actor, identity.ScopeMutationsRead)
	return f
}

func (s *Program) mutationClient(t T, c *demo.Chain, actor registry.Actor, scope string) demo.Credentials {
	t.Helper()
	client, secret, err := c.Clients.Create(t.Context(), actor, "", identity.NewClient{
		Name: "Client with " + scope, AuthMethod: token.ClientSecretBasic, Scopes: []string{scope},
	})
	Must(t, err)
	if client.Waiting() {
		_, err := c.Clients.Decide(t.Context(), c.Admin, client.ID, identity.Decision{Approve: true, Seen: identity.ClientRequestSeen(client)})
		Must(t, err)
	}
	return demo.Credentials{ID: client.ID, Secret: secret}
}

// MutationFile is a file of the format with these groups, as a publisher sends it.
func MutationFile(t T, h *historytest.History, dataset string, groups []*format.Group) []byte {
	t.Helper()
	return writeGroups(t, h.Header(dataset, format.Delta, "publication"), groups)
}

func writeGroups(t T, h format.Header, groups []*format.Group) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := format.NewWriter(&file, h)
	Must(t, err)
	for _, g := range groups {
		Must(t, w.WriteGroup(g))
	}
	Must(t, w.Close())
	return file.Bytes()
}
