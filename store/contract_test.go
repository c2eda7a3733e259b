package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

func (w *world) newContract(id, visibility string) store.Contract {
	var c store.Contract
	fill(&c, len(id))
	c.ID, c.Visibility, c.Title = id, visibility, "Titel "+id
	w.write(func(tx *store.Tx) error { return tx.InsertContract(w.ctx, &c) })
	return c
}

func (w *world) newVersion(contractID, version, sortKey, status string) store.ContractVersion {
	var v store.ContractVersion
	fill(&v, len(sortKey))
	v.ContractID, v.Version, v.SortKey, v.Status = contractID, version, sortKey, status
	w.write(func(tx *store.Tx) error { return tx.InsertContractVersion(w.ctx, &v) })
	return v
}

func TestContract(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.newContract("oke-api", store.VisibilityInternal)
		gives(t, c)(w.db.Contract(w.ctx, c.ID))
		w.fails(store.ErrConflict, func(tx *store.Tx) error { again := c; return tx.InsertContract(w.ctx, &again) })
		missing(t)(w.db.Contract(w.ctx, "none"))

		v := w.newVersion(c.ID, "1.0.0", "1", store.VersionPublished)
		w.write(func(tx *store.Tx) error {
			return tx.ReplaceEventTypes(w.ctx, v.ID, []store.EventType{{Name: eventType, ContractID: c.ID, Status: v.Status, Visibility: c.Visibility}})
		})
		w.clock.Advance(time.Second)
		fill(&c, 9, "ID", "Kind", "CreatedAt", "CreatedBy")
		c.Visibility = store.VisibilityPublic
		w.write(func(tx *store.Tx) error { return tx.UpdateContract(w.ctx, &c) })
		gives(t, c)(w.db.Contract(w.ctx, c.ID))
		typ, err := w.db.EventType(w.ctx, eventType)
		same(t, typ.Visibility, err, store.VisibilityPublic)
		c.ID = "none"
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.UpdateContract(w.ctx, &c) })
	})
}

func TestContracts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.newContract("a", store.VisibilityPublic)
		w.newContract("bb", store.VisibilityPartners)
		mine := w.newContract("ccc", store.VisibilityInternal)
		w.newVersion("bb", "1.0.0", "1", store.VersionDeprecated)
		w.newVersion("ccc", "1.0.0", "1", store.VersionDraft)
		w.newContract("dddd", store.VisibilityNamed)
		w.write(func(tx *store.Tx) error { return tx.SetContractPartners(w.ctx, "dddd", []string{w.partner.ID}) })
		id := func(c store.Contract) string { return c.ID }
		sees := func(partnerID string, visibilities ...string) *store.Sight {
			return &store.Sight{Visibilities: visibilities, PartnerID: partnerID}
		}
		for contractID, want := range map[string]bool{"a": true, "bb": false, "dddd": true, "none": false} {
			gives(t, want)(w.db.SeesContract(w.ctx, sees(w.partner.ID, "public"), contractID))
		}
		gives(t, true)(w.db.SeesContract(w.ctx, nil, "ccc"))
		gives(t, []string{w.partner.ID})(w.db.ContractPartners(w.ctx, "dddd"))
		for name, c := range map[string]struct {
			f     store.ContractFilter
			want  []string
			total int
		}{
			"all":          {store.ContractFilter{}, []string{"a", "bb", "ccc", "dddd"}, 4},
			"page":         {store.ContractFilter{Page: store.Page{Number: 2, Size: 3}}, []string{"dddd"}, 4},
			"kind":         {store.ContractFilter{Kind: a.Kind}, []string{"a"}, 1},
			"owner":        {store.ContractFilter{Owner: a.Owner}, []string{"a"}, 1},
			"search":       {store.ContractFilter{Search: "TITEL B"}, []string{"bb"}, 1},
			"wildcard":     {store.ContractFilter{Search: "%"}, []string{}, 0},
			"status":       {store.ContractFilter{Status: store.VersionDraft}, []string{"ccc"}, 1},
			"nothing":      {store.ContractFilter{Sight: sees("")}, []string{}, 0},
			"visibility":   {store.ContractFilter{Sight: sees("", "public", "partners")}, []string{"a", "bb"}, 2},
			"named":        {store.ContractFilter{Sight: sees(w.partner.ID, "public")}, []string{"a", "dddd"}, 2},
			"not named":    {store.ContractFilter{Sight: sees("ptn_other", "public")}, []string{"a"}, 1},
			"own too":      {store.ContractFilter{Sight: sees(mine.OwnerPartnerID, "public"), WithVersion: true}, []string{"ccc"}, 1},
			"owner only":   {store.ContractFilter{OwnerPartnerID: mine.OwnerPartnerID}, []string{"ccc"}, 1},
			"with version": {store.ContractFilter{WithVersion: true}, []string{"bb"}, 1},
		} {
			t.Run(name, func(t *testing.T) { listed(t, id, c.want, c.total)(w.db.Contracts(w.ctx, c.f)) })
		}
	})
}

