package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
)

const typeContractPublished = "nl.schakel.contracts.contract-published.v1"

// TestContractEventsReachPartners has two partners subscribe to what the register
// tells. A version is published through the API, and each gets the CloudEvent at
// its webhook, also of what is shown to it by name; of a contract that it may not
// see it gets none.
//
// Rules: EDU-06, EDU-06d, EDU-07, EDU-08, EDU-N06.
func TestContractEventsReachPartners(t *testing.T) {
	t.Parallel()
	p := trial.NewPKI(t)
	s := trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t))
	r := trial.NewReceiver(t, p)
	s.Start(t) // it registers what it tells, which partners can subscribe to
	var creds demo.Credentials
	s.SetUp(t, func(c *demo.Chain) {
		ctx := t.Context()
		var err error
		creds, err = c.Publisher(ctx, c.Admin, s.Own, identity.ScopeRegistryWrite)
		trial.Must(t, err)
		for name, kvk := range map[string]string{"one": "34567890", "two": "45678901"} {
			partner, actor, err := c.Approved(ctx, trial.Organisation(name, kvk))
			trial.Must(t, err)
			_, err = c.Subscribe(ctx, actor, r.Target(name, "/"+name), typeContractPublished)
			trial.Must(t, err)
			if name == "one" { // the other may not see this one
				_, err = c.Contracts.Create(ctx, c.Admin, contracts.ContractInput{
					ID: "only-one", Kind: "openapi", Title: "Only one", Visibility: store.VisibilityNamed, PartnerIDs: []string{partner.ID},
				})
				trial.Must(t, err)
			}
		}
		for id, visibility := range map[string]string{"inside": store.VisibilityInternal, "shared": store.VisibilityPartners} {
			_, err := c.Contracts.Create(ctx, c.Admin, contracts.ContractInput{ID: id, Kind: "openapi", Title: id, Visibility: visibility})
			trial.Must(t, err)
		}
	})
	token := s.Token(t, creds, "registry.write")
	for _, id := range []string{"only-one", "inside", "shared"} {
		base := "/registry/v1/contracts/" + id + "/versions"
		document := `{"openapi":"3.2.0","info":{"title":"Schools","version":"1.0.0"},"servers":[{"url":"https://schools.example/v1"}],"paths":{}}`
		s.Call(t, "POST", base, token, map[string]string{"Content-Type": "application/json"}, document).Want(t, 201)
		s.Call(t, "POST", base+"/1.0.0/publication", token, trial.Reviewed([]byte(document)), nil).Want(t, 200)
	}
	told := func(status string) {
		t.Helper()
		for _, path := range []string{"/one", "/two"} {
			trial.Eventually(t, path+" is told that the contract is "+status, func() (bool, string) {
				all := strings.Join(r.Bodies(path), "\n")
				return strings.Contains(all, `"status":"`+status+`"`), all
			})
		}
	}
	told("published")
	s.Call(t, "POST", "/registry/v1/contracts/shared/versions/1.0.0/deprecation", token, nil, map[string]string{"reason": "Use another."}).Want(t, 200)
	told("deprecated") // what was published before it has been looked at
	trial.Eventually(t, "/one is told of the contract it sees by name", func() (bool, string) {
		all := strings.Join(r.Bodies("/one"), "\n")
		return strings.Contains(all, `"contractId":"only-one"`), all
	})
	checkTold(t, s.Base, r.Bodies("/one"), "shared", "only-one")
	checkTold(t, s.Base, r.Bodies("/two"), "shared")
}

// checkTold holds the events against the register; they are of these contracts alone.
func checkTold(t *testing.T, base string, bodies []string, contracts ...string) {
	t.Helper()
	for _, body := range bodies {
		var e struct {
			Type, Subject, Source string
			Data                  struct{ ContractID, Version, URL string }
		}
		trial.Must(t, json.Unmarshal([]byte(body), &e))
		if e.Type != typeContractPublished || !slices.Contains(contracts, e.Subject) || e.Data.ContractID != e.Subject || e.Data.Version != "1.0.0" ||
			e.Data.URL != base+"/contracts/"+e.Subject+"/versions/1.0.0" || !strings.HasPrefix(e.Source, "urn:nld:oin:") {
			t.Errorf("told: %s", body)
		}
	}
}
