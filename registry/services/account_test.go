package services

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/store/storetest"
)

const goodPassword = "correct horse battery staple" // longer than any common one, so that no list of them is unpacked

func newTestAccounts(t *testing.T) (*identity.Accounts, *store.DB, *storetest.Clock) {
	t.Helper()
	clock := storetest.NewClock()
	db := storetest.SQLite(t, storetest.WithClock(clock))
	a, err := identity.NewAccounts(db, clock.Now, identity.WithWeakPasswords())
	must(t, err)
	return a, db, clock
}

func newAdministrator(t *testing.T, a *identity.Accounts, email string) store.Account {
	t.Helper()
	token, err := a.SetupLink(t.Context())
	if err != nil || token == "" {
		t.Fatalf("setup link %q: %v", token, err)
	}
	account, err := a.CreateAdministrator(t.Context(), token, "Admin", email, goodPassword)
	must(t, err)
	return account
}

func fieldsOf(err error) map[string]string {
	e, ok := errors.AsType[*registry.Error](err)
	if !ok {
		return nil
	}
	fields := make(map[string]string, len(e.Fields))
	for name, text := range e.Fields {
		fields[name] = text.String()
	}
	return fields
}

func wantField(t *testing.T, field string, err error) {
	t.Helper()
	if fieldsOf(err)[field] == "" {
		t.Errorf("got %v, want field %s", err, field)
	}
}

