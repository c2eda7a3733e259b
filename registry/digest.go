package registry

import (
	"time"

	"schakel/store"
)

// NextDigest gives the moment of the first digest of an account after now, in its time zone or else UTC; zero when it wants none.
func NextDigest(a store.Account, now time.Time) time.Time {
	if a.Notify != store.NotifyDigest && a.Notify != store.NotifyBoth {
		return time.Time{}
	}
	zone := time.UTC
	if own, err := time.LoadLocation(a.TimeZone); err == nil && a.TimeZone != "" {
		zone = own
	}
	local := now.In(zone)
	for day := 0; ; day++ {
		at := time.Date(local.Year(), local.Month(), local.Day()+day, int(a.DigestHour), 0, 0, 0, zone)
		if at.After(now) && (a.DigestEvery != store.DigestWeekly || at.Weekday() == time.Weekday(a.DigestDay)) {
			return at
		}
	}
}
