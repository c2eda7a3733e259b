package main

import (
	"os"
	"testing"
	"time"

	"schakel/server/trial"
)

func TestMeasure(t *testing.T) {
	t.Parallel()
	before, err := measure([]int{os.Getpid()}, os.Getppid())
	trial.Must(t, err)
	sum := 0
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
		sum++
	}
	after, err := measure([]int{os.Getpid()}, os.Getppid())
	trial.Must(t, err)
	used := after.since(before)
	if used.schakel < 0 || used.database < 0 || used.loader <= 0 || used.machine <= 0 || sum == 0 {
		t.Errorf("%+v", used)
	}
	if share := used.others(time.Second); share < 0 {
		t.Errorf("others took %g", share)
	}
	if _, err := measure([]int{1 << 30}, 0); err == nil {
		t.Error("a process that is not there was measured")
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	now, most, err := memory(os.Getpid())
	if err != nil || now < 1<<20 || most < now {
		t.Errorf("%d, at most %d: %v", now, most, err)
	}
}
