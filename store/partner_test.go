package store_test

import (
	"errors"
	"testing"
	"time"

	"schakel/store"
)

func partnerID(p store.Partner) string { return p.ID }

func TestPartner(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var p store.Partner
		fill(&p, 2)
		w.write(func(tx *store.Tx) error { return tx.InsertPartner(w.ctx, &p) })
		if p.CreatedAt != w.now() || p.UpdatedAt != w.now() {
			t.Errorf("times %v, %v; want %v", p.CreatedAt, p.UpdatedAt, w.now())
		}
		got, err := w.db.Partner(w.ctx, p.ID)
		same(t, got, err, p)

		w.clock.Advance(time.Second)
		fill(&p, 4, "ID", "Own", "CreatedAt")
		w.write(func(tx *store.Tx) error { return tx.UpdatePartner(w.ctx, &p) })
		got, err = w.db.Partner(w.ctx, p.ID)
		same(t, got, err, p)
		same(t, got.UpdatedAt, nil, w.now())

		got, err = w.db.Partner(w.ctx, "ptn_none")
		missing(t)(got, err)
		p.ID = "ptn_none"
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.UpdatePartner(w.ctx, &p) })
		own, err := w.db.OwnPartner(w.ctx)
		same(t, own.ID, err, w.own.ID)
	})
}

// Of somebody who has no account yet the partner is known while they are the contact person of one alone.
func TestPartnerOfAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		is := func(email, want string) {
			t.Helper()
			got, err := w.db.PartnerOfAddress(w.ctx, email)
			same(t, got, err, want)
		}
		first := store.Partner{Name: "School Noord", ContactEmail: "nora@noord.example", Status: store.PartnerRequested}
		second := store.Partner{Name: "School Zuid", ContactEmail: "nora@noord.example", Status: store.PartnerRequested}
		is("nora@noord.example", "")
		w.write(func(tx *store.Tx) error { return tx.InsertPartner(w.ctx, &first) })
		is("nora@noord.example", first.ID)
		w.write(func(tx *store.Tx) error { return tx.InsertPartner(w.ctx, &second) })
		is("nora@noord.example", "")
		account := store.Account{PartnerID: second.ID, Email: "nora@noord.example", Name: "Nora", Role: store.RoleManager, Status: store.AccountActive}
		w.write(func(tx *store.Tx) error { return tx.InsertAccount(w.ctx, &account) })
		is("nora@noord.example", second.ID)
	})
}

func TestPartnerOINIsTakenWhileOpen(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		again := func(tx *store.Tx) error {
			return tx.InsertPartner(w.ctx, &store.Partner{Name: "Kopie", OIN: w.partner.OIN, Status: store.PartnerRequested})
		}
		w.fails(store.ErrConflict, again)
		found, err := w.db.PartnerByOIN(w.ctx, w.partner.OIN)
		same(t, found.ID, err, w.partner.ID)
		w.partner.Status = store.PartnerEnded
		w.write(func(tx *store.Tx) error { return tx.UpdatePartner(w.ctx, &w.partner) })
		found, err = w.db.PartnerByOIN(w.ctx, w.partner.OIN)
		missing(t)(found, err)
		found, err = w.db.PartnerByOIN(w.ctx, "")
		missing(t)(found, err)
		w.write(again)
		none := func(tx *store.Tx) error {
			return tx.InsertPartner(w.ctx, &store.Partner{Status: store.PartnerRequested})
		}
		w.write(none)
		w.write(none)
	})
}

