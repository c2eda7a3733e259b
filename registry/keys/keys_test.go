package keys_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/keys"
	"schakel/registry/partners"
	"schakel/registry/services"
	"schakel/store"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		noError(t, err)
		return v
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a database with sealed values, a file of keys, and nodes.
type world struct {
	t     *testing.T
	db    *store.DB
	clock *storetest.Clock
	file  string
	nodes []*node
	told  []string
	// stop breaks a change off when this many things were told, as a kill does; zero never.
	stop     int
	endpoint store.Endpoint
	event    store.Event // with encrypted data
}

// node is a process with a vault of its own.
type node struct {
	vault  *registry.Vault
	follow *keys.Node
	writes int
}

func newWorld(t *testing.T, db *store.DB, clock *storetest.Clock, nodes int) *world {
	t.Helper()
	w := &world{t: t, db: db, clock: clock, file: filepath.Join(t.TempDir(), "schakel.key")}
	w.fill()
	for i := range nodes {
		w.node(string(rune('a'+i)), w.file)
	}
	return w
}

func newClocked(t *testing.T, nodes int) *world {
	clock := storetest.NewClock()
	return newWorld(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, nodes)
}

// vault opens the file as a process that starts does.
func (w *world) vault(file string) *registry.Vault {
	w.t.Helper()
	v := must(registry.KeySource{File: file}.Open(w.t.Context()))(w.t)
	noError(w.t, v.Check(w.t.Context(), w.db))
	return v
}

func (w *world) keys(v *registry.Vault) *keys.Keys {
	return keys.New(w.config(v), services.Sealed())
}

func (w *world) config(v *registry.Vault) registry.Config {
	return registry.Config{
		DB: w.db, Now: w.clock.Now, Log: slog.New(slog.DiscardHandler), Vault: v, BaseURL: "https://schakel.example.nl", Organisation: "Chain Office",
		CheckURL: func(string) error { return nil },
	}
}

func (w *world) node(id, file string) {
	w.t.Helper()
	v := w.vault(file)
	n := &node{vault: v, follow: w.keys(v).Node(id)}
	noError(w.t, n.follow.Look(w.t.Context()))
	w.nodes = append(w.nodes, n)
}

// fill makes values of each form: texts, texts within JSON, bytes, proofs, and a mail of an older version.
func (w *world) fill() {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	cfg := w.config(w.vault(w.file))
	reg := must(services.New(cfg, must(identity.NewAccounts(w.db, w.clock.Now))(t)))(t)
	p := store.Partner{Name: "School", Status: store.PartnerApproved}
	noError(t, w.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertPartner(ctx, &p) }))
	e := must(reg.Endpoints.Create(ctx, registry.SystemActor(), p.ID, partners.EndpointInput{
		Name: "Main", Kind: store.EndpointWebhook, URL: "https://noord.example/events", TokenURL: "https://noord.example/token", TokenClientID: "schakel",
		TokenSecret: "top secret words", TokenAuthMethod: "client_secret_basic",
	}))(t)
	_, _, err := reg.Endpoints.SetSigning(ctx, registry.SystemActor(), e.ID, partners.SigningInput{Scheme: store.SignStandard, Algorithm: store.SignHMAC, OverlapHours: 48})
	noError(t, err)
	_, _, err = reg.Endpoints.RotateSignKey(ctx, registry.SystemActor(), e.ID)
	noError(t, err)
	must(reg.SigningKeys.SigningKeys(ctx))(t)
	noError(t, w.db.Write(ctx, func(tx *store.Tx) error {
		account := store.Account{Email: "ada@example.nl", Name: "Ada", Role: store.RoleAdministrator, Status: store.AccountActive}
		message := store.AMQPMessage{Direction: "in", Kind: "business", Status: "unchecked", Encoded: cfg.Vault.SealBytes("amqp-message", []byte("a message"))}
		err := errors.Join(tx.InsertAccount(ctx, &account), tx.InsertAMQPMessage(ctx, &message))
		err = errors.Join(err, tx.ReplaceRecoveryCodes(ctx, account.ID, []string{cfg.Vault.ProveStored("code one")[0], cfg.Vault.ProveStored("code two")[0]}))
		for range 450 { // more than is sealed at once
			err = errors.Join(err, cfg.QueueMail(ctx, tx, "ada@example.nl", "Link", "https://schakel.example.nl/account/invitation/x"))
		}
		return errors.Join(err, tx.InsertMail(ctx, &store.Mail{Recipient: "old@example.nl", Subject: "Link", Body: "a link of an older version", Status: store.MailSent}))
	}))
	w.endpoint = must(w.db.Endpoint(ctx, e.ID))(t)
	w.db.EncryptData(cfg.Vault, func(context.Context) bool { return true })
	w.event = store.Event{ID: w.db.NewID("evt"), PartnerID: p.ID, CEID: "1", CESource: "urn:x", CEType: "nl.a", Attributes: []byte("{}"), DataKind: 1, Data: []byte(`"data"`), AcceptedAt: store.At(w.clock.Now())}
	noError(t, w.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.InsertEvents(ctx, []store.Event{w.event})
		return err
	}))
}

