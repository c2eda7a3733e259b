package registry

import (
	"io/fs"
	"strings"
	"testing"
)

func TestSecretMode(t *testing.T) {
	t.Parallel()
	root, service, other := fileOwner{0, 0}, fileOwner{0, 50}, fileOwner{1000, 50}
	for _, c := range []struct {
		name   string
		mode   fs.FileMode
		owner  fileOwner
		uid    int
		remedy string
	}{
		{"own", 0o600, other, 1000, ""},
		{"own, read only", 0o400, other, 1000, ""},
		{"a pipe", 0o666 | fs.ModeNamedPipe, other, 1000, ""},
		{"of root for the group of the service", 0o640, service, 1000, ""},
		{"as Kubernetes mounts it", 0o440, service, 1000, ""},
		{"that group may write", 0o660, service, 1000, "chmod 640 "},
		{"everybody reads", 0o644, service, 1000, "chmod 640 "},
		{"another group", 0o640, root, 1000, "chmod 600 "},
		{"a group of a user", 0o640, other, 1000, "chmod 600 "},
		{"root itself", 0o640, root, 0, "chmod 600 "},
		{"others only", 0o604, other, 1000, "chmod 600 "},
		{"others write", 0o602, other, 1000, "chmod 600 "},
	} {
		err := secretMode("/etc/schakel/secret", c.mode, c.owner, c.uid, []int{7, 50})
		if (err == nil) != (c.remedy == "") || err != nil && !strings.HasSuffix(err.Error(), "run: "+c.remedy+"/etc/schakel/secret") {
			t.Errorf("%s: %v, want %q", c.name, err, c.remedy)
		}
	}
}
