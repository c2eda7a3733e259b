package packaging

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"schakel/store/needs"
)

// TestMetricsExist holds the metrics of the dashboard and the alerts against those that the program makes.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	made := regexp.MustCompile(`"(schakel_[a-z_]+)"`)
	var names []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made.FindAllStringSubmatch(string(source), -1) {
			names = append(names, m[1])
		}
	}
	used := regexp.MustCompile(`\bschakel_[a-z_]+`)
	for file, text := range map[string]string{"dashboard": Dashboard, "alerts": Alerts} {
		metrics := used.FindAllString(text, -1)
		if len(metrics) < 5 {
			t.Errorf("%s: only %v", file, metrics)
		}
		for _, metric := range metrics {
			if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(metric, name) }) {
				t.Errorf("%s: no metric %s", file, metric)
			}
		}
	}
}

// TestDashboard holds that each panel has a title, an expression and a place of its own.
func TestDashboard(t *testing.T) {
	t.Parallel()
	var d struct {
		Title  string
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(Dashboard), &d); err != nil {
		t.Fatal(err)
	}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if p.Title == "" || len(p.Targets) == 0 || p.Targets[0].Expr == "" {
			t.Errorf("panel %d: %+v", p.ID, p)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies on %q at %d, %d", p.Title, other, x, y)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	if d.Title == "" || len(d.Panels) < 10 {
		t.Errorf("%q with %d panels", d.Title, len(d.Panels))
	}
}

// TestAlerts has Prometheus itself check the rules, and play time series to them.
func TestAlerts(t *testing.T) {
	t.Parallel()
	needs.Full(t, "promtool")
	promtool := needs.Program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "prometheus-alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