// opens checks that a vault opens every value.
func (w *world) opens(v *registry.Vault) {
	w.t.Helper()
	t, ctx, cfg := w.t, w.t.Context(), w.config(v)
	e := must(w.db.Endpoint(ctx, w.endpoint.ID))(t)
	if got := string(must(v.Open("endpoint-token-secret", e.TokenSecret))(t)); got != "top secret words" {
		t.Errorf("secret of the token endpoint: %q", got)
	}
	reg := must(services.New(cfg, must(identity.NewAccounts(w.db, w.clock.Now))(t)))(t)
	if got := must(reg.Endpoints.SignKeys(e, w.clock.Now()))(t); len(got) != 2 || len(got[1].Secret) != 32 {
		t.Errorf("signing keys %+v", got)
	}
	if got := must(reg.SigningKeys.SigningKeys(ctx))(t); len(got) != 1 {
		t.Errorf("%d keys of access tokens", len(got))
	}
	noError(t, w.db.ForgetDataKeys(ctx, w.event.PartnerID)) // so that its key is opened with this vault
	if got := must(w.db.Event(ctx, w.event.ID))(t); string(got.Data) != `"data"` || got.Unread != nil {
		t.Errorf("data %q, %v", got.Data, got.Unread)
	}
	mails, _, err := w.db.Mails(ctx, store.Page{Number: 1, Size: 500})
	noError(t, err)
	if len(mails) != 451 {
		t.Fatalf("%d mails", len(mails))
	}
	for _, m := range mails {
		if text := must(cfg.OpenMail(m))(t).Body; !strings.Contains(text, "link of an older") && !strings.Contains(text, "/account/invitation/x") {
			t.Fatalf("mail %q", text)
		}
	}
	read, _ := w.db.Pools()
	var encoded []byte
	noError(t, read.GetContext(ctx, &encoded, `SELECT encoded FROM amqp_message`))
	if got := string(must(v.OpenBytes("amqp-message", encoded))(t)); got != "a message" {
		t.Errorf("message %q", got)
	}
	var proofs []string
	noError(t, read.SelectContext(ctx, &proofs, `SELECT code_proof FROM recovery_code`))
	for _, code := range []string{"code one", "code two"} {
		found := false
		for _, proof := range v.ProveStored(code) {
			for _, p := range proofs {
				found = found || p == proof
			}
		}
		if !found {
			t.Errorf("recovery code %q is not known any more: %q", code, proofs)
		}
	}
}

// rotation is a change of the key. While it waits time goes on, and so do the nodes, which write and read secrets.
func (w *world) rotation(ctx context.Context) keys.Rotation {
	ctx, cancel := context.WithCancel(ctx)
	w.t.Cleanup(cancel)
	w.told = nil
	return keys.Rotation{Actor: registry.SystemActor(), Wait: time.Minute, Pause: func(_ context.Context, d time.Duration) bool {
		w.clock.Advance(8 * d)
		for _, n := range w.nodes {
			w.goesOn(n)
		}
		return ctx.Err() == nil
	}, Tell: func(text string) {
		w.told = append(w.told, text)
		for _, n := range w.nodes {
			w.write(n)
		}
		if w.stop > 0 && len(w.told) >= w.stop {
			cancel()
		}
	}}
}

func (w *world) goesOn(n *node) {
	w.t.Helper()
	if err := n.follow.Look(w.t.Context()); err != nil {
		w.told = append(w.told, "node: "+err.Error())
	}
	w.write(n)
}

