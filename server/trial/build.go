package trial

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// cache is the folder where the program is built, from the root of the module; it
// is kept between runs.
const cache = ".cache/e2e"

// root is the folder of the module, which the folder of the process is in.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the folder of the process")
		}
	}
}

// Path names the program, which is built when this process first asks for it. It
// looks for data races where the caller does.
func Path(t T) string {
	t.Helper()
	path, err := asTests()
	Must(t, err)
	return path
}

// PathPlain is Path without the search for data races, where the speed counts or
// a fault is put between the program and the system.
func PathPlain(t T) string {
	t.Helper()
	path, err := plain()
	Must(t, err)
	return path
}

// Built once in a process, however many tests ask.
var (
	asTests = sync.OnceValues(func() (string, error) { return build(RaceEnabled) })
	plain   = sync.OnceValues(func() (string, error) { return build(false) })
)

func build(race bool) (string, error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, cache, "bin")
	name := "schakel"
	args := []string{"build", "-tags", "netgo"}
	if race {
		name, args = "schakel-race", append(args, "-race")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Another run may be using the old one: a new name, then the place of the old.
	fresh := filepath.Join(dir, fmt.Sprint(name, "-", os.Getpid()))
	path := filepath.Join(dir, name)
	out, err := exec.Command("go", append(args, "-o", fresh, "schakel/server")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, os.Rename(fresh, path)
}
