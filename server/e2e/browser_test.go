package e2e

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store/needs"
)

// TestStoryInBrowser plays the whole story in a real browser against the
// demonstration, with JavaScript and without: register, confirm, approve, add an
// endpoint, subscribe, approve, publish, delivered; break the receiver, dead
// letter, mend it, resend, delivered. Every page on the way is looked at by axe,
// in light, dark or on a phone, as its address has it; SCHAKEL_E2E_ALL=1 takes all three. Screenshots are made when E2E_KEEP names a folder for them.
func TestStoryInBrowser(t *testing.T) {
	t.Parallel()
	needNode(t)
	chromium := needs.Program(t, "chromium")
	for _, scripted := range []bool{true, false} {
		t.Run(fmt.Sprintf("javascript=%t", scripted), func(t *testing.T) {
			t.Parallel()
			d := startDemo(t) // one each: breaking the receiver is seen by all
			play(t, "browser/story.js", d.story(t, scripted, chromium, folderFor(scripted)))
		})
	}
}

// TestEveryPageInBrowser walks over every page that a visitor, an administrator and a partner reach by links, and holds each kind of page against axe,
// its width, the console and the keyboard, which must come to every place and show where it is, in one combination of language, theme and width.
// Each form is sent without what it requires. SCHAKEL_E2E_ALL=1 takes all twelve combinations.
func TestEveryPageInBrowser(t *testing.T) {
	t.Parallel()
	needNode(t)
	chromium := needs.Program(t, "chromium")
	d := startDemo(t)
	play(t, "browser/walk.js", map[string]any{
		"base": d.base, "chromium": chromium, "all": os.Getenv("SCHAKEL_E2E_ALL") != "",
		"folder": os.Getenv("E2E_KEEP"),
		"people": []map[string]any{
			{"name": "visitor", "starts": []string{"/", "/login", "/register", "/problems", "/problems/key-reused", "/no-such-page"}},
			{"name": "administrator", "email": demo.OwnA().Email, "password": d.password, "starts": []string{"/admin"}},
			{"name": "partner", "email": "carla@kompas.example", "password": d.password, "starts": []string{"/partner", "/partner/jobs/failed?since=day"}},
		},
	})
}

// demonstration is `schakel demo` in a process of its own.
type demonstration struct {
	base, control, password string
}

// startDemo starts a demonstration and reads where things are from what it prints.
func startDemo(t *testing.T) *demonstration {
	t.Helper()
	scratch := t.TempDir()
	port, other := trial.FreePort(t), trial.FreePort(t)
	cmd := exec.Command(trial.Path(t), "--log-level", "warn", "demo", "--addr", "127.0.0.1:"+port, "--partner-addr", "127.0.0.1:"+other)
	cmd.Env = append(os.Environ(), "TMPDIR="+scratch) // where it makes its folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var complaints trial.Log
	cmd.Stderr = &complaints
	stdout, err := cmd.StdoutPipe()
	trial.Must(t, err)
	trial.Must(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	printed := ""
	for lines.Scan() && !strings.Contains(lines.Text(), "Ctrl-C") {
		printed += lines.Text() + "\n"
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines.Scan() { // so that it can go on printing
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // Ctrl-C
		ctx, cancel := context.WithTimeout(context.Background(), trial.StopBound)
		defer cancel()
		select {
		case <-ended:
		case <-ctx.Done():
			t.Error("Ctrl-C did not end the demonstration")
			_ = cmd.Process.Kill()
			<-ended
		}
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("the demonstration ended with %d:\n%s", code, complaints.Tail())
		}
		if left, err := filepath.Glob(filepath.Join(scratch, "*")); err != nil || len(left) > 0 {
			t.Errorf("the demonstration left %v behind", left)
		}
	})
	d := &demonstration{base: "http://localhost:" + port}
	for pattern, into := range map[string]*string{`Receiver of the partners: (\S+)`: &d.control, `Password of every account: (\S+)`: &d.password} {
		found := regexp.MustCompile(pattern).FindStringSubmatch(printed)
		if found == nil {
			t.Fatalf("the demonstration does not print %q:\n%s%s", pattern, printed, complaints.Tail())
		}
		*into = found[1]
	}
	return d
}

// story are the settings of browser/story.js.
func (d *demonstration) story(t *testing.T, scripted bool, chromium, folder string) map[string]any {
	t.Helper()
	_, page, err := trial.Get(http.DefaultClient, d.control)
	trial.Must(t, err)
	secret := regexp.MustCompile(`Client secret</dt><dd><code>(\w+)<`).FindStringSubmatch(page)
	if secret == nil {
		t.Fatalf("the receiver's page shows no secret: %s", page)
	}
	kvk := fmt.Sprint(10_000_000 + rand.IntN(1_000_000))
	return map[string]any{
		"base": d.base, "control": d.control + "/", "javaScript": scripted,
		"organisation": "Stichting Verhaal " + kvk, "oin": "00000003" + kvk + "0000", "email": "noor@" + kvk + ".example",
		"admin":    map[string]string{"email": demo.OwnA().Email, "password": d.password},
		"portions": map[string]string{"email": "carla@kompas.example", "password": d.password},
		"hook": map[string]string{
			"url": d.control + "/hooks/mine-" + kvk, "tokenUrl": d.control + "/token", "id": "schakel-demo", "secret": secret[1],
		},
		"type": demo.TypeStudentRemoved, "row": "leerling-verwijderd", "ids": []string{uuid.NewString(), uuid.NewString(), uuid.NewString()},
		"binary": trial.Path(t), "chromium": chromium, "folder": folder,
	}
}