// write writes a secret as a node, and reads those of all others.
func (w *world) write(n *node) {
	w.t.Helper()
	ctx, name := w.t.Context(), "secret of "+string(rune('0'+n.writes))
	n.writes = (n.writes + 1) % 5
	noError(w.t, w.db.Write(ctx, func(tx *store.Tx) error { return tx.SetSetting(ctx, name, n.vault.Seal(name, []byte("x"))) }))
	for _, other := range w.nodes {
		if got := must(other.vault.Open(name, must(w.db.Setting(ctx, name))(w.t)))(w.t); string(got) != "x" {
			w.t.Errorf("read %q", got)
		}
	}
}

// states are the keys as they are listed.
func (w *world) states(k *keys.Keys) string {
	w.t.Helper()
	var all []string
	for _, key := range must(k.List(w.t.Context()))(w.t) {
		text := key.ID
		for name, is := range map[string]bool{" in use": key.InUse, " missing": !key.There && key.ID != "", " sealed": key.Values > 0} {
			if is {
				text += name
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// A change of the key seals everything anew while nodes read and write, is told in the audit trail, and leaves the old key in the file until
// it is removed.
func TestRotate(t *testing.T) {
	t.Parallel()
	storetest.EachClock(t, func(t *testing.T, db *store.DB, clock *storetest.Clock) {
		w := newWorld(t, db, clock, 2)
		v := w.vault(w.file)
		k, old := w.keys(v), v.ID()
		if _, err := k.Remove(t.Context(), w.rotation(t.Context()), ""); err == nil {
			t.Error("the only key was removed")
		}
		done := must(k.Rotate(t.Context(), w.rotation(t.Context())))(t)
		if done.KeyID == old || done.KeyID != v.ID() || done.Sealed < 455 || len(done.Unopened) != 0 {
			t.Errorf("%+v", done)
		}
		w.opens(v)
		for _, n := range w.nodes {
			w.opens(n.vault)
			if n.vault.ID() != v.ID() {
				t.Error("a node seals with the old key")
			}
		}
		for _, key := range must(k.List(t.Context()))(t) {
			if (key.ID == v.ID()) != (key.Values > 0) || key.InUse != (key.ID == v.ID()) || !key.There {
				t.Errorf("%+v", key)
			}
		}
		if _, err := k.Remove(t.Context(), w.rotation(t.Context()), v.ID()); !errors.Is(err, keys.ErrKeyNeeded) {
			t.Errorf("the key in use was removed: %v", err)
		}
		removed := must(k.Remove(t.Context(), w.rotation(t.Context()), ""))(t)
		alone := w.vault(w.file)
		if removed.KeyID != old || strings.Join(alone.KeyIDs(), " ") != done.KeyID {
			t.Errorf("removed %+v, left %q", removed, alone.KeyIDs())
		}
		w.opens(alone)
		var said []string
		rows, _, err := db.Audits(t.Context(), store.AuditFilter{ObjectKind: "key"})
		noError(t, err)
		for _, row := range rows {
			said = append(said, row.Action+" "+row.ObjectID)
		}
		if got, want := strings.Join(said, ", "), "key.removed "+old+", key.sealed "+v.ID()+", key.changed "+v.ID(); got != want {
			t.Errorf("audited %s, want %s", got, want)
		}
		// And once more, so that proofs have three layers.
		again := must(w.keys(alone).Rotate(t.Context(), w.rotation(t.Context())))(t)
		w.opens(alone)
		must(w.keys(alone).Remove(t.Context(), w.rotation(t.Context()), ""))(t)
		last := w.vault(w.file)
		w.opens(last)
		if last.ID() != again.KeyID || last.ID() == v.ID() {
			t.Errorf("last key %s of %+v", last.ID(), again)
		}
	})
}

// A change that is killed at any step goes on when it is begun again, with the same key; meanwhile everything opens.
func TestRotateGoesOn(t *testing.T) {
	t.Parallel()
	for stop := 1; ; stop++ {
		w := newClocked(t, 2)
		old := w.vault(w.file).ID()
		w.stop = stop
		ctx, cancel := context.WithCancel(t.Context())
		r := w.rotation(ctx)
		tell := r.Tell
		r.Tell = func(text string) {
			if tell(text); len(w.told) == stop {
				cancel()
			}
		}
		_, err := w.keys(w.vault(w.file)).Rotate(ctx, r)
		killed := ctx.Err() != nil
		cancel()
		if killed && err == nil && stop < 4 {
			t.Errorf("a killed change ended well, after %q", w.told)
		}
		for _, n := range w.nodes {
			w.goesOn(n)
			w.opens(n.vault)
		}
		w.stop = 0
		if err != nil {
			must(w.keys(w.vault(w.file)).Rotate(t.Context(), w.rotation(t.Context())))(t)
		}
		end := w.vault(w.file)
		if len(end.KeyIDs()) != 2 || end.ID() == old {
			t.Errorf("killed after %q: keys %q, in use %s", w.told, end.KeyIDs(), end.ID())
		}
		for _, key := range must(w.keys(end).List(t.Context()))(t) {
			if key.ID == old && key.Values > 0 {
				t.Errorf("the old key seals %+v", key.Places)
			}
		}
		w.opens(end)
		if !killed {
			if stop < 5 {
				t.Errorf("it was killed %d times only", stop-1)
			}
			return
		}
	}
}

// A node that does not have the new key, or whose version does not tell, keeps the key from changing; a value that no key opens is named,
// and keeps its key from being removed.
func TestRotateRefuses(t *testing.T) {
	t.Parallel()
	w := newClocked(t, 1)
	ctx, v := t.Context(), w.vault(w.file)
	k, old := w.keys(v), v.ID()
	elsewhere := filepath.Join(t.TempDir(), "copy.key")
	noError(t, os.WriteFile(elsewhere, must(os.ReadFile(w.file))(t), 0o600))
	w.node("z", elsewhere)
	_, err := k.Rotate(ctx, w.rotation(ctx))
	if !errors.Is(err, keys.ErrNodes) || !strings.Contains(err.Error(), "z") || v.ID() != old {
		t.Fatalf("changed to %s: %v", v.ID(), err)
	}
	noError(t, os.WriteFile(elsewhere, must(os.ReadFile(w.file))(t), 0o600))
	noError(t, w.db.Write(ctx, func(tx *store.Tx) error { _, err := tx.Beat(ctx, "node of an older version"); return err }))
	w.nodes = w.nodes[:2]
	r := w.rotation(ctx)
	r.Wait = 10 * time.Second
	if _, err = k.Rotate(ctx, r); !errors.Is(err, keys.ErrNodes) || !strings.Contains(err.Error(), "older version") {
		t.Fatalf("changed beside an older version: %v", err)
	}
	noError(t, w.db.Write(ctx, func(tx *store.Tx) error {
		damaged := v.Seal("something else", []byte("x"))
		return errors.Join(tx.EndNode(ctx, "node of an older version"), tx.SetSetting(ctx, "damaged", damaged))
	}))
	done := must(k.Rotate(ctx, w.rotation(ctx)))(t)
	if len(done.Unopened) != 1 || done.Unopened[0].Row != "damaged" || done.KeyID == old {
		t.Errorf("%+v", done)
	}
	if _, err = k.Remove(ctx, w.rotation(ctx), old); !errors.Is(err, keys.ErrKeyNeeded) || !strings.Contains(err.Error(), "setting.value: 1") {
		t.Errorf("removed: %v", err)
	}
	if got := w.states(k); strings.Count(got, "sealed") != 2 {
		t.Errorf("listed %s", got)
	}
}

// A node that died without a word is waited for no longer than it takes to see that it is silent.
func TestRotateLeavesTheDead(t *testing.T) {
	t.Parallel()
	w := newClocked(t, 2)
	w.nodes = w.nodes[:1]
	began, v := w.clock.Now(), w.vault(w.file)
	must(w.keys(v).Rotate(t.Context(), w.rotation(t.Context())))(t)
	if took := w.clock.Now().Sub(began); took < 40*time.Second || took > 3*time.Minute {
		t.Errorf("it took %s", took)
	}
	w.opens(v)
}

// What an older version stored without a seal is sealed.
func TestSealOld(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db, storetest.NewClockAt(time.Now()), 0)
		k := w.keys(w.vault(w.file))
		if got := w.states(k); !strings.HasSuffix(got, ",  sealed") { // under no key
			t.Errorf("before: %q", got)
		}
		if n := must(k.SealOld(t.Context()))(t); n != 1 {
			t.Errorf("sealed %d", n)
		}
		if n := must(k.SealOld(t.Context()))(t); n != 0 {
			t.Errorf("sealed %d again", n)
		}
		w.opens(w.vault(w.file))
	})
}
