package replica_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/mutation/replica"
)

// TestWorkedExamples walks the worked examples of the format for three registers: what is ended, corrected and taken back
// in one group or in several comes out as the versions that hold, without knowing how the history of the register works.
//
// Rules: MUT-02, MUT-03, MUT-04, MUT-05, MUT-06, MUT-07.
func TestWorkedExamples(t *testing.T) {
	t.Parallel()
	for register, want := range map[string][]string{
		"bag": {"begindatumTijdvakGeldigheid", "2026-04-01|fout|nee", "2026-05-01|goed|nee", "2026-06-01|goed|nee", "2026-07-01|ten onrechte|ja"},
		"bgt": {"tijdstipRegistratie", "2026-04-01T00:00:00.000|fout|", "2026-05-01T00:00:00.000|goed|"},
		"brk": {"logischTijdstipOntstaan", "2026-04-01|fout|", "2026-05-01|goed|"},
	} {
		t.Run(register, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Join("..", "format", "testdata", register+".xml"))
			if err != nil {
				t.Fatal(err)
			}
			each(t, func(t *testing.T, database string) {
				fields := []string{want[0], "naam", "inactief"}
				f := open(t, database, replica.Options{Name: "register", Fields: fields, Verify: replica.VerifyStop, Mutations: 1})
				beginEmpty(t, f, string(raw))
				apply(t, f, plain(packed(t, string(raw))))
				got := rows(t, connect(t, database), fmt.Sprintf(`SELECT %q, naam, inactief FROM register`, want[0]))
				if got != strings.Join(want[1:], "\n") {
					t.Errorf("%s\nwant\n%s", got, strings.Join(want[1:], "\n"))
				}
			})
		})
	}
}