func TestContractVersion(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newContract("c", store.VisibilityPublic)
		v := w.newVersion("c", "1.0.0", "1", store.VersionDraft)
		w.fails(store.ErrConflict, func(tx *store.Tx) error { again := v; return tx.InsertContractVersion(w.ctx, &again) })
		w.clock.Advance(time.Second)
		fill(&v, 5, "ID", "ContractID", "Version", "SortKey", "Status", "PublishedAt", "PublishedBy", "DeprecatedAt", "SunsetAt", "WithdrawnAt", "StatusReason")
		v.RequestedAt, v.RequestedBy, v.RequestReason = w.now(), "Anna", "ready"
		w.write(func(tx *store.Tx) error { return tx.SetPublicationRequest(w.ctx, &v) })
		rows, total, err := w.db.VersionsRequested(w.ctx, store.Page{Number: 1, Size: 10})
		same(t, rows[0].RequestReason, err, "ready")
		same(t, total, nil, 1)
		gives(t, 1)(w.db.CountVersionsRequested(w.ctx))
		w.write(func(tx *store.Tx) error { return tx.ReplaceDraft(w.ctx, &v) })
		gives(t, 0)(w.db.CountVersionsRequested(w.ctx))
		v.Status, v.PublishedAt, v.PublishedBy, v.StatusReason = store.VersionPublished, w.now(), "acc_1", "klaar"
		v.DeprecatedAt, v.SunsetAt, v.WithdrawnAt = w.in(1*time.Hour), w.in(2*time.Hour), w.in(3*time.Hour)
		w.write(func(tx *store.Tx) error {
			return tx.SetVersionStatus(w.ctx, &v, store.VersionDraft, store.VersionWithdrawn)
		})

		gives(t, v.Original)(w.db.Original(w.ctx, v.ID))
		gives(t, v.Bundle)(w.db.Document(w.ctx, v.ID))
		same(t, v.DocumentDigest(), nil, v.BundleDigest)
		want := v
		want.Original, want.Bundle = nil, nil
		gives(t, want)(w.db.ContractVersion(w.ctx, "c", "1.0.0"))
		gives(t, want)(w.db.ContractVersionByID(w.ctx, v.ID))

		// The bytes of a published version stay for ever (guarantee G8).
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.ReplaceDraft(w.ctx, &v) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.SetVersionStatus(w.ctx, &v, store.VersionDraft) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.SetPublicationRequest(w.ctx, &v) })
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.DeleteDraft(w.ctx, v.ID) })
		draft := w.newVersion("c", "2.0.0", "2", store.VersionDraft)
		draft.Bundle, draft.BundleDigest, draft.Files = nil, "", ""
		w.write(func(tx *store.Tx) error { return tx.ReplaceDraft(w.ctx, &draft) })
		gives(t, draft.Original)(w.db.Document(w.ctx, draft.ID))
		same(t, draft.DocumentDigest(), nil, draft.Digest)
		w.write(func(tx *store.Tx) error { return tx.DeleteDraft(w.ctx, draft.ID) })
		missing(t)(w.db.ContractVersionByID(w.ctx, draft.ID))
		missing(t)(w.db.ContractVersion(w.ctx, "c", "9.9.9"))
		missing(t)(w.db.Original(w.ctx, draft.ID))
	})
}

