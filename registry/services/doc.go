// Package services makes the services of the registry around one configuration. It alone knows all features.
package services
