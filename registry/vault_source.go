package registry

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// KeySource gives the keys of a vault: Command when it is set, else Variable, else File. Each holds one key or more, as base64
// of 32 bytes, one a line; lines that begin with # are comments.
type KeySource struct {
	File     string // made when there is none
	Variable string // name of a variable of the environment
	Command  string // program and its arguments, separated by spaces, that prints the keys
}

// keyCommandTime bounds how long a command may take to print the keys.
const keyCommandTime = 30 * time.Second

// String names the source, as errors show it.
func (s KeySource) String() string {
	switch {
	case s.Command != "":
		return "key command " + strings.Fields(s.Command)[0]
	case s.Variable != "":
		return "variable " + s.Variable
	case s.File != "":
		return "key file " + s.File
	}
	return "this vault"
}

// IsFile reports whether the keys come from a file, to which keys can be added.
func (s KeySource) IsFile() bool { return s.Command == "" && s.Variable == "" && s.File != "" }

// OpenVault reads the key from a file, one line of base64, and makes the file for its owner alone when there is none. It refuses
// a file that others can read and a symbolic link (EDU-02).
func OpenVault(path string) (*Vault, error) {
	return KeySource{File: path}.Open(context.Background())
}

// ReadVault is [OpenVault] for who must not make a key: a missing file is an error.
func ReadVault(path string) (*Vault, error) {
	return KeySource{File: path}.OpenExisting(context.Background())
}

// Open reads the keys, and makes a file with one where the keys are to come from a file that is not there.
func (s KeySource) Open(ctx context.Context) (*Vault, error) {
	v, err := s.OpenExisting(ctx)
	if !errors.Is(err, fs.ErrNotExist) || !s.IsFile() {
		return v, err
	}
	if err := createKeyFile(s.File); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	return s.OpenExisting(ctx)
}

// OpenExisting is Open that makes no file.
func (s KeySource) OpenExisting(ctx context.Context) (*Vault, error) {
	keys, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	v := &Vault{source: s}
	return v, v.learn(keys)
}

// Read reads the keys.
func (s KeySource) Read(ctx context.Context) (keys [][]byte, err error) {
	var text []byte
	switch {
	case s.Command != "":
		text, err = s.run(ctx)
	case s.Variable != "":
		text = []byte(os.Getenv(s.Variable))
	default:
		text, err = readKeyFile(s.File)
	}
	if err == nil {
		keys, err = parseKeys(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	return keys, nil
}

// run runs the command. It inherits the environment, in which the programs of a KMS find their credentials.
func (s KeySource) run(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, keyCommandTime)
	defer cancel()
	words := strings.Fields(s.Command)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) // #nosec G204 -- the command of --key-command, which the operator gave
	var problems bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &problems, time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("it did not end within %s", keyCommandTime)
	}
	if err != nil {
		// All of it on one line: what is wrong need not stand first, as with pkcs11-tool, which begins with what it is about to do.
		return nil, fmt.Errorf("it failed: %w: %.300s", err, strings.Join(strings.Fields(problems.String()), " "))
	}
	return out, nil
}

func parseKeys(text []byte) (keys [][]byte, err error) {
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "#") {
				break
			}
			key, err := base64.StdEncoding.DecodeString(word)
			if err != nil || len(key) != vaultKeySize {
				return nil, fmt.Errorf("line %d must hold %d bytes as base64, as schakel key new prints them", number, vaultKeySize)
			}
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("it holds no key: it must hold %d bytes as one line of base64, as schakel key new prints them", vaultKeySize)
	}
	return keys, nil
}

func readKeyFile(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it must be a file, not a link or folder")
	}
	if err := CheckSecretFile(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// createKeyFile writes a key beside its place first and then links it there,
// so that a crash never leaves half a key and of two processes one wins.
func createKeyFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	part, err := writeKeys(dir, keyLine(NewKey()))
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(part) }()
	if err := os.Link(part, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func keyLine(key []byte) string { return base64.StdEncoding.EncodeToString(key) + "\n" }

// writeKeys writes a file for its owner alone, under a name of its own, onto the disk.
func writeKeys(dir, text string) (path string, err error) {
	f, err := os.CreateTemp(dir, ".key-*")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// Add adds a key to the file, behind those that are there.
func (s KeySource) Add(key []byte) error {
	return s.rewrite(func(text string) string {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + keyLine(key)
	})
}

// Remove takes a key out of the file. Comments and other keys stay.
func (s KeySource) Remove(id string) error {
	return s.rewrite(func(text string) string {
		lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool {
			key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
			return err == nil && len(key) == vaultKeySize && KeyID(key) == id
		})
		return strings.Join(lines, "")
	})
}

// rewrite puts another text in the place of the file, of the same owner and mode, at once: a crash leaves one of both.
func (s KeySource) rewrite(change func(string) string) error {
	info, err := os.Stat(s.File)
	if err != nil {
		return fmt.Errorf("change %s: %w", s, err)
	}
	text, err := readKeyFile(s.File)
	if err != nil {
		return fmt.Errorf("change %s: %w", s, err)
	}
	part, err := writeKeys(filepath.Dir(s.File), change(string(text)))
	if err != nil {
		return fmt.Errorf("change %s: %w", s, err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		err = os.Chown(part, int(owner.Uid), int(owner.Gid))
	}
	if err == nil {
		err = os.Chmod(part, info.Mode().Perm())
	}
	if err == nil {
		err = os.Rename(part, s.File)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("change %s: %w", s, err), os.Remove(part))
	}
	return nil
}
