package e2e

import (
	"testing"

	"schakel/server/demo"
	"schakel/store/needs"
)

// TestSecondFactorsInBrowser: an administrator logs in with a passkey, an authenticator app and a recovery code in a real browser. Each page
// on the way is looked at by axe.
func TestSecondFactorsInBrowser(t *testing.T) {
	t.Parallel()
	needNode(t)
	chromium := needs.Program(t, "chromium")
	d := startDemo(t)
	play(t, "browser/factors.js", map[string]any{
		"base": d.base, "email": demo.OwnA().Email, "password": d.password, "chromium": chromium, "folder": folderFor(true),
	})
}
