package demo

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/registry/datasets"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/store"
)

// Buildings configures the demonstration of a dataset.
type Buildings struct {
	Publisher Credentials // of the own organisation; publishes mutations
	Follower  Credentials // of the partner that keeps a copy of its area
	Login     Login       // of that partner
}

// BuildingsArea bounds the part that the partner follows: its part of the town, without what lies in the middle of it.
const BuildingsArea = "POLYGON((208300 460300,210100 459900,210900 460800,211000 462300,209900 463400,208600 463100,208000 461800,208300 460300)," +
	"(209100 461200,209900 461100,210000 462000,209300 462200,209100 461200))"

// SeedBuildings makes the dataset, and a partner with an approved subscription to its part of it.
func (c *Chain) SeedBuildings(ctx context.Context) (Buildings, error) {
	var out Buildings
	_, err := c.Datasets.Create(ctx, c.Admin, datasets.DatasetInput{
		ID: BuildingsID, Title: "Schoolgebouwen", Description: "Buildings of schools in and around Zutphen, with all their versions. A made-up register.",
		RootPrefix: "sg", RootSpace: buildingsSpace, RootLocal: "schoolgebouwMutaties",
		Namespaces: map[string]string{"gml": gmlSpace}, ObjectTypes: []string{buildingType}, CRS: 28992, AreaKind: store.AreaGeometry,
		GeometryElements: []string{"geometrie"}, PerFile: 100, DeltaSchedule: "* * * * *", SnapshotSchedule: "0 3 * * *",
	})
	if err != nil {
		return out, fmt.Errorf("make dataset: %w", err)
	}
	if out.Publisher, err = c.machine(ctx, c.Admin, "Gebouwenregister", identity.ScopeMutationsPublish); err != nil {
		return out, err
	}
	o := Organisation{Name: "Gemeente Zutphen-West", KVK: "89123456", Contact: "Karin Smit", Email: "karin@zutphenwest.example"}
	_, actor, err := c.Approved(ctx, o)
	if err != nil {
		return out, err
	}
	out.Login = Login{o.Email, "an approved partner that keeps a copy of its part of a dataset"}
	if out.Follower, err = c.machine(ctx, actor, "Kaart van de gemeente", identity.ScopeMutationsRead); err != nil {
		return out, err
	}
	return out, c.followBuildings(ctx, actor)
}

// followBuildings asks for a part of the dataset and has it approved.
func (c *Chain) followBuildings(ctx context.Context, actor registry.Actor) error {
	endpoint, err := c.Endpoints.Create(ctx, actor, "", partners.EndpointInput{Name: "Kopie van de gemeente", Kind: store.EndpointFiles})
	if err != nil {
		return fmt.Errorf("add endpoint: %w", err)
	}
	sub, err := c.Subscriptions.RequestDataset(ctx, actor, partners.DatasetRequest{
		Dataset: BuildingsID, EndpointID: endpoint.ID, Name: "Schoolgebouwen in onze gemeente", Purpose: "Draw the schools on the map of our municipality.",
		Area: partners.AreaInput{Name: "Zutphen-West", Text: BuildingsArea},
	})
	if err != nil {
		return fmt.Errorf("ask subscription: %w", err)
	}
	if err := c.Subscriptions.Approve(ctx, c.Admin, sub.ID); err != nil {
		return fmt.Errorf("approve subscription: %w", err)
	}
	return nil
}

// machine makes a client with scopes; what needs a decision is granted.
func (c *Chain) machine(ctx context.Context, actor registry.Actor, name string, scopes ...string) (Credentials, error) {
	client, secret, err := c.Clients.Create(ctx, actor, "", identity.NewClient{Name: name, AuthMethod: token.ClientSecretBasic, Scopes: scopes})
	if err != nil {
		return Credentials{}, fmt.Errorf("make client %s: %w", name, err)
	}
	if client.Waiting() {
		if _, err := c.Clients.Decide(ctx, c.Admin, client.ID, identity.Decision{Approve: true, Seen: identity.ClientRequestSeen(client)}); err != nil {
			return Credentials{}, fmt.Errorf("grant client %s: %w", name, err)
		}
	}
	return Credentials{client.ID, secret}, nil
}
