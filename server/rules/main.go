// Command rules writes server/rules/RULES.md, the table of rules and the tests that
// prove them: `go run ./server/rules`, from the top of the repository.
//
// A test proves a rule when its comment has a line such as "Rules: EDU-10,
// IDEM-11." A test of this package fails when a rule has neither a test nor a
// reason why none can exist, when a comment names an unknown rule, and when the
// table is not current.
package main

import (
	"fmt"
	"os"
)

// file locates the table, from the top of the repository.
const file = "server/rules/RULES.md"

func main() {
	if err := write(file, "."); err != nil {
		fmt.Fprintln(os.Stderr, "rules:", err)
		os.Exit(1)
	}
}

func write(file, root string) error {
	proofs, err := Scan(root)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(Table(Chapters(), proofs)), 0o644) // #nosec G306 -- a file of the repository
}
