// Package datasets holds the datasets whose changes are delivered as mutation files, and who may read them. Every partner sees
// which datasets there are; only administrators change them. Their mutations are not here: delivery/mutation holds those.
package datasets
