package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"schakel/server/cli"
	"schakel/store/needs"
)

// TestPackagedSettings holds every setting that packages, images and charts name against those that there are.
func TestPackagedSettings(t *testing.T) {
	t.Parallel()
	_, parser, err := parseServe(t)
	must(t, err)
	var variables []string
	for _, flag := range cli.Settings(parser) {
		variables = append(variables, flag.Envs...)
	}
	variables = append(variables, "SCHAKEL_VERSION") // of compose itself
	files, err := filepath.Glob("packaging/*/*")
	must(t, err)
	templates, err := filepath.Glob("packaging/chart/templates/*")
	must(t, err)
	found := 0
	for _, file := range append(files, templates...) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a folder
		}
		for _, name := range regexp.MustCompile(`\bSCHAKEL_[A-Z_]+`).FindAllString(string(text), -1) {
			if found++; !slices.Contains(variables, name) {
				t.Errorf("%s names %s, which is no setting", file, name)
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d variables in %v", found, files)
	}
	got, _, err := parseServe(t, "--config", "packaging/linux/schakel.yaml")
	must(t, err)
	if got.Serve.Database != "sqlite:/var/lib/schakel/schakel.db" || len(got.Serve.TrustedProxy) != 2 {
		t.Errorf("%+v", got.Serve)
	}
	commented := regexp.MustCompile(`(?m)^#([a-z-]+: )`)
	text, err := os.ReadFile("packaging/linux/schakel.yaml")
	must(t, err)
	if got, _, err = parseServe(t, "--config", inFile(t, commented.ReplaceAllString(string(text), "$1"))); err != nil || got.Serve.OIN == "" || got.Serve.SMTPFrom == "" {
		t.Errorf("with what it proposes: %v, %+v", err, got.Serve)
	}
}

// TestComposeFiles holds that the compose files can be read, and that both name the image, a volume for the data and how long a stop may take.
func TestComposeFiles(t *testing.T) {
	t.Parallel()
	type compose struct {
		Services map[string]struct {
			Image       string
			Volumes     []string
			Environment map[string]string
			Grace       string `yaml:"stop_grace_period"`
		}
		Volumes map[string]any
	}
	read := func(name string) (c compose) {
		text, err := os.ReadFile("packaging/container/" + name)
		must(t, err)
		must(t, yaml.Unmarshal(text, &c))
		return c
	}
	one, two := read("compose.yaml"), read("compose.postgresql.yaml")
	if s := one.Services["schakel"]; !strings.HasPrefix(s.Image, "schakel:") || !slices.Contains(s.Volumes, "data:/data") || s.Grace == "" || len(one.Volumes) != 1 {
		t.Errorf("%+v", one)
	}
	if s := two.Services; !strings.HasPrefix(s["schakel"].Environment["SCHAKEL_DATABASE"], "postgres://") || s["postgres"].Image == "" || len(two.Volumes) != 1 {
		t.Errorf("%+v", two)
	}
}

// TestChart has Helm lint and render the chart with the values for each database, and reads the settings it makes as serve does.
func TestChart(t *testing.T) {
	t.Parallel()
	needs.Full(t, "helm")
	found, _ := filepath.Glob("../.cache/tools/helm@*/helm")
	needs.Installed(t, "helm", len(found) > 0)
	helm := func(args ...string) (string, error) {
		out, err := exec.Command(found[len(found)-1], args...).CombinedOutput()
		return string(out), err
	}
	const chart = "packaging/chart"
	all := []string{"--set", "ingress.enabled=true,ingress.tlsSecret=tls,monitoring.enabled=true,config.language=nl,persistence.storageClass=fast"}
	for values, wants := range map[string][]string{
		"values.yaml":            {"sqlite:/data/schakel.db", "PersistentVolumeClaim", "replicas: 1"},
		"values-sqlite.yaml":     {"sqlite:/data/schakel.db", "PersistentVolumeClaim", "claimName: it-schakel"},
		"values-postgresql.yaml": {"secretKeyRef: {name: schakel-database, key: url}", "replicas: 2", "/etc/schakel/schakel.key", "emptyDir"},
	} {
		args := append([]string{"--values", chart + "/" + values}, all...)
		if out, err := helm(append([]string{"lint", "--strict", chart}, args...)...); err != nil {
			t.Errorf("%s: %s", values, out)
		}
		out, err := helm(append([]string{"template", "it", chart}, args...)...)
		if err != nil {
			t.Fatalf("%s: %s", values, out)
		}
		kinds := []string{"ConfigMap", "Deployment", "Service", "Ingress", "PodMonitor"}
		for d := yaml.NewDecoder(strings.NewReader(out)); ; {
			var object struct {
				Kind     string
				Metadata struct{ Name string }
				Data     map[string]string
			}
			if d.Decode(&object) != nil {
				break
			}
			kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == object.Kind })
			if object.Kind != "ConfigMap" {
				continue
			}
			got, _, err := parseServe(t, "--config", inFile(t, object.Data["schakel.yaml"]))
			if err != nil || got.Serve.Addr != ":8080" || got.Serve.AdminAddr != ":8090" || got.Serve.BaseURL != "https://events.example.nl" || got.Serve.Language != "nl" {
				t.Errorf("%s: %v, %+v", values, err, got)
			}
		}
		if len(kinds) > 0 {
			t.Errorf("%s: no %v in\n%s", values, kinds, out)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", values, want, out)
			}
		}
	}
	out, err := helm("template", "it", chart, "--set", "adminTLS.existingSecret=inside,monitoring.enabled=true")
	for want, times := range map[string]int{
		"port: admin, scheme: HTTPS}": 3, "admin-tls-cert: /etc/schakel/admin-tls/tls.crt": 1, "secretName: inside": 1, "mountPath: /etc/schakel/admin-tls,": 1,
		"ca: {secret: {name: inside, key: ca.crt}}": 1, "serverName: it-schakel": 1,
	} {
		if err != nil || strings.Count(out, want) != times {
			t.Errorf("the admin port over TLS: %v, not %d times %q in\n%s", err, times, want, out)
		}
	}
	for set, want := range map[string]string{
		"replicas=2":                    "need a PostgreSQL",
		"database.existingSecret=x":     "need the same secret key",
		"config.database=sqlite:x":      "config.database is set by the chart",
		"config.secret-key-file=/x.key": "config.secret-key-file is set by the chart",
	} {
		if out, err := helm("template", "it", chart, "--set", set); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want %q:\n%s", set, err, want, out)
		}
	}
}