func TestPartners(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		add := func(name, kvk, her, status string) string {
			p := store.Partner{Name: name, KVK: kvk, HerID: her, Status: status}
			w.write(func(tx *store.Tx) error { return tx.InsertPartner(w.ctx, &p) })
			return p.ID
		}
		a := add("100% Onderwijs", "11111111", "", store.PartnerRequested)
		b := add("School_B", "", "8888", store.PartnerRequested)
		all := []string{b, a, w.partner.ID}
		gives(t, map[string]string{a: "100% Onderwijs", b: "School_B"})(w.db.PartnerNames(w.ctx, []string{a, b, "ptn_none"}))
		gives(t, map[string]string{})(w.db.PartnerNames(w.ctx, nil))
		for name, c := range map[string]struct {
			f     store.PartnerFilter
			want  []string
			total int
		}{
			"all":       {store.PartnerFilter{}, all, 3},
			"page 1":    {store.PartnerFilter{Page: store.Page{Number: 1, Size: 2}}, all[:2], 3},
			"page 2":    {store.PartnerFilter{Page: store.Page{Number: 2, Size: 2}}, all[2:], 3},
			"page 9":    {store.PartnerFilter{Page: store.Page{Number: 9, Size: 2}}, []string{}, 3},
			"status":    {store.PartnerFilter{Status: store.PartnerRequested}, all[:2], 2},
			"name":      {store.PartnerFilter{Search: "ONDERWIJS"}, []string{a}, 1},
			"percent":   {store.PartnerFilter{Search: "%"}, []string{a}, 1},
			"underline": {store.PartnerFilter{Search: "_"}, []string{b}, 1},
			"kvk":       {store.PartnerFilter{Search: "11111111"}, []string{a}, 1},
			"oin":       {store.PartnerFilter{Search: w.partner.OIN}, []string{w.partner.ID}, 1},
			"HER-id":    {store.PartnerFilter{Search: "8888"}, []string{b}, 1},
			"own":       {store.PartnerFilter{Search: "eigen"}, []string{}, 0},
		} {
			t.Run(name, func(t *testing.T) { listed(t, partnerID, c.want, c.total)(w.db.Partners(w.ctx, c.f)) })
		}
		gives(t, map[string]int{store.PartnerRequested: 2, store.PartnerApproved: 1})(w.db.CountPartners(w.ctx))

		// A registration that nobody confirmed is known to nobody.
		known := func(want ...string) {
			t.Helper()
			rows, err := w.db.KnownPartners(w.ctx, a, 10)
			noErr(t, err)
			ids := []string{}
			for _, p := range rows {
				ids = append(ids, p.ID)
			}
			same(t, ids, nil, want)
		}
		own, err := w.db.OwnPartner(w.ctx)
		noErr(t, err)
		known(own.ID, w.partner.ID)
		registered, err := w.db.Partner(w.ctx, b)
		noErr(t, err)
		registered.EmailConfirmedAt = store.At(w.clock.Now())
		w.write(func(tx *store.Tx) error { return tx.UpdatePartner(w.ctx, &registered) })
		known(own.ID, w.partner.ID, b)
		first, err := w.db.KnownPartners(w.ctx, "", 1)
		noErr(t, err)
		same(t, [2]any{len(first), first[0].ID}, nil, [2]any{1, own.ID})
	})
}

// A partner that is suspended is not sent to and gets nothing new; approved again, all is as before (guarantee G2).
func TestPartnerStatusReachesSubscriptions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			status string
			may    bool
		}{{store.PartnerSuspended, false}, {store.PartnerApproved, true}, {store.PartnerEnded, false}} {
			before, err := w.db.FanoutEpoch(w.ctx)
			same(t, before != "", err, true)
			w.partner.Status = c.status
			w.write(func(tx *store.Tx) error { return tx.UpdatePartner(w.ctx, &w.partner) })
			s, err := w.db.Subscription(w.ctx, w.subscription.ID)
			same(t, [2]bool{s.Accepting, s.Sending}, err, [2]bool{c.may, c.may})
			after, err := w.db.FanoutEpoch(w.ctx)
			same(t, after != before, err, true)
		}
	})
}

// An organisasjonsnummer is that of one open registration, and partners without one do not collide.
func TestPartnerByOrgNumber(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		clinic := store.Partner{Name: "Legekontoret", OrgNumber: "312345676", HerID: "8094866", Status: store.PartnerRequested}
		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.InsertPartner(w.ctx, &clinic), tx.InsertPartner(w.ctx, &store.Partner{Name: "None", Status: store.PartnerRequested}))
		})
		err := w.db.Write(w.ctx, func(tx *store.Tx) error {
			return tx.InsertPartner(w.ctx, &store.Partner{Name: "Copy", OrgNumber: clinic.OrgNumber, Status: store.PartnerRequested})
		})
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("a second one: %v", err)
		}
		found, err := w.db.PartnerByOrgNumber(w.ctx, clinic.OrgNumber)
		same(t, found.ID, err, clinic.ID)
		if _, err := w.db.PartnerByOrgNumber(w.ctx, ""); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("none: %v", err)
		}
		rows, n, err := w.db.Partners(w.ctx, store.PartnerFilter{Search: clinic.OrgNumber})
		if err != nil || n != 1 || rows[0].ID != clinic.ID {
			t.Errorf("search: %d %+v, %v", n, rows, err)
		}
		clinic.Status = store.PartnerRejected
		w.write(func(tx *store.Tx) error { return tx.UpdatePartner(w.ctx, &clinic) })
		if _, err := w.db.PartnerByOrgNumber(w.ctx, clinic.OrgNumber); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("rejected: %v", err)
		}
	})
}
