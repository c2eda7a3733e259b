package packaging

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"schakel/delivery/freeport"
	"schakel/store/needs"
)

// tool finds a program that .ci/tool builds.
func tool(t *testing.T, name string) string {
	t.Helper()
	found, _ := filepath.Glob("../../.cache/tools/" + name + "@*/" + name)
	needs.Installed(t, name, len(found) > 0)
	path, err := filepath.Abs(found[len(found)-1])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// command runs a program and returns what it printed.
func command(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// built makes a folder with what the packages are made of: the program, and the example of its settings.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "schakel")
	command(t, exec.Command("go", "build", "-tags", "netgo", "-trimpath", "-o", program, "schakel/server"))
	example := command(t, exec.Command(program, "config"))
	if err := os.WriteFile(filepath.Join(dir, "schakel.yaml.example"), []byte(example), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// packed makes a package of a version, for the packager deb or rpm.
func packed(t *testing.T, nfpm, from, version, packager string) string {
	t.Helper()
	target := filepath.Join(t.TempDir(), "schakel_"+version+"."+packager)
	cmd := exec.Command(nfpm, "package", "--config", "linux/nfpm.yaml", "--packager", packager, "--target", target)
	cmd.Env = append(os.Environ(), "OUT="+from, "ARCH=amd64", "VERSION="+version, "MAINTAINER=Tests <tests@example.nl>", "SOURCE_DATE_EPOCH=1700000000")
	command(t, cmd)
	return target
}

// debianRoot lays a scratch layer over the Debian root that .ci/prepare makes, and returns where it is.
func debianRoot(t *testing.T) string {
	t.Helper()
	base, err := filepath.Abs("../../.cache/debian")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(base, "usr/bin/dpkg"))
	needs.Installed(t, "a Debian root in .cache/debian", err == nil && os.Getuid() == 0)
	scratch := t.TempDir()
	dirs := map[string]string{}
	for _, name := range []string{"upper", "work", "root"} {
		dirs[name] = filepath.Join(scratch, name)
		if err := os.Mkdir(dirs[name], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	options := "lowerdir=" + base + ",upperdir=" + dirs["upper"] + ",workdir=" + dirs["work"]
	if err := syscall.Mount("overlay", dirs["root"], "overlay", 0, options); err != nil {
		command(t, exec.Command("cp", "-a", base+"/.", dirs["root"])) // a kernel without overlays
		return dirs["root"]
	}
	t.Cleanup(func() { _ = syscall.Unmount(dirs["root"], syscall.MNT_DETACH) })
	return dirs["root"]
}

// TestDebianPackage installs the .deb in a Debian root, runs the program as the package sets it up, upgrades, removes and purges it, and
// holds that settings and data survive for as long as they should.
func TestDebianPackage(t *testing.T) {
	t.Parallel()
	needs.Full(t, "a Debian root and nfpm")
	nfpm, root, from := tool(t, "nfpm"), debianRoot(t), built(t)
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}
		return cmd
	}
	sh := func(script string) string { t.Helper(); return command(t, inside("/bin/sh", "-c", script)) }
	wants := func(got string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(got, text) {
				t.Errorf("no %q in:\n%s", text, got)
			}
		}
	}
	install := func(version string) string {
		t.Helper()
		content, err := os.ReadFile(packed(t, nfpm, from, version, "deb"))
		if err == nil {
			err = os.WriteFile(filepath.Join(root, "tmp", "schakel.deb"), content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return sh("dpkg --install /tmp/schakel.deb 2>&1")
	}

	wants(install("1.0.0"), "Fill in /etc/schakel/schakel.yaml")
	wants(sh("stat -c '%U %G %a %n' /etc/schakel/schakel.yaml /var/lib/schakel /var/backups/schakel /usr/bin/schakel"),
		"root schakel 640 /etc/schakel/schakel.yaml", "schakel schakel 750 /var/lib/schakel", "schakel schakel 750 /var/backups/schakel", "root root 755 /usr/bin/schakel")
	wants(sh("ls /usr/lib/systemd/system /usr/share/doc/schakel"), "schakel.service", "schakel-backup.timer", "copyright", "UPGRADING.md", "schakel.yaml.example")
	const as = "runuser -u schakel -- env -C /var/lib/schakel schakel "
	const with = " --config /etc/schakel/schakel.yaml"
	sh("schakel config --check /usr/share/doc/schakel/schakel.yaml.example")

	// An operator fills in the settings, starts the service, makes an account and a backup.
	ports, err := freeport.Find(2)
	if err != nil {
		t.Fatal(err)
	}
	port, admin := strconv.Itoa(ports[0]), strconv.Itoa(ports[1])
	sh("sed -i 's/^addr:.*/addr: 127.0.0.1:" + port + "/; s/^admin-addr:.*/admin-addr: 127.0.0.1:" + admin + "/; s/^#organisation:.*/organisation: Filled in/' /etc/schakel/schakel.yaml")
	serve(t, inside, admin)
	wants(sh(as+"user add --name Anna anna@example.nl"+with), "http")
	sh(as + "backup --to /var/backups/schakel/one.zip" + with)

	wants(install("1.1.0"), "Unpacking schakel (1.1.0-1) over (1.0.0-1)")
	wants(sh("cat /etc/schakel/schakel.yaml"), "organisation: Filled in")
	wants(sh(as+"user list"+with), "anna@example.nl")
	serve(t, inside, admin)

	sh("dpkg --remove schakel")
	wants(sh("ls /etc/schakel /var/lib/schakel /var/backups/schakel"), "schakel.yaml", "schakel.db", "schakel.key", "one.zip")
	wants(install("1.1.0"), "Setting up schakel (1.1.0-1)")
	wants(sh(as+"user list"+with), "anna@example.nl")

	wants(sh("dpkg --purge schakel 2>&1"), "are kept")
	wants(sh("ls /var/lib/schakel /var/backups/schakel; getent passwd schakel; ls /etc/schakel 2>&1 || true; ls /usr/bin/schakel 2>&1 || true"),
		"schakel.db", "schakel.key", "one.zip", "schakel:x:", "cannot access '/etc/schakel'", "cannot access '/usr/bin/schakel'")
}

// serve runs the command of the unit as its user until it is ready, and stops it.
func serve(t *testing.T, inside func(...string) *exec.Cmd, admin string) {
	t.Helper()
	unit, err := os.ReadFile("linux/schakel.service")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(unit), "\nExecStart=")
	line, _, _ = strings.Cut(line, "\n")
	cmd := inside("/bin/sh", "-c", "cd /var/lib/schakel && exec setpriv --reuid schakel --regid schakel --init-groups "+line)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := false
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(100 * time.Millisecond); !ready && ctx.Err() == nil; <-tick.C {
		resp, err := http.Get("http://127.0.0.1:" + admin + "/readyz")
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			ready = resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil || !ready {
		t.Fatalf("%s: ready %v, %v\n%s", line, ready, err, log.String())
	}
}

// TestPackagesAreReproducible holds that the same files give the same packages, whenever they are packed, and that an rpm has what it should.
func TestPackagesAreReproducible(t *testing.T) {
	t.Parallel()
	needs.Full(t, "nfpm")
	nfpm, from := tool(t, "nfpm"), t.TempDir()
	for _, packager := range []string{"deb", "rpm"} {
		var first []byte
		for i := range 2 {
			for _, name := range []string{"schakel", "schakel.yaml.example"} { // written anew, so with another time
				if err := os.WriteFile(filepath.Join(from, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(filepath.Join(from, name), time.Time{}, time.Now().Add(time.Duration(i)*time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			content, err := os.ReadFile(packed(t, nfpm, from, "1.2.3", packager))
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = content
			} else if !bytes.Equal(first, content) {
				t.Errorf("two %s of the same files differ", packager)
			}
		}
	}
	rpm := needs.Program(t, "rpm")
	list := command(t, exec.Command(rpm, "--query", "--package", "--list", "--verbose", packed(t, nfpm, from, "1.2.3", "rpm")))
	for _, line := range []string{"/usr/bin/schakel", "/etc/schakel/schakel.yaml", "/usr/lib/systemd/system/schakel.service", "schakel  schakel"} {
		if !strings.Contains(list, line) {
			t.Errorf("no %q in the rpm:\n%s", line, list)
		}
	}
}

// TestUnits has systemd itself check the units.
func TestUnits(t *testing.T) {
	t.Parallel()
	needs.Full(t, "systemd-analyze")
	analyze := needs.Program(t, "systemd-analyze")
	units, _ := filepath.Glob("linux/schakel*.*er*")
	if len(units) != 3 {
		t.Fatal(units)
	}
	dir := t.TempDir()
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err == nil {
			text = bytes.ReplaceAll(text, []byte("/usr/bin/schakel "), []byte("/bin/true ")) // which is not on this machine
			err = os.WriteFile(filepath.Join(dir, filepath.Base(unit)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if out := command(t, exec.Command(analyze, "verify", filepath.Join(dir, filepath.Base(unit)))); out != "" {
			t.Errorf("%s: %s", unit, out)
		}
	}
	command(t, exec.Command(analyze, "security", "--offline=yes", "--threshold=25", filepath.Join(dir, "schakel.service"))) // tenths: 2.5 of 10
}
