package partners

import "schakel/registry"

// Read is read, for tests that need the settings of a profile too.
func (in RetryInput) Read(set registry.Profile, readSetting SettingReader) (string, registry.Problems) {
	return in.read(set, readSetting)
}

// Stored is stored.
func (r Retry) Stored() string { return r.stored() }
