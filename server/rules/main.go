// Command rules writes the table of rules and the tests that prove them into the
// README: `go run ./server/rules`, from the top of the repository.
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

func main() {
	if err := write("README.md", "."); err != nil {
		fmt.Fprintln(os.Stderr, "rules:", err)
		os.Exit(1)
	}
}

func write(readme, root string) error {
	proofs, err := Scan(root)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	text, err := Replace(old, Table(Chapters(), proofs))
	if err != nil {
		return err
	}
	return os.WriteFile(readme, text, 0o644)
}
