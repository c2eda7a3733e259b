package profile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/templates/i18n"
)

// TestSettingsTable holds the one table of settings against itself.
func TestSettingsTable(t *testing.T) {
	t.Parallel()
	standard, seen := DefaultProfile(), map[string]bool{}
	for _, s := range Settings() {
		value := s.Value(&standard)
		if s.Key == "" || seen[s.Key] || groupIndex(s.Group()) < 0 || !written(s.Title) || !written(s.Explain) || !strings.HasSuffix(s.Explain.String(), ".") || len(s.Rules) == 0 && s.Group() != "access" && s.Group() != "data" { // no rule of the profile is about people who log in, or data at rest
			t.Errorf("%s is not told well", s.Key)
		}
		for _, choice := range s.Choices {
			if !written(choice.Text) {
				t.Errorf("%s: %s has no text", s.Key, choice.Value)
			}
		}
		seen[s.Key] = true
		for _, text := range []string{value, s.Strict} {
			p := standard
			if text == "" {
				continue
			}
			if wrong := s.set(&p, text); wrong != "" || s.check(&p) != "" || s.Value(&p) != text {
				t.Errorf("%s: %q is not taken as it stands: %s %s", s.Key, text, wrong, s.check(&p))
			}
		}
		if s.Choices == nil && (s.Least == "" || s.Most == "" || s.Strict != "" && s.loose == 0) {
			t.Errorf("%s has no bounds or no direction", s.Key)
		}
		if copied := (registry.Profile{}); true {
			s.copy(&copied, &standard)
			if s.Value(&copied) != value {
				t.Errorf("%s is not copied", s.Key)
			}
		}
		if standing := s.Standing(value); standing == StandingRelaxed {
			t.Errorf("%s departs from the profile by default", s.Key)
		}
	}
	if wanted := strictOf(standard); len(changesOf(&wanted, &standard)) != 0 || len(Relaxations(standard)) != 0 {
		t.Errorf("strict and default differ in %v", changesOf(&wanted, &standard))
	}
	lenient := LenientProfile()
	if list := Relaxations(lenient); len(list) != 3 || list[2].Before != AuthPrivateKey || list[2].After != AuthSecretBasic {
		t.Errorf("lenient relaxes %+v", list)
	}
}

// written reports whether a text is in the catalogues.
func written(text i18n.Message) bool {
	family, name, _ := strings.Cut(string(text), ".")
	return i18n.Has(family, name)
}

func TestSettingStanding(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key, value string
		want       Standing
	}{
		{"idempotency.require_key", "require", StandingStrict},
		{"idempotency.require_key", "off", StandingRelaxed},
		{"idempotency.require_key_on_delete", "require", StandingTighter},
		{"idempotency.ttl", "24h", StandingRelaxed},
		{"idempotency.ttl", "200h", StandingTighter},
		{"events.max_event_bytes", "70000", StandingRelaxed},
		{"events.source_policy", "urn-nld-oin", StandingTighter},
		{"events.source_policy", "any", StandingRelaxed},
		{"sending.max_retry_after", "1h", StandingRelaxed},
		{"events.batch", "off", StandingOptional},
		{"sending.retry_waits", "1s", StandingOptional},
	} {
		s, ok := SettingOf(tc.key)
		if got := s.Standing(tc.value); !ok || got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.key, tc.value, got, tc.want)
		}
	}
}

