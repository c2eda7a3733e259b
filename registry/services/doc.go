// Package services makes the services of the registry around one configuration. It alone knows all features,
// and hands one feature what it needs of another as a function or a small interface. It decides nothing itself; its tests are those
// that take several features.
package services
