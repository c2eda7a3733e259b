package registry

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// CheckSecretFile refuses a file with a secret that others than its reader can read or change. A link is judged by what it leads to.
func CheckSecretFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	groups, err := os.Getgroups()
	if err != nil {
		return fmt.Errorf("read the groups of this process: %w", err)
	}
	owner := fileOwner{uid: -1, gid: -1}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = fileOwner{int(stat.Uid), int(stat.Gid)}
	}
	return secretMode(path, info.Mode(), owner, os.Geteuid(), append(groups, os.Getegid()))
}

// fileOwner is the user and the group of a file, by number.
type fileOwner struct{ uid, gid int }

// secretMode decides by the mode of a file. Packages and orchestrators install secrets as files of root that the group of the service may
// read, because a service that is not root could not read them otherwise: such a group is allowed to read, and nobody else.
func secretMode(path string, mode fs.FileMode, owner fileOwner, uid int, groups []int) error {
	others := mode.Perm() & 0o077
	forGroup := uid != 0 && owner.uid == 0 && slices.Contains(groups, owner.gid)
	if !mode.IsRegular() || others == 0 || others == 0o040 && forGroup { // a pipe, as of <(…), has no mode that counts
		return nil
	}
	remedy := "chmod 600 " + path
	if forGroup {
		remedy = "chmod 640 " + path
	}
	return fmt.Errorf("%s has mode %04o: others can read or change it; run: %s", path, mode.Perm(), remedy)
}
