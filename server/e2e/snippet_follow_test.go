package e2e

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"schakel/registry/datasets"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
)

// The command that a partner's page of a dataset prints makes an exact copy and goes on until it is stopped. Where there are
// several subscriptions each has its own command, and its own copy.
//
// Rules: MUT-01.
func TestFollowCommandsOfPagesWork(t *testing.T) {
	t.Parallel()
	p := trial.NewPKI(t)
	s := trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t))
	several := trial.Organisation("follower of two", "34567899")
	var w trial.MutationWorld
	var keyClient, keyFile string
	s.SetUp(t, func(c *demo.Chain) {
		w = s.DeliverMutations(t, c, datasets.DatasetInput{
			ID: "dkk", Title: "Parcels", RootPrefix: "p", RootSpace: "urn:parcels", RootLocal: "mutaties",
			ObjectTypes: []string{"perceel"}, CRS: 28992, AreaKind: store.AreaGeometry,
		}, "")
		_, actor, err := c.Approved(t.Context(), several)
		trial.Must(t, err)
		for name, area := range map[string]string{"All": "", "Part": parcels} {
			endpoint, err := c.Endpoints.Create(t.Context(), actor, "", partners.EndpointInput{Name: name, Kind: store.EndpointFiles})
			trial.Must(t, err)
			sub, err := c.Subscriptions.RequestDataset(t.Context(), actor, partners.DatasetRequest{
				Dataset: "dkk", EndpointID: endpoint.ID, Purpose: "Keep an exact copy.", Area: partners.AreaInput{Text: area},
			})
			trial.Must(t, err)
			trial.Must(t, c.Subscriptions.Approve(t.Context(), c.Admin, sub.ID))
		}
		pair, err := token.NewKeyPair()
		trial.Must(t, err)
		client, _, err := c.Clients.Create(t.Context(), actor, "", identity.NewClient{
			Name: "By key", AuthMethod: token.PrivateKeyJWT, JWKS: pair.Public, Scopes: []string{identity.ScopeMutationsRead},
		})
		trial.Must(t, err)
		if client.Waiting() {
			_, err := c.Clients.Decide(t.Context(), c.Admin, client.ID, identity.Decision{Approve: true, Seen: identity.ClientRequestSeen(client)})
			trial.Must(t, err)
		}
		keyClient, keyFile = client.ID, pair.Private
	})
	s.Start(t)
	publishParcels(t, s, w)

	one := newReader(t, p, s, trial.Organisation("follower a", "34567890").Email)
	two := newReader(t, p, s, several.Email)
	trial.Must(t, os.WriteFile(filepath.Join(two.dir, keyClient+".jwk.json"), []byte(keyFile), 0o644)) // #nosec G306 -- as a browser saves it
	for _, tt := range []struct {
		r      *reader
		secret string
		rows   map[int]int // copies by their number of rows
	}{
		{one, w.Followers[0].Credentials.Secret, map[int]int{90: 1}},
		{two, "", map[int]int{90: 1, 30: 1}},
	} {
		commands := tt.r.commands(t, "/partner/datasets/dkk")
		for id, command := range commands {
			rows := tt.r.follow(t, tt.secret, command)
			if tt.rows[rows]--; tt.rows[rows] < 0 {
				t.Errorf("%s: the copy has %d rows; %s", id, rows, command)
			}
		}
		for rows, missed := range tt.rows {
			if missed > 0 {
				t.Errorf("no copy has %d rows: %q", rows, commands)
			}
		}
	}
}

// follow runs a command that does not end until its first copy is whole, stops it as an operator does, and gives the number of
// rows in the copy that it names.
func (r *reader) follow(t *testing.T, secret, command string) (rows int) {
	t.Helper()
	if !strings.HasSuffix(command, "--every 5m") {
		t.Fatalf("the command does not go on: %s", command)
	}
	var said trial.Log
	cmd := exec.CommandContext(t.Context(), "bash", "-c", command+" &\ntrap \"kill -TERM $!\" TERM\nwait $!\nwait $!")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, append(r.env, "SECRET="+secret), &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	trial.Must(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); <-ended }() // an error means that all have ended
	trial.Eventually(t, "the copy is whole", func() (bool, string) {
		select {
		case <-ended:
			t.Fatalf("%s\nended with %s:\n%s", command, cmd.ProcessState, said.String())
		default:
		}
		return strings.Contains("\n"+said.String(), "\ndkk: "), said.String()
	})
	trial.Must(t, cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-ended:
	case <-time.After(trial.Patience):
		t.Fatalf("SIGTERM did not end it:\n%s", said.String())
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d after SIGTERM:\n%s", code, said.String())
	}
	_, path, _ := strings.Cut(command, "sqlite:")
	path, _, _ = strings.Cut(path, ".db")
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(r.dir, path+".db")+"?mode=ro")
	trial.Must(t, err)
	defer db.Close()
	trial.Must(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM dkk").Scan(&rows))
	return rows
}
