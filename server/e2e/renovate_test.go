package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
)

// followed are the contracts that Renovate looks up: one that everybody sees, and
// one for which it needs a read-only key.
var followed = map[string]string{"public-schools": store.VisibilityPublic, "partner-schools": store.VisibilityPartners}

// TestRenovate has Renovate look for new versions of contracts in a repository on
// disk, with the configuration that the page of a contract shows to its readers. It
// proposes the newest version that is published and neither a pre-release nor
// deprecated, with when it was published; not a draft, and not what is withdrawn.
//
// Rules: EDU-06e, EDU-N06.
func TestRenovate(t *testing.T) {
	t.Parallel()
	git := needs.Program(t, "git")
	node, modules := needNode(t)
	s := trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), trial.SQLitePath(t))
	reader, key := trial.Organisation("Reader", "34567890"), ""
	s.SetUp(t, func(c *demo.Chain) {
		partner, _, err := c.Approved(t.Context(), reader)
		trial.Must(t, err)
		_, key, err = c.ReadKeys.Create(t.Context(), c.Admin, partner.ID, identity.NewReadKey{Name: "Renovate"})
		trial.Must(t, err)
		for id, visibility := range followed {
			releases(t, c, id, visibility)
		}
	})
	s.Start(t)

	repository := t.TempDir()
	write(t, repository, "renovate.json", shownConfiguration(t, s, reader.Email, "partner-schools"))
	write(t, repository, "contracts.txt", "public-schools@1.0.0\npartner-schools@1.0.0\n")
	run(t, exec.CommandContext(t.Context(), git, "init", "--quiet", repository), nil)
	run(t, exec.CommandContext(t.Context(), git, "-C", repository, "add", "."), nil)
	secret := trial.Must1[[]byte](t)(json.Marshal(map[string]string{"SCHAKEL_KEY": key}))
	report := filepath.Join(t.TempDir(), "report.json")
	renovate := exec.CommandContext(t.Context(), node, filepath.Join(modules, "renovate", "dist", "renovate.js"))
	renovate.Dir = repository
	output := run(t, renovate, []string{
		"RENOVATE_PLATFORM=local", "RENOVATE_DRY_RUN=lookup", "RENOVATE_REPORT_TYPE=file", "RENOVATE_REPORT_PATH=" + report,
		"RENOVATE_SECRETS=" + string(secret), "RENOVATE_BASE_DIR=" + t.TempDir(), "NODE_EXTRA_CA_CERTS=" + s.CAFile,
		"LOG_LEVEL=debug", "RENOVATE_CONFIG_FILE=", "RENOVATE_ENABLED_MANAGERS=custom.regex",
	})
	if strings.Contains(output, key) {
		t.Error("the log of Renovate tells the key")
	}
	checkProposals(t, s.Base, report, output)
}

// releases gives a contract versions in every state.
func releases(t *testing.T, c *demo.Chain, id, visibility string) {
	t.Helper()
	ctx := t.Context()
	_, err := c.Contracts.Create(ctx, c.Admin, contracts.ContractInput{ID: id, Kind: "openapi", Title: "Schools", Visibility: visibility})
	trial.Must(t, err)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0", "2.0.0-rc.1", "3.0.0"} {
		document := `{"openapi":"3.2.0","info":{"title":"Schools","version":"` + version + `"},"servers":[{"url":"https://schools.example/v1"}],"paths":{}}`
		draft, err := c.Contracts.Upload(ctx, c.Admin, id, contracts.Upload{Content: []byte(document)})
		trial.Must(t, err)
		if version != "3.0.0" {
			_, err = c.Contracts.Publish(ctx, c.Admin, id, version, contracts.PublishInput{Digest: draft.Digest})
			trial.Must(t, err)
		}
	}
	_, err = c.Contracts.Deprecate(ctx, c.Admin, id, "1.2.0", time.Time{}, "It has a flaw.")
	trial.Must(t, err)
	_, err = c.Contracts.Withdraw(ctx, c.Admin, id, "1.3.0", "It was a mistake.")
	trial.Must(t, err)
}

// shownConfiguration logs in and copies what stands on the page of a contract.
func shownConfiguration(t *testing.T, s *trial.Program, email, contract string) string {
	t.Helper()
	browser := *s.Client
	browser.Jar = trial.Must1[http.CookieJar](t)(cookiejar.New(nil))
	answer, err := browser.PostForm(s.Base+"/login", url.Values{"email": {email}, "password": {trial.Password}})
	trial.Must(t, err)
	_ = answer.Body.Close()
	answer, err = browser.Get(s.Base + "/contracts/" + contract)
	trial.Must(t, err)
	defer answer.Body.Close()
	page := trial.Must1[*html.Node](t)(html.Parse(answer.Body))
	for n := range page.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "id" && a.Val == "renovate" && n.FirstChild != nil {
				return n.FirstChild.Data
			}
		}
	}
	t.Fatalf("no configuration of Renovate on %s: %s", answer.Request.URL, answer.Status)
	return ""
}

// proposals reads the updates out of a report of Renovate.
type proposals struct {
	Repositories map[string]struct {
		PackageFiles map[string][]struct {
			Deps []struct {
				DepName string
				Updates []struct{ NewVersion, ReleaseTimestamp string }
			}
		}
	}
}

// checkProposals wants one for each contract, the same as the API tells.
func checkProposals(t *testing.T, base, report, output string) {
	t.Helper()
	var found proposals
	trial.Must(t, json.Unmarshal(trial.Must1[[]byte](t)(os.ReadFile(report)), &found))
	seen := map[string]bool{}
	for _, repository := range found.Repositories {
		for _, files := range repository.PackageFiles {
			for _, file := range files {
				for _, dep := range file.Deps {
					seen[dep.DepName] = true
					if len(dep.Updates) != 1 || dep.Updates[0].NewVersion != "1.1.0" {
						t.Errorf("for %s is proposed %+v", dep.DepName, dep.Updates)
						continue
					}
					at, err := time.Parse(time.RFC3339, dep.Updates[0].ReleaseTimestamp)
					if err != nil || time.Since(at) > time.Hour {
						t.Errorf("%s 1.1.0 is released at %q", dep.DepName, dep.Updates[0].ReleaseTimestamp)
					}
				}
			}
		}
	}
	if len(seen) != len(followed) {
		t.Errorf("it looked for %v in %s:\n%s", seen, base, output)
	}
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	trial.Must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
}

// run runs a program to its end and returns its output.
func run(t *testing.T, cmd *exec.Cmd, env []string) string {
	t.Helper()
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd.Path, err, out)
	}
	return string(out)
}
