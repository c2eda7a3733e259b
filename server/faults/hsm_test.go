package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store/needs"
)

const (
	softHSM  = "/usr/lib/softhsm/libsofthsm2.so" // the module, as the guide names it
	rightPIN = "4711"
)

// hsm is a token of SoftHSM with what the guide of the secret key makes for it. Its folders lie in one of the test.
type hsm struct {
	*trial.Program
	dir, tokens string
	blocks      []string // of code in the guide's section, in the order in which it gives them
}

func newHSM(t *testing.T) *hsm {
	t.Helper()
	for _, name := range []string{"softhsm2-util", "pkcs11-tool", "openssl"} {
		needs.Program(t, name)
	}
	_, err := os.Stat(softHSM)
	needs.Installed(t, softHSM, err == nil)
	guide, err := os.ReadFile("../guide/keys.md")
	trial.Must(t, err)
	_, section, found := strings.Cut(string(guide), "(PKCS#11)\n")
	section, _, ended := strings.Cut(section, "\n## ")
	h := &hsm{dir: t.TempDir()}
	for block := range strings.SplitSeq(section, "```sh\n") {
		code, _, closed := strings.Cut(block, "```\n")
		if closed {
			h.blocks = append(h.blocks, code)
		}
	}
	if !found || !ended || len(h.blocks) != 7 {
		t.Fatalf("the guide has %d blocks of code on PKCS#11", len(h.blocks))
	}
	h.tokens = filepath.Join(h.dir, "tokens")
	trial.Must(t, os.Mkdir(h.tokens, 0o700))
	h.write(t, "softhsm2.conf", "directories.tokendir = "+h.tokens+"\nobjectstore.backend = file\n", 0o600)
	trial.Must(t, os.Symlink(trial.Path(t), filepath.Join(h.dir, "schakel")))
	h.Program = trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), trial.SQLitePath(t), "--key-command", filepath.Join(h.dir, "schakel-key"))
	return h
}

func (h *hsm) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	trial.Must(t, os.WriteFile(filepath.Join(h.dir, name), []byte(text), mode))
}

// here puts the folder of the test in the place of those that the guide names.
func (h *hsm) here(code string) string {
	code = strings.NewReplacer("/etc/schakel/", h.dir+"/", "/usr/local/bin/schakel-key", h.dir+"/schakel-key").Replace(code)
	return "export SOFTHSM2_CONF=" + h.dir + "/softhsm2.conf PATH=" + h.dir + ":$PATH\n" + code
}

// does runs code of the guide in a shell that knows what earlier code of it set, and gives what it printed.
func (h *hsm) does(t *testing.T, code string) string {
	t.Helper()
	var problems strings.Builder
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-ec", "HSM="+softHSM+" PIN="+rightPIN+"\nexport PIN\n"+h.here(code))
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%v: %s", code, err, &problems)
	}
	return string(out)
}

func (h *hsm) key(t *testing.T, words ...string) (code int, out string) {
	t.Helper()
	return h.Command(t, "", append(append([]string{"key"}, words...), "--database", h.Database, "--key-command", filepath.Join(h.dir, "schakel-key"))...)
}

// TestKeyInHSM does what the guide tells of a key that only an HSM opens: makes the pair of keys in a token, encrypts the secret key for it, has
// Schakel start with it and change it. The HSM then goes away: the program that runs goes on, and one that starts says why it does not.
func TestKeyInHSM(t *testing.T) {
	t.Parallel()
	h := newHSM(t)
	initialise, pair, script, login, next, old := h.blocks[0], h.blocks[1], h.blocks[2], h.blocks[4], h.blocks[5], h.blocks[6]
	// The guide has the PINs asked for.
	h.does(t, strings.Replace(initialise, "--label schakel", "--label schakel --pin "+rightPIN+" --so-pin 87654321", 1))
	h.write(t, "hsm.pin", rightPIN+"\n", 0o600)
	if out := h.does(t, pair); !strings.Contains(out, "never extractable") {
		t.Errorf("the private key can leave the token: %s", out)
	}
	shebang, body, _ := strings.Cut(script, "\n")
	h.write(t, "schakel-key", shebang+"\n"+h.here(body), 0o755)
	first := h.does(t, "schakel-key")

	h.Start(t)
	if code, out := h.key(t); code != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "in use") {
		t.Errorf("the key of the HSM: %d %s", code, out)
	}
	if _, err := os.Stat(h.SecretKey); err == nil {
		t.Error("a key file was made beside the HSM")
	}
	h.does(t, next)
	for _, step := range []string{"rotate", "remove"} {
		if code, out := h.key(t, step); code != 0 {
			t.Fatalf("key %s: %d %s", step, code, out)
		}
	}
	h.does(t, old)
	if left := h.does(t, "schakel-key"); left == first || strings.Count(left, "\n") != 1 {
		t.Errorf("%d lines are left, want the new key alone", strings.Count(left, "\n"))
	}
	h.Stop(t) // before there are wrong PINs: a program that runs tries one too, now and then

	refused := func(words string) {
		t.Helper()
		if code, out := h.key(t); code == 0 || !strings.Contains(out, "schakel-key: it failed") || !strings.Contains(out, words) {
			t.Errorf("exit code %d, want %q: %s", code, words, out)
		}
	}
	h.write(t, "hsm.pin", "0000\n", 0o600)
	refused("CKR_PIN_INCORRECT")
	refused("the last PIN was wrong")
	h.write(t, "hsm.pin", rightPIN+"\n", 0o600)
	refused("the last PIN was wrong")
	h.does(t, login)
	h.does(t, "schakel-key")
	away := func(name, words string) {
		t.Helper()
		path := filepath.Join(h.dir, name)
		trial.Must(t, os.Rename(path, path+".away"))
		refused(words)
		trial.Must(t, os.Rename(path+".away", path))
	}
	away("hsm.pin", "No such file")
	away("key.encrypted", "No such file")
	away("tokens", "CKR_GENERAL_ERROR")

	h.Start(t)
	trial.Must(t, os.Rename(h.tokens, h.tokens+".away"))
	trial.Must(t, os.Mkdir(h.tokens, 0o700))
	refused(`No slot with token named "schakel" found`)
	h.AwaitReady(t)
	h.Stop(t)
	h.Launch(t)
	<-h.Ended()
	if out := h.Output.Tail(); !strings.Contains(out, `No slot with token named`) {
		t.Errorf("it does not say why it does not start: %s", out)
	}
	trial.Must(t, os.Remove(h.tokens))
	trial.Must(t, os.Rename(h.tokens+".away", h.tokens))
	h.Start(t)
	h.Stop(t)
}
