package registry

// SealedColumn is a column whose values the vault seals. Each feature lists its own, so that they can be counted and sealed with another
// key; a test walks the schema and fails for a sealed value in a column that nobody lists.
type SealedColumn struct {
	Table, Column string
	// Key is the column that tells the rows apart. Default id.
	Key string
	// Of is a column that Purpose needs. Default Key.
	Of string
	// Purpose gives the purpose that a value is sealed for, from the value of Of.
	Purpose func(of string) string
	// Within says that what [Vault.Seal] made stands within other text, such as JSON. Otherwise it is the whole text.
	Within bool
	// Bytes says that the column holds what [Vault.SealBytes] made.
	Bytes bool
	// Old says that rows of older versions are not sealed, and are sealed when they are found.
	Old bool
}

// KeyColumn returns the column that tells the rows apart.
func (c SealedColumn) KeyColumn() string {
	if c.Key == "" {
		return "id"
	}
	return c.Key
}

// OfColumn returns the column that the purpose comes from.
func (c SealedColumn) OfColumn() string {
	if c.Of == "" {
		return c.KeyColumn()
	}
	return c.Of
}

// SealedFor returns a Purpose that is the same for every row.
func SealedFor(purpose string) func(string) string {
	return func(string) string { return purpose }
}

// Sealed lists the columns of the kernel: mails may hold one-time links, and a setting that is sealed is sealed for its name.
func Sealed() []SealedColumn {
	return []SealedColumn{
		{Table: "mail", Column: "body", Purpose: SealedFor(mailPurpose), Old: true},
		{Table: "setting", Column: "value", Key: "name", Purpose: func(name string) string { return name }},
	}
}
