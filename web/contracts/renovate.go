package contracts

// renovateExample is a configuration with which Renovate follows contracts (EDU-N06),
// in a repository with lines such as "student-events@1.2.0" in its contracts.txt.
// With a host the requests to it carry a read-only key, which Renovate keeps as a
// secret; without one no key is needed.
func renovateExample(contracts, host string) string {
	rules := ""
	if host != "" {
		rules = `,
  "hostRules": [{"matchHost": "` + host + `", "token": "{{ secrets.SCHAKEL_KEY }}"}]`
	}
	return `{
  "customDatasources": {
    "schakel": {"defaultRegistryUrlTemplate": "` + contracts + `/{{packageName}}/releases"}
  },
  "customManagers": [{
    "customType": "regex",
    "managerFilePatterns": ["/contracts\\.txt$/"],
    "matchStrings": ["(?<depName>[a-z0-9-]+)@(?<currentValue>\\S+)"],
    "datasourceTemplate": "custom.schakel",
    "versioningTemplate": "semver"
  }]` + rules + `
}`
}