// wantOneField checks that nothing but this field is wrong.
func wantOneField(t *testing.T, what, field string, err error) {
	t.Helper()
	if f := fieldsOf(err); len(f) != 1 || f[field] == "" {
		t.Errorf("%s: got %v %v, want field %s", what, err, f, field)
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	a, _, clock := newTestAccounts(t)
	ctx := t.Context()
	first, _ := a.SetupLink(ctx)
	second, err := a.SetupLink(ctx)
	if err != nil || first == second {
		t.Fatalf("second link %q after %q: %v", second, first, err)
	}
	tests := []struct {
		name, token, who, email, password string
		field                             string
		want                              error
	}{
		{"older link", first, "A", "a@example.nl", goodPassword, "", registry.ErrLinkDead},
		{"guessed link", "x", "A", "a@example.nl", goodPassword, "", registry.ErrLinkDead},
		{"no name", second, " ", "a@example.nl", goodPassword, "name", nil},
		{"no address", second, "A", "a", goodPassword, "email", nil},
		{"two addresses", second, "A", "a@example.nl, b@example.nl", goodPassword, "email", nil},
		{"short password", second, "A", "a@example.nl", "short", "password", nil},
	}
	for _, tt := range tests {
		_, err := a.CreateAdministrator(ctx, tt.token, tt.who, tt.email, tt.password)
		if tt.field != "" && fieldsOf(err)[tt.field] == "" {
			t.Errorf("%s: got %v, want field %s", tt.name, err, tt.field)
		}
		if tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	if _, err := a.CreateAdministrator(ctx, second, "A", " A@Example.nl ", goodPassword); err != nil {
		t.Fatalf("refused tries used the link up: %v", err)
	}
	if _, err := a.CreateAdministrator(ctx, second, "B", "b@example.nl", goodPassword); !errors.Is(err, registry.ErrLinkDead) {
		t.Errorf("second use: got %v, want %v", err, registry.ErrLinkDead)
	}
	if token, err := a.SetupLink(ctx); err != nil || token != "" {
		t.Errorf("another setup link %q, %v although there is an administrator", token, err)
	}
	clock.Advance(time.Hour)
	if _, err := a.Authenticate(ctx, identity.Login{Email: "a@example.NL", Password: goodPassword, Addr: "192.0.2.1"}); err != nil {
		t.Errorf("login: %v", err)
	}
}

func TestSetupLinkExpires(t *testing.T) {
	t.Parallel()
	a, _, clock := newTestAccounts(t)
	token, err := a.SetupLink(t.Context())
	must(t, err)
	clock.Advance(registry.LinkSetup.Lifetime())
	if err := a.CheckSetupLink(t.Context(), token); !errors.Is(err, registry.ErrLinkDead) {
		t.Errorf("got %v, want %v", err, registry.ErrLinkDead)
	}
}

func TestInvitationAndReset(t *testing.T) {
	t.Parallel()
	a, _, _ := newTestAccounts(t)
	ctx := t.Context()
	invited, token, err := a.Invite(ctx, registry.SystemActor(), identity.NewAccount{Email: "p@example.nl", Name: "P", Role: store.RoleManager, PartnerID: "ptn_1"})
	must(t, err)
	if _, err := a.ChoosePassword(ctx, registry.LinkReset, token, goodPassword); !errors.Is(err, registry.ErrLinkDead) {
		t.Errorf("an invitation worked as a reset: %v", err)
	}
	account, err := a.ChoosePassword(ctx, registry.LinkInvitation, token, goodPassword)
	if err != nil || account.Status != store.AccountActive || account.SessionEpoch <= invited.SessionEpoch {
		t.Fatalf("got %+v, %v", account, err)
	}
	if _, err := a.ChoosePassword(ctx, registry.LinkInvitation, token, goodPassword); !errors.Is(err, registry.ErrLinkDead) {
		t.Errorf("worked twice: %v", err)
	}
	purpose, reset, err := a.PasswordLink(ctx, "P@example.nl")
	if err != nil || purpose != registry.LinkReset {
		t.Fatalf("reset link: %v, %v", purpose, err)
	}
	if _, err := a.ChoosePassword(ctx, registry.LinkReset, reset, "another good one"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Authenticate(ctx, identity.Login{Email: "p@example.nl", Password: goodPassword, Addr: "192.0.2.1"}); !errors.Is(err, identity.ErrLogin) {
		t.Errorf("the old password works still: %v", err)
	}
	if _, err := a.Authenticate(ctx, identity.Login{Email: "p@example.nl", Password: "another good one", Addr: "192.0.2.1"}); err != nil {
		t.Error(err)
	}
}

func TestAuthenticateRefuses(t *testing.T) {
	t.Parallel()
	a, db, _ := newTestAccounts(t)
	ctx := t.Context()
	newAdministrator(t, a, "a@example.nl")
	if _, _, err := a.Invite(ctx, registry.SystemActor(), identity.NewAccount{Email: "invited@example.nl", Name: "I", Role: store.RoleAdministrator}); err != nil {
		t.Fatal(err)
	}
	_, token, err := a.Invite(ctx, registry.SystemActor(), identity.NewAccount{Email: "blocked@example.nl", Name: "B", Role: store.RoleAdministrator})
	must(t, err)
	blocked, err := a.ChoosePassword(ctx, registry.LinkInvitation, token, goodPassword)
	must(t, err)
	blocked.Status = store.AccountBlocked
	must(t, db.Write(ctx, func(tx *store.Tx) error { return tx.UpdateAccount(ctx, &blocked) }))
	for _, tt := range []struct{ name, email, password string }{
		{"wrong password", "a@example.nl", "wrong wrong wrong"},
		{"unknown", "nobody@example.nl", goodPassword},
		{"no password yet", "invited@example.nl", ""},
		{"blocked", "blocked@example.nl", goodPassword},
		{"nothing", "", ""},
	} {
		if _, err := a.Authenticate(ctx, identity.Login{Email: tt.email, Password: tt.password, Addr: "192.0.2.1"}); !errors.Is(err, identity.ErrLogin) {
			t.Errorf("%s: got %v, want %v", tt.name, err, identity.ErrLogin)
		}
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	a, _, _ := newTestAccounts(t)
	ctx := t.Context()
	account := newAdministrator(t, a, "a@example.nl")
	_, err := a.ChangePassword(ctx, account.ID, "wrong wrong wrong", "another good one", "192.0.2.1", "")
	wantField(t, "current", err)
	_, err = a.ChangePassword(ctx, account.ID, goodPassword, "short", "192.0.2.1", "")
	wantField(t, "password", err)
	changed, err := a.ChangePassword(ctx, account.ID, goodPassword, "another good one", "192.0.2.1", "")
	if err != nil || changed.SessionEpoch != account.SessionEpoch+1 {
		t.Errorf("got epoch %d, %v: sessions must end", changed.SessionEpoch, err)
	}
}

func TestLoginIdentity(t *testing.T) {
	t.Parallel()
	a, db, _ := newTestAccounts(t)
	ctx := t.Context()
	local := newAdministrator(t, a, "a@example.nl")
	id := identity.Identity{Issuer: "https://id.example.nl", Subject: "1", Name: "N", Email: "n@example.nl"}
	if _, err := a.LoginIdentity(ctx, id); !errors.Is(err, identity.ErrNoAccount) {
		t.Errorf("stranger: got %v, want %v", err, identity.ErrNoAccount)
	}
	thief := id
	thief.Email, thief.Administrator = "a@example.nl", true
	if _, err := a.LoginIdentity(ctx, thief); fieldsOf(err)["email"] == "" {
		t.Errorf("an account was taken over by its e-mail address: %v", err)
	}
	id.Administrator = true
	made, err := a.LoginIdentity(ctx, id)
	if err != nil || made.ID == local.ID || made.Role != store.RoleAdministrator {
		t.Fatalf("got %+v, %v", made, err)
	}
	again := identity.Identity{Issuer: id.Issuer, Subject: "1", Email: "changed@example.nl", Administrator: true}
	if same, err := a.LoginIdentity(ctx, again); err != nil || same.ID != made.ID {
		t.Errorf("second login: got %s, %v, want %s", same.ID, err, made.ID)
	}
	again.Subject, again.Administrator = "2", false
	if _, err := a.LoginIdentity(ctx, again); !errors.Is(err, identity.ErrNoAccount) {
		t.Errorf("other subject: got %v, want %v", err, identity.ErrNoAccount)
	}
	made.Status = store.AccountBlocked
	must(t, db.Write(ctx, func(tx *store.Tx) error { return tx.UpdateAccount(ctx, &made) }))
	if _, err := a.LoginIdentity(ctx, id); !errors.Is(err, identity.ErrLogin) {
		t.Errorf("blocked: got %v, want %v", err, identity.ErrLogin)
	}
}

func TestAdministratorsDecideOnAccounts(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		eva, err := w.Accounts.InviteColleague(ctx, w.admin, identity.NewAccount{Name: "Eva", Email: "Eva@example.nl", Role: store.RoleAdministrator})
		must(t, err)
		if eva.Email != "eva@example.nl" || eva.Role != store.RoleAdministrator || eva.Status != store.AccountInvited {
			t.Fatalf("invited as %+v", eva)
		}
		_, err = w.Accounts.InviteColleague(ctx, w.admin, identity.NewAccount{Name: "Eva", Email: "eva@example.nl", Role: store.RoleAdministrator})
		wantCode(t, "invite again", registry.CodeInvalid, err)
		_, person := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		for _, step := range []struct {
			what  string
			do    func() error
			code  string
			state string
		}{
			{"unblock at first", func() error { return w.Accounts.Unblock(ctx, w.admin, eva.ID) }, registry.CodeConflict, store.AccountInvited},
			{"block", func() error { return w.Accounts.Block(ctx, w.admin, eva.ID) }, "", store.AccountBlocked},
			{"block again", func() error { return w.Accounts.Block(ctx, w.admin, eva.ID) }, registry.CodeConflict, store.AccountBlocked},
			{"unblock", func() error { return w.Accounts.Unblock(ctx, w.admin, eva.ID) }, "", store.AccountInvited},
			{"a partner blocks", func() error { return w.Accounts.Block(ctx, person, eva.ID) }, registry.CodeNotFound, store.AccountInvited},
			{"block oneself", func() error { return w.Accounts.Block(ctx, w.admin, w.admin.ID) }, registry.CodeConflict, store.AccountInvited},
			{"block nobody", func() error { return w.Accounts.Block(ctx, w.admin, "acc_none") }, registry.CodeNotFound, store.AccountInvited},
		} {
			wantCode(t, step.what, step.code, step.do())
			now, err := w.db.Account(ctx, eva.ID)
			must(t, err)
			if now.Status != step.state {
				t.Errorf("after %q it is %s, want %s", step.what, now.Status, step.state)
			}
		}
		before, err := w.db.Account(ctx, person.ID)
		must(t, err)
		must(t, w.Accounts.Block(ctx, w.admin, person.ID))
		must(t, w.Accounts.Unblock(ctx, w.admin, person.ID))
		after, err := w.db.Account(ctx, person.ID)
		must(t, err)
		if after.Status != store.AccountActive || after.SessionEpoch == before.SessionEpoch {
			t.Errorf("after a block: %s, sessions of before live on: %t", after.Status, after.SessionEpoch == before.SessionEpoch)
		}
	})
}

// TestLoginThrottle: guesses at an account from many addresses are bounded, whether it exists or not; its owner waits at most a
// minute, and not at all in a browser where it logged in before.
func TestLoginThrottle(t *testing.T) {
	t.Parallel()
	for _, email := range []string{"a@example.nl", "nobody@example.nl"} {
		t.Run(email, func(t *testing.T) {
			t.Parallel()
			a, _, clock := newTestAccounts(t)
			owner := newAdministrator(t, a, "a@example.nl")
			device, err := a.TrustDevice(t.Context(), owner.ID, "")
			must(t, err)
			free := int(registry.AccountRule().Free)
			if tried := guessAtOnce(t, a, email, free+20); tried != free+1 {
				t.Errorf("%d guesses were looked at, want %d", tried, free+1)
			}
			login := identity.Login{Email: email, Password: goodPassword, Addr: "192.0.2.99"}
			_, err = a.Authenticate(t.Context(), login)
			throttled, ok := errors.AsType[*registry.ThrottledError](err)
			if !ok || throttled.After <= 0 || throttled.After > time.Minute {
				t.Fatalf("got %v, want throttled", err)
			}
			login.Device = device
			if _, err = a.Authenticate(t.Context(), login); (err == nil) != (email == "a@example.nl") {
				t.Errorf("in the owner's browser: %v", err)
			}
			login.Device = ""
			clock.Advance(throttled.After)
			if _, err = a.Authenticate(t.Context(), login); errors.Is(err, identity.ErrLogin) != (email == "nobody@example.nl") {
				t.Errorf("after the wait: %v", err)
			}
		})
	}
}

// TestLoginThrottleOfOneAddress: who guesses an account from one address soon waits, the account in a browser of its owner too.
func TestLoginThrottleOfOneAddress(t *testing.T) {
	t.Parallel()
	a, _, _ := newTestAccounts(t)
	owner := newAdministrator(t, a, "a@example.nl")
	other, token, err := a.Invite(t.Context(), registry.SystemActor(), identity.NewAccount{Email: "b@example.nl", Name: "B", Role: store.RoleAdministrator})
	must(t, err)
	_, err = a.ChoosePassword(t.Context(), registry.LinkInvitation, token, goodPassword)
	must(t, err)
	device, err := a.TrustDevice(t.Context(), owner.ID, "")
	must(t, err)
	for _, tt := range []struct {
		what  string
		login identity.Login
		free  int64
	}{
		{"from one address", identity.Login{Email: "a@example.nl", Addr: "192.0.2.1"}, registry.PairRule().Free},
		{"in a browser of the owner", identity.Login{Email: "a@example.nl", Addr: "192.0.2.1", Device: device}, registry.DeviceRule().Free},
		{"in a browser of somebody else", identity.Login{Email: "b@example.nl", Addr: "192.0.2.7", Device: device}, registry.PairRule().Free},
	} {
		tt.login.Password = "wrong wrong wrong"
		var looked int64
		for range 30 {
			if _, err := a.Authenticate(t.Context(), tt.login); errors.Is(err, identity.ErrLogin) {
				looked++
			}
		}
		if looked != tt.free+1 {
			t.Errorf("%s: %d guesses were looked at, want %d", tt.what, looked, tt.free+1)
		}
	}
	if _, err := a.Authenticate(t.Context(), identity.Login{Email: other.Email, Password: goodPassword, Addr: "192.0.2.1"}); err != nil {
		t.Errorf("somebody else at the address of the guesser: %v", err)
	}
	must(t, a.EndSessions(t.Context(), owner.ID))
	if again, err := a.TrustDevice(t.Context(), owner.ID, device); err != nil || again == device {
		t.Errorf("a browser is still known after all sessions were ended: %v", err)
	}
}

// guessAtOnce tries n wrong passwords at the same time, each from its own address, and counts those that were looked at.
func guessAtOnce(t *testing.T, a *identity.Accounts, email string, n int) int {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	tried := 0
	for i := range n {
		wg.Go(func() {
			login := identity.Login{Email: email, Password: "wrong wrong wrong", Addr: fmt.Sprintf("192.0.%d.%d", i/200, i%200)}
			_, err := a.Authenticate(context.WithoutCancel(t.Context()), login)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, identity.ErrLogin) {
				tried++
			}
		})
	}
	wg.Wait()
	return tried
}

// TestProviderDecides: an administrator whom the OpenID provider does not call one any more cannot log in, and its sessions end; no
// link sets a password for such an account.
func TestProviderDecides(t *testing.T) {
	t.Parallel()
	a, db, _ := newTestAccounts(t)
	ctx := t.Context()
	id := identity.Identity{Issuer: "https://id.example.nl", Subject: "1", Name: "N", Email: "n@example.nl", Administrator: true}
	made, err := a.LoginIdentity(ctx, id)
	must(t, err)
	if _, _, err := a.PasswordLink(ctx, "n@example.nl"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a link for a password: %v", err)
	}
	var token string
	must(t, db.Write(ctx, func(tx *store.Tx) (err error) {
		token, err = registry.NewLink(ctx, tx, registry.LinkReset, made.ID)
		return err
	}))
	if _, err := a.ChoosePassword(ctx, registry.LinkReset, token, goodPassword); !errors.Is(err, registry.ErrLinkDead) {
		t.Errorf("a link of before set a password: %v", err)
	}
	id.Administrator = false
	if _, err := a.LoginIdentity(ctx, id); !errors.Is(err, identity.ErrNoAccount) {
		t.Errorf("without the claim: got %v, want %v", err, identity.ErrNoAccount)
	}
	now, err := a.Account(ctx, made.ID)
	must(t, err)
	if now.SessionEpoch == made.SessionEpoch {
		t.Error("without the claim, sessions of before live on")
	}
	id.Administrator = true
	if _, err := a.LoginIdentity(ctx, id); err != nil {
		t.Errorf("with the claim again: %v", err)
	}
}

// TestLoginsAreAudited: who logged in, failed to, logged out and set a password, and from where.
func TestLoginsAreAudited(t *testing.T) {
	t.Parallel()
	a, db, _ := newTestAccounts(t)
	ctx := registry.WithAddress(t.Context(), "192.0.2.1")
	account := newAdministrator(t, a, "a@example.nl")
	login := identity.Login{Email: account.Email, Password: "wrong wrong wrong", Addr: "192.0.2.1"}
	_, _ = a.Authenticate(ctx, login)
	_, _ = a.Authenticate(ctx, identity.Login{Email: "my own secret", Password: "x", Addr: "192.0.2.1"})
	login.Password = goodPassword
	_, err := a.Authenticate(ctx, login)
	must(t, err)
	id, _, err := a.OpenSession(ctx, account, "", "192.0.2.1", "curl/8", nil)
	must(t, err)
	session, err := a.Session(ctx, id)
	must(t, err)
	must(t, a.LoggedOut(ctx, session))
	if _, err := a.Session(ctx, id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("logged out, and the session goes on: %v", err)
	}
	_, _, err = a.PasswordLink(ctx, account.Email)
	must(t, err)
	_, err = a.ChangePassword(ctx, account.ID, "wrong wrong wrong", "another good one", "192.0.2.1", "")
	wantField(t, "current", err)
	_, err = a.ChangePassword(ctx, account.ID, goodPassword, "another good one", "192.0.2.1", "")
	must(t, err)
	must(t, a.EndSessions(ctx, account.ID))
	rows, _, err := db.Audits(ctx, store.AuditFilter{})
	must(t, err)
	var got []string
	for _, row := range rows {
		if row.ObjectID != account.ID || row.Address != "192.0.2.1" {
			continue
		}
		got = append(got, row.Action)
	}
	slices.Reverse(got)
	want := []string{
		registry.ActionLoginFailed, registry.ActionLoggedIn, registry.ActionLoggedOut, registry.ActionPasswordAsked,
		registry.ActionLoginFailed, registry.ActionPasswordSet, registry.ActionSessionsEnded,
	}
	if !slices.Equal(got, want) {
		t.Errorf("audited %q, want %q", got, want)
	}
}

func TestAddressThrottleOutlivesSuccess(t *testing.T) {
	t.Parallel()
	a, _, _ := newTestAccounts(t)
	ctx := t.Context()
	newAdministrator(t, a, "a@example.nl")
	var err error
	for i := range 140 {
		_, err = a.Authenticate(ctx, identity.Login{Email: fmt.Sprintf("guess%d@example.nl", i), Password: "wrong wrong wrong", Addr: "192.0.2.1"})
		if i == 10 {
			if _, err := a.Authenticate(ctx, identity.Login{Email: "a@example.nl", Password: goodPassword, Addr: "192.0.2.1"}); err != nil {
				t.Fatalf("login in between: %v", err)
			}
		}
	}
	if _, ok := errors.AsType[*registry.ThrottledError](err); !ok {
		t.Errorf("got %v, want throttled: one good login must not wipe an address clean", err)
	}
}