// TestProfileRefusals: each kind of value is refused with what to do about it.
func TestProfileRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ key, value, wants string }{
		{"idempotency.require_key", "maybe", "require, warn, off"},
		{"idempotency.ttl", "23h", "from 24h to 672h"},
		{"idempotency.ttl", "100000h", "from 24h to 672h"},
		{"idempotency.ttl", "soon", "such as 30s"},
		{"idempotency.ttl", "-1h", "such as 30s"},
		{"idempotency.ttl", "9d9d", "such as 30s"},
		{"events.max_event_bytes", "65535", "from 65536"},
		{"events.max_event_bytes", "64KB", "whole number"},
		{"events.max_event_bytes", "2000000", ""},
		{"events.max_batch_bytes", "65537", "from 65538"},
		{"intake.client_rate", "NaN", "Write a number"},
		{"intake.client_rate", "1e3", "Write a number"},
		{"intake.client_rate", "-1", "from 0"},
		{"sending.retry_waits", "5s, x", "such as 5s, 30s"},
		{"sending.retry_waits", "5s, 25h", "25h is outside"},
		{"sending.retry_waits", "", "such as 5s"},
		{"sending.retry_waits", strings.Repeat("5s,", 20) + "5s", "at most 20"},
		{"sending.deadline", "169h", "at most 168h"},
		{"sending.circuit_wait", "20m", ""},
		{"access.manager_idle", "1m", "from 5m to 24h"},
		{"access.partner_idle", "0s", "from 5m to 24h"},
	} {
		_, wrong := profileOf(DefaultProfile(), map[string]string{tc.key: tc.value}, true)
		text := wrong[tc.key]
		if tc.wants == "" {
			text = i18n.Message(strings.Join(slices.Collect(mapValues(wrong)), " "))
		}
		if len(wrong) != 1 || text == "" || !strings.Contains(text.String(), tc.wants) {
			t.Errorf("%s %q: %v", tc.key, tc.value, wrong)
		}
	}
}

func mapValues(p registry.Problems) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, text := range p {
			if !yield(text.String()) {
				return
			}
		}
	}
}

// TestLimitOfRole: 0 is below the least of a limit of a role, and means what holds for the others.
func TestLimitOfRole(t *testing.T) {
	t.Parallel()
	standard := DefaultProfile()
	p, wrong := profileOf(standard, map[string]string{"access.manager_idle": "20m", "access.manager_login": "15m"}, true)
	if wrong["access.manager_login"] == "" {
		t.Errorf("a login shorter than an unused one: %v", p.ManagerLogin)
	}
	p, wrong = profileOf(standard, map[string]string{"access.manager_idle": "20m"}, true)
	back, wrong2 := profileOf(p, map[string]string{"access.manager_idle": "0"}, true)
	s, _ := SettingOf("access.manager_idle")
	if len(wrong)+len(wrong2) > 0 || p.ManagerIdle != 20*time.Minute || back.ManagerIdle != 0 || s.Text(s.Value(&back)) != "profile.access-role.zero" {
		t.Errorf("%v, then %v: %v, %v", p.ManagerIdle, back.ManagerIdle, wrong, wrong2)
	}
	if standard.AdministratorRoleIdle+standard.AdministratorRoleLogin+standard.ManagerIdle+standard.ManagerLogin != 0 {
		t.Error("an upgrade changes limits")
	}
}

// TestProfileDays: days are read, and what a flag set stays allowed.
func TestProfileDays(t *testing.T) {
	t.Parallel()
	p, wrong := profileOf(DefaultProfile(), map[string]string{"idempotency.ttl": "8d"}, true)
	if len(wrong) > 0 || p.KeyLifetime != 8*24*time.Hour || valuesOf(&p)["idempotency.ttl"] != "192h" {
		t.Errorf("%v, %v", p.KeyLifetime, wrong)
	}
	short := completed(registry.Profile{KeyLifetime: time.Minute, RetryDeadline: time.Minute})
	if _, wrong := profileOf(short, valuesOf(&short), true); len(wrong) > 0 {
		t.Errorf("the values of the installation are refused: %v", wrong)
	}
}

// Every open point of the review is a setting, or a choice that is explained.
// Rules: OPEN-01, OPEN-06, OPEN-11, OPEN-14, OPEN-17.
func TestEveryOpenPointHasAnAnswer(t *testing.T) {
	t.Parallel()
	answered := map[string]bool{}
	for _, s := range Settings() {
		for _, rule := range s.Rules {
			answered[rule] = true
		}
	}
	var seen []string
	for _, c := range FixedChoices() {
		if !written(c.Question) || !written(c.Answer) || slices.Contains(seen, c.ID) {
			t.Errorf("%s: has no question or answer, or stands there twice", c.ID)
		}
		seen, answered[c.ID] = append(seen, c.ID), true
	}
	for n := 1; n <= 17; n++ {
		if id := fmt.Sprintf("OPEN-%02d", n); !answered[id] {
			t.Errorf("%s has no setting and no answer", id)
		}
	}
}