func TestContractVersionsAreOrderedByBytes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newContract("c", store.VisibilityPublic)
		w.newContract("d", store.VisibilityPublic)
		w.newContract("e", store.VisibilityPublic)
		// As people sort words, "~" comes before digits and "a" before "B"; as bytes it is the other way round.
		w.newVersion("c", "1", "01~", store.VersionDraft)
		w.newVersion("c", "2", "01B", store.VersionDeprecated)
		w.newVersion("c", "3", "01a", store.VersionPublished)
		w.newVersion("c", "4", "010", store.VersionPublished)
		w.newVersion("d", "1", "01", store.VersionDeprecated)
		w.newVersion("e", "1", "01", store.VersionDraft)
		rows, err := w.db.ContractVersions(w.ctx, "c")
		version := func(v store.ContractVersion) string { return v.Version }
		listed(t, version, []string{"1", "3", "2", "4"}, 4)(rows, len(rows), err)
		rows, err = w.db.ContractVersions(w.ctx, "c", store.VersionPublished, store.VersionDeprecated)
		listed(t, version, []string{"3", "2", "4"}, 3)(rows, len(rows), err)

		latest, err := w.db.LatestVersions(w.ctx, []string{"c", "d", "e"})
		same(t, len(latest), err, 2)
		same(t, [2]string{latest["c"].Version, latest["d"].Version}, nil, [2]string{"3", "1"})
		latest, err = w.db.LatestVersions(w.ctx, nil)
		same(t, len(latest), err, 0)
	})
}

func TestEventTypes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.newContract("c", store.VisibilityPublic)
		var ids []string
		for _, version := range []string{"1", "2", "3"} {
			v := w.newVersion("c", version, version, store.VersionPublished)
			ids = append(ids, v.ID)
			types := make([]store.EventType, 2)
			for i := range types {
				fill(&types[i], i+1)
				types[i].ContractID, types[i].ContractVersion, types[i].SortKey = "c", version, version
				types[i].Name, types[i].Status, types[i].Visibility = []string{"nl.b", "nl.a"}[i], v.Status, []string{"public", "internal"}[i]
			}
			w.write(func(tx *store.Tx) error { return tx.ReplaceEventTypes(w.ctx, v.ID, types) })
			gives(t, []store.EventType{types[1], types[0]})(w.db.EventTypesOf(w.ctx, v.ID))
		}
		w.write(func(tx *store.Tx) error { return tx.SetEventTypeStatus(w.ctx, ids[2], store.VersionDeprecated) })
		typ, err := w.db.EventType(w.ctx, "nl.a")
		same(t, typ.ContractVersion, err, "2")
		id := func(e store.EventType) string { return e.Name + " " + e.ContractVersion }
		live, err := w.db.EventTypeVersions(w.ctx, "nl.a")
		listed(t, id, []string{"nl.a 2", "nl.a 1", "nl.a 3"}, 3)(live, len(live), err)
		live, err = w.db.EventTypeVersions(w.ctx)
		same(t, len(live), err, 0)
		live, err = w.db.EventTypeVersions(w.ctx, "nl.b", "nl.none", "nl.a")
		listed(t, id, []string{"nl.a 2", "nl.a 1", "nl.a 3", "nl.b 2", "nl.b 1", "nl.b 3"}, 6)(live, len(live), err)
		rows, err := w.db.EventTypes(w.ctx, nil)
		listed(t, id, []string{"nl.a 2", "nl.b 2"}, 2)(rows, len(rows), err)
		rows, err = w.db.EventTypes(w.ctx, &store.Sight{Visibilities: []string{store.VisibilityPublic, store.VisibilityPartners}})
		listed(t, id, []string{"nl.b 2"}, 1)(rows, len(rows), err)
		rows, err = w.db.EventTypes(w.ctx, &store.Sight{PartnerID: c.OwnerPartnerID})
		listed(t, id, []string{"nl.a 2", "nl.b 2"}, 2)(rows, len(rows), err)

		for _, v := range ids {
			w.write(func(tx *store.Tx) error { return tx.SetEventTypeStatus(w.ctx, v, store.VersionWithdrawn) })
		}
		typ, err = w.db.EventType(w.ctx, "nl.a")
		missing(t)(typ, err)
		w.write(func(tx *store.Tx) error { return tx.ReplaceEventTypes(w.ctx, ids[0], nil) })
		rows, err = w.db.EventTypesOf(w.ctx, ids[0])
		same(t, len(rows), err, 0)
	})
}

