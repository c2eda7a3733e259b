package faults

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store/storetest"
)

// TestDatasetEnds ends a dataset while followers keep copies of it and changes came in that are in no delta yet: each follower
// gets them, says that the dataset has ended and stops by itself, with an exact copy.
//
// Rules: MUT-01, MUT-35.
func TestDatasetEnds(t *testing.T) {
	t.Parallel()
	r := newRegister(t, historytest.BRK, storetest.PostgresURL(t))
	r.Start(t)
	access := r.Token(t, r.world.Publisher, "mutations.publish")
	publish := func(n int) {
		groups := make([]*format.Group, n)
		for i := range groups {
			groups[i] = r.source.Group()
		}
		r.record.Add(groups...)
		r.Call(t, "POST", "/mutations/v1/datasets/"+r.world.Dataset+"/mutation-groups", access, trial.EventHeader("application/xml"), trial.MutationFile(t, r.source, r.world.Dataset, groups)).Want(t, 201)
	}
	publish(200)
	r.ask(t)
	ended := make([]chan error, len(r.world.Followers))
	outs := make([]bytes.Buffer, len(r.world.Followers))
	for n, f := range r.world.Followers {
		cmd := exec.CommandContext(t.Context(), trial.Path(t), "mutations", "follow", "--json", "--every", "1s",
			"--url", r.Base+"/mutations/v1/datasets/"+r.world.Dataset, "--client-id", f.Credentials.ID, "--client-secret", f.Credentials.Secret,
			"--database", "sqlite:"+r.copies[n], "--name", "copy", "--verify", "stop")
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "SSL_CERT_FILE="+r.CAFile), &outs[n], os.Stderr
		ended[n] = make(chan error, 1)
		trial.Must(t, cmd.Start())
		go func() { ended[n] <- cmd.Wait() }()
	}
	publish(100)
	r.SetUp(t, func(c *demo.Chain) { trial.Must(t, c.Datasets.End(t.Context(), c.Admin, r.world.Dataset, "It moved.")) })
	for n := range r.world.Followers {
		if err := <-ended[n]; err != nil {
			t.Errorf("follower %d ends with %v", n, err)
		}
		last := outs[n].String()[strings.LastIndex(strings.TrimSpace(outs[n].String()), "\n{")+1:]
		var report struct {
			DeltaID string
			Ended   struct{ Reason string }
		}
		if err := json.Unmarshal([]byte(last), &report); err != nil || report.Ended.Reason != "It moved." {
			t.Errorf("follower %d says %s, %v", n, last, err)
			continue
		}
		r.compare(t, n, report.DeltaID)
	}
	if r.groups(t) != 300 {
		t.Errorf("%d groups", r.groups(t))
	}
}
