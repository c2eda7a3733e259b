package storetest_test

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"schakel/store/storetest"
)

// asVictim makes the test binary start a server, name its folder and wait to be killed.
const asVictim = "STORETEST_VICTIM"

func TestServerEndsWithAKilledTestBinary(t *testing.T) {
	t.Parallel()
	folder := serverFolder(t, storetest.PostgresURL(t))
	if os.Getenv(asVictim) != "" {
		fmt.Println("folder", folder)
		select {} // until the parent kills us
	}
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	victim.Env = append(os.Environ(), asVictim+"=1")
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	theirs := ""
	for lines := bufio.NewScanner(out); theirs == "" && lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "folder "); ok {
			theirs = name
		}
	}
	if theirs == "" || theirs == folder {
		t.Fatalf("the other test binary's folder is %q, ours %q", theirs, folder)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	for range time.Tick(20 * time.Millisecond) {
		if _, err := os.Stat(theirs); os.IsNotExist(err) {
			return
		}
	}
}

func serverFolder(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("host")
}
