package store_test

import (
	"testing"

	"schakel/store"
)

// Parts are found in the version of a contract that is shown first, by all words, and by who sees the contract.
func TestContractParts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newContract("open", store.VisibilityPublic)
		w.newContract("closed", store.VisibilityInternal)
		old, latest := w.newVersion("open", "1.0.0", "1", store.VersionPublished), w.newVersion("open", "1.1.0", "2", store.VersionPublished)
		w.newVersion("open", "2.0.0-rc.1", "3", store.VersionPublished)
		w.newVersion("open", "3.0.0", "4", store.VersionDraft)
		hidden := w.newVersion("closed", "1.0.0", "1", store.VersionDeprecated)
		waiting, err := w.db.VersionsWithoutParts(w.ctx, 10)
		same(t, len(waiting), err, 4) // not the draft
		part := []store.ContractPart{{Kind: "operation", Name: "getPupils", Summary: "Lists 100%_sure Pupils"}, {Kind: "schema", Name: "Pupil"}}
		for _, v := range []store.ContractVersion{old, latest, hidden, latest} {
			w.write(func(tx *store.Tx) error { return tx.SetContractParts(w.ctx, v.ID, part) })
		}
		waiting, err = w.db.VersionsWithoutParts(w.ctx, 10)
		same(t, len(waiting), err, 1)
		everybody := &store.Sight{Visibilities: []string{store.VisibilityPublic}}
		for name, tt := range map[string]struct {
			sight *store.Sight
			words []string
			want  []string
		}{
			"all":          {nil, []string{"pupil"}, []string{"closed 1.0.0 Pupil", "open 1.1.0 Pupil", "closed 1.0.0 getPupils", "open 1.1.0 getPupils"}},
			"visitor":      {everybody, []string{"pupil"}, []string{"open 1.1.0 Pupil", "open 1.1.0 getPupils"}},
			"two words":    {everybody, []string{"lists", "GET"}, []string{"open 1.1.0 getPupils"}},
			"no wild card": {everybody, []string{"100%_s"}, []string{"open 1.1.0 getPupils"}},
			"none":         {everybody, []string{"p_pil"}, nil},
			"empty":        {nil, nil, nil},
		} {
			found, err := w.db.FindContractParts(w.ctx, tt.sight, tt.words, 10)
			var got []string
			for _, f := range found {
				got = append(got, f.ContractID+" "+f.Version+" "+f.Name)
			}
			same(t, got, err, tt.want)
			if t.Failed() {
				t.Fatal(name)
			}
		}
	})
}

// Endpoints and clients are found by all words of their names, and of one partner alone when asked.
func TestFindEndpointsAndClients(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		e := w.newEndpoint(w.partner.ID)
		w.write(func(tx *store.Tx) error { e.Name = "Hook of Oost"; return tx.UpdateEndpoint(w.ctx, &e) })
		var c store.Client
		fill(&c, 1)
		c.PartnerID, c.Name = w.partner.ID, "Nightly Loader"
		w.write(func(tx *store.Tx) error { return tx.InsertClient(w.ctx, &c) })
		for _, tt := range []struct {
			partner string
			words   []string
			want    int
		}{{"", []string{"oost", "HOOK"}, 1}, {w.partner.ID, []string{"oost"}, 1}, {"ptn_other", []string{"oost"}, 0}, {"", []string{"oost", "west"}, 0}} {
			endpoints, err := w.db.FindEndpoints(w.ctx, tt.partner, tt.words, 5)
			same(t, len(endpoints), err, tt.want)
		}
		for words, want := range map[string]int{"loader": 1, "NIGHT": 1, "day": 0} {
			clients, err := w.db.FindClients(w.ctx, w.partner.ID, []string{words}, 5)
			same(t, len(clients), err, want)
		}
	})
}
