package amqp

import (
	"time"

	"golang.org/x/sys/unix"
)

// ClockState reports whether the clock of this machine follows a time server, as the profile requires (AMQP-54).
type ClockState struct {
	Synchronised bool
	Known        bool          // the system reported it
	Error        time.Duration // the largest error it may have, as the system says
	Detail       string        // for people
}

// maxClockError is the error beyond which a clock counts as not synchronised.
const maxClockError = 2 * time.Second

// Clock gives the state of the clock as it was last looked at.
func (b *Bridge) Clock() ClockState {
	if s := b.clock.Load(); s != nil {
		return *s
	}
	return ClockState{Detail: "The clock was not looked at yet."}
}

func (b *Bridge) lookAtClock() {
	look := b.cfg.Clock
	if look == nil {
		look = SystemClock
	}
	s := look()
	b.clock.Store(&s)
}

// SystemClock asks the kernel, which any time service tells.
func SystemClock() ClockState {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return ClockState{Detail: "The system does not tell whether its clock is synchronised."}
	}
	s := ClockState{Known: true, Error: time.Duration(t.Maxerror) * time.Microsecond}
	s.Synchronised = state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0 && s.Error < maxClockError
	switch {
	case s.Synchronised:
		s.Detail = "The clock is synchronised, to within " + s.Error.Round(time.Millisecond).String() + "."
	case t.Status&unix.STA_UNSYNC != 0 || state == unix.TIME_ERROR:
		s.Detail = "The clock follows no time server. Set up a time service, on the health network with ntp.nhn.no."
	default:
		s.Detail = "The clock may be wrong by " + s.Error.Round(time.Millisecond).String() + ". Look at the time service."
	}
	return s
}
