// Package datasets holds the datasets whose changes are delivered as mutation files, and who may read them.
package datasets
