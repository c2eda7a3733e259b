// Package profile holds the settings of a chain collaboration: one table of what there is to choose, the profile that was chosen, and its file.
package profile
