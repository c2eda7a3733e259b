package faults

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/registry/identity"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/storetest"
)

// TestMutationStopped stops a node, as an operator does for a new version, while a publication streams in and a download streams
// out: it ends in time, and both go on at the other node behind what was there, with the same bytes.
//
// Rules: MUT-22, MUT-53, MUT-54.
func TestMutationStopped(t *testing.T) {
	t.Parallel()
	database := storetest.PostgresURL(t)
	r := newRegister(t, historytest.BAG, database)
	other := trial.NewProgram(t, r.PKI, r.Own, database, "--log-level", "warn", "--lease", "2s")
	for flag, value := range map[string]string{"--secret-key-file": r.SecretKey, "--base-url": r.Base} {
		other.Args = replaced(other.Args, flag, value)
	}
	r.Start(t)
	other.Start(t)

	groups := make([]*format.Group, 4000)
	for i := range groups {
		groups[i] = r.source.Group()
	}
	file, header := trial.MutationFile(t, r.source, r.world.Dataset, groups), trial.EventHeader("application/xml")
	target := "/mutations/v1/datasets/" + r.world.Dataset
	access := r.Token(t, r.world.Publisher, "mutations.publish")
	body, send := io.Pipe()
	broken := make(chan string, 1)
	go func() { broken <- r.stream(target+"/mutation-groups", access, header, body) }()
	_, err := send.Write(file[:len(file)/2])
	trial.Must(t, err)
	trial.Eventually(t, "groups are in", func() (bool, string) {
		n := r.groups(t)
		return n > 500, fmt.Sprint(n)
	})
	r.Stop(t)
	_ = send.CloseWithError(io.ErrClosedPipe)
	t.Log("the publisher got: ", <-broken)
	in := r.groups(t)
	a := other.Call(t, "POST", target+"/mutation-groups", access, header, file).Want(t, 201)
	var receipt struct{ Groups, FirstSeq, LastSeq int64 }
	a.Into(t, &receipt)
	if in == 0 || in >= 4000 || receipt.Groups != 4000 || receipt.FirstSeq != 1 || receipt.LastSeq != 4000 || r.groups(t) != 4000 {
		t.Errorf("%d groups were in; then %+v, %d", in, receipt, r.groups(t))
	}
	r.Start(t)
	r.download(t, other)
}

// groups counts the groups in the dataset.
func (r *register) groups(t *testing.T) (n int64) {
	t.Helper()
	r.Open(t, func(db *store.DB) {
		n = trial.Must1[store.Dataset](t)(db.Dataset(t.Context(), r.world.Dataset)).LastSeq
	})
	return n
}

// stream sends a body as it comes, and returns the result.
func (r *register) stream(path, access string, header map[string]string, body io.Reader) string {
	q, err := http.NewRequest(http.MethodPost, r.Base+path, body)
	if err != nil {
		return err.Error()
	}
	for name, value := range header {
		q.Header.Set(name, value)
	}
	q.Header.Set("Authorization", "Bearer "+access)
	a, err := r.Client.Do(q)
	if err != nil {
		return err.Error()
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body) // it may be cut
	return fmt.Sprint(a.StatusCode, " ", string(text))
}

// download reads half of a delta, has its node stopped, and fetches the rest from the other.
func (r *register) download(t *testing.T, other *trial.Program) {
	t.Helper()
	r.ask(t)
	var d store.MutationDelta
	trial.Eventually(t, "a delta is there", func() (bool, string) {
		var err error
		r.Open(t, func(db *store.DB) { d, err = db.LastMutationDelta(t.Context(), r.world.Dataset) })
		return err == nil, fmt.Sprint(err)
	})
	path := "/mutations/v1/datasets/" + r.world.Dataset + "/deltas/" + d.ID + "/content"
	access := r.Token(t, r.world.Followers[0].Credentials, identity.ScopeMutationsRead)
	q, err := http.NewRequest(http.MethodGet, r.Base+path, nil)
	trial.Must(t, err)
	q.Header.Set("Authorization", "Bearer "+access)
	a, err := r.Client.Do(q)
	trial.Must(t, err)
	half := make([]byte, d.Bytes/4)
	_, err = io.ReadFull(a.Body, half)
	trial.Must(t, err)
	r.Stop(t)
	_ = a.Body.Close()
	rest := other.Call(t, "GET", path, access, map[string]string{"Range": fmt.Sprintf("bytes=%d-", len(half)), "If-Range": a.Header.Get("ETag")}, nil).Want(t, 206)
	whole := other.Call(t, "GET", path, access, nil, nil).Want(t, 200)
	if !bytes.Equal(append(half, rest.Body...), whole.Body) || int64(len(whole.Body)) != d.Bytes {
		t.Error("the rest is not that of the same bytes")
	}
}