// One row a reader and version, written again after an hour; of anonymous readers only a number a day.
//
// Rules: EDU-22.
func TestContractDownloads(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newContract("oke-api", store.VisibilityPublic)
		one, two := w.newVersion("oke-api", "1.0.0", "1", store.VersionPublished), w.newVersion("oke-api", "2.0.0", "2", store.VersionPublished)
		begin := w.now()
		fetch := func(rows ...store.ContractDownload) {
			for i := range rows {
				rows[i].LastAt = w.now()
			}
			w.write(func(tx *store.Tx) error { return tx.AddContractDownloads(w.ctx, rows) })
		}
		client := store.ContractDownload{VersionID: one.ID, ReaderKind: store.DownloadClient, ReaderID: "cli_1", PartnerID: "ptn_1"}
		key := store.ContractDownload{VersionID: one.ID, ReaderKind: store.DownloadReadKey, ReaderID: "rdk_1", PartnerID: "ptn_2"}
		other := store.ContractDownload{VersionID: two.ID, ReaderKind: store.DownloadAccount, ReaderID: "acc_1", PartnerID: "ptn_1"}
		fetch(client, key, other)
		client.LastAt, key.LastAt, other.LastAt = begin, begin, begin
		got, err := w.db.ContractDownloads(w.ctx, one.ID, "")
		same(t, got, err, []store.ContractDownload{client, key})
		w.clock.Advance(59 * time.Minute)
		fetch(client)
		got, err = w.db.ContractDownloads(w.ctx, one.ID, "")
		same(t, got, err, []store.ContractDownload{client, key})
		w.clock.Advance(time.Minute)
		fetch(key)
		key.LastAt = w.now()
		got, err = w.db.ContractDownloads(w.ctx, one.ID, "")
		same(t, got, err, []store.ContractDownload{key, client})
		got, err = w.db.ContractDownloads(w.ctx, one.ID, "ptn_1")
		same(t, got, err, []store.ContractDownload{client})

		count := func(n int64) {
			w.write(func(tx *store.Tx) error { return tx.AddAnonymousDownloads(w.ctx, one.ID, w.now(), n) })
		}
		count(2)
		count(3)
		w.clock.Advance(24 * time.Hour)
		count(1)
		gives[int64](t, 6)(w.db.AnonymousDownloads(w.ctx, one.ID, begin))
		gives[int64](t, 1)(w.db.AnonymousDownloads(w.ctx, one.ID, w.now()))
		gives[int64](t, 0)(w.db.AnonymousDownloads(w.ctx, two.ID, begin))

		w.write(func(tx *store.Tx) error {
			gives(t, store.Pruned{Rows: 2, Done: true})(tx.PruneDownloads(w.ctx, key.LastAt, "", 10))
			gives(t, store.Pruned{Rows: 2})(tx.PruneDownloads(w.ctx, w.now(), "", 1))
			return nil
		})
		got, err = w.db.ContractDownloads(w.ctx, one.ID, "")
		same(t, len(got), err, 0)
		gives[int64](t, 1)(w.db.AnonymousDownloads(w.ctx, one.ID, begin))
	})
}

// Rules: EDU-08, CE-16.
func TestFitsLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		versions, line string
		want           bool
	}{
		{"", "", true},
		{"", "1", true},
		{"1.0.0", "", true},
		{"1.4.2", "1", true},
		{"2.0.0", "1", false},
		{"10.0.0", "1", false},
		{"1.0.0", "10", false},
		{"2.0.0 1.9.0", "1", true},
		{"2.0.0 1.9.0", "3", false},
		{"0.3.1", "0.3", true},
		{"0.3.1", "0", false},
		{"0.4.0", "0.3", false},
		{"0.10.0", "0.1", false},
		{"2.0.0-rc.1", "2", true},
	} {
		if got := store.FitsLine(tt.versions, tt.line); got != tt.want {
			t.Errorf("FitsLine(%q, %q) = %t", tt.versions, tt.line, got)
		}
	}
}

func TestVersionLine(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.0.0": "1", "12.3.4-rc.1+5": "12", "0.3.1": "0.3", "0.0.1": "0.0", "": "", "7": "7",
	} {
		if got := store.VersionLine(version); got != want {
			t.Errorf("line of %q = %q, want %q", version, got, want)
		}
	}
}
