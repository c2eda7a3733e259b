package profile

import "schakel/registry"

// dataSettings are about the data of events and messages as it is stored. The Edukoppeling profile asks nothing of it.
func dataSettings() []Setting {
	return []Setting{
		{
			Key: "data.encryption", Title: "profile.data-encryption.title", Explain: "profile.data-encryption.explain",
			Choices: []Choice{{registry.PolicyOn, "profile.data-encryption.on"}, {registry.PolicyOff, "profile.data-encryption.off"}},
			at:      func(p *registry.Profile) any { return &p.DataEncryption },
		},
		{
			Key: "data.partner_ended", Title: "profile.data-partner-ended.title", Explain: "profile.data-partner-ended.explain",
			Choices: []Choice{{registry.DataErased, "profile.data-partner-ended.erase"}, {registry.DataKept, "profile.data-partner-ended.keep"}},
			at:      func(p *registry.Profile) any { return &p.DataEnded },
		},
	}
}
