package rabbitmq_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"schakel/delivery/amqp/rabbitmq"
)

// ownerFolder makes the test binary the owner of a node in this folder, until it is killed.
const ownerFolder = "SCHAKEL_TEST_NODE_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerFolder); dir != "" {
		own(dir)
	}
	os.Exit(m.Run())
}

// own starts a node and tells each step with a line.
func own(dir string) {
	i, err := rabbitmq.Find(rabbitmq.Version310)
	if err != nil {
		panic(err)
	}
	n, err := rabbitmq.New(i, dir, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("prepared")
	if err := n.Start(); err != nil {
		panic(err)
	}
	fmt.Println("started")
	select {}
}

// TestOwnerKilled kills the process that owns a node, while it starts and when it runs: node and folder go.
func TestOwnerKilled(t *testing.T) {
	t.Parallel()
	if i := installation(t); i.Root != "" {
		t.Skip("RabbitMQ lives in a root of its own, and has its folder there")
	}
	for _, when := range []string{"prepared", "started"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			owner := exec.CommandContext(t.Context(), os.Args[0])
			owner.Env = append(os.Environ(), ownerFolder+"="+dir)
			out, err := owner.StdoutPipe()
			must(t, err)
			must(t, owner.Start())
			for said := ""; said != when; {
				if _, err := fmt.Fscanln(out, &said); err != nil {
					t.Fatal(err)
				}
			}
			must(t, owner.Process.Kill())
			_ = owner.Wait() // it was killed
			wantEmpty(t, dir)
		})
	}
}

// wantEmpty waits for a folder to be empty; how long that takes decides nothing.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	poll, giveUp := time.NewTicker(50*time.Millisecond), time.After(2*time.Minute)
	defer poll.Stop()
	for {
		found, err := filepath.Glob(filepath.Join(dir, "*"))
		must(t, err)
		if len(found) == 0 {
			return
		}
		select {
		case <-poll.C:
		case <-giveUp:
			t.Fatalf("left behind: %v", found)
		}
	}
}
