// Package packaging holds what an operator puts beside Schakel: a dashboard for Grafana and alert rules for Prometheus, which a running
// Schakel serves at /docs.
//
// Its folders hold what a release is packed with: linux (the .deb and the .rpm), container (image and compose files), chart (Helm), and pack,
// the command that .ci/release runs.
//
// Its tests hold every metric that they name against the metrics of the program, and the rules against promtool. It does not install
// anything, and knows nothing of the data source or of who is alerted.
package packaging

import (
	_ "embed"

	"schakel/templates/i18n/texts"
)

// Dashboard is a dashboard for Grafana 10 and later, as JSON to import. It asks for the Prometheus data source.
//
//go:embed grafana-dashboard.json
var Dashboard string

// Alerts are alert rules for Prometheus, as YAML for rule_files.
//
//go:embed prometheus-alerts.yml
var Alerts string

//go:embed THIRD-PARTY.md
var notices []byte

// Notices gives the notices of the software of others in the program, as Markdown. make notices writes them.
func Notices() string { return string(texts.Unpack(notices)) }
