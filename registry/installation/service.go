package installation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"schakel/registry"
	"schakel/store"
)

// The settings that hold what was done.
const (
	backupSetting    = "backup_last"
	keyBackupSetting = "key_backup"
	confirmedSetting = "mail_confirmed_" // and the id of the account
)

// Service gathers facts, and records what people confirm.
type Service struct {
	cfg registry.Config
	own []string // ids of the contracts of our own APIs
	// around finds the surroundings; nil finds none.
	around func(ctx context.Context, again bool) Surroundings

	mu      sync.Mutex
	summary Summary
	madeAt  time.Time
}

// Summary counts what is open.
type Summary struct {
	Problems int // errors and warnings
	Errors   int
	Steps    int
}

// summaryAge bounds the age of a summary: the overview asks for one every few seconds.
const summaryAge = 30 * time.Second

// Summary counts what is open, as it was at most half a minute ago.
func (s *Service) Summary(ctx context.Context) (Summary, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := s.cfg.Now().Sub(s.madeAt); !s.madeAt.IsZero() && age >= 0 && age < summaryAge {
		return s.summary, nil
	}
	facts, report, err := s.Report(ctx, false)
	if err != nil {
		return Summary{}, err
	}
	steps, err := s.Steps(ctx, &facts)
	if err != nil {
		return Summary{}, err
	}
	s.summary, s.madeAt = Summary{Problems: report.Open(), Errors: report.Count(Error)}, s.cfg.Now()
	for _, step := range steps {
		if !step.Done {
			s.summary.Steps++
		}
	}
	return s.summary, nil
}

// NewService makes the service.
func NewService(cfg registry.Config) *Service {
	s := &Service{cfg: cfg}
	for _, d := range cfg.OwnDocuments {
		s.own = append(s.own, d.ID)
	}
	return s
}

// ReachablePath goes before a question that an installation answers with a proof of its secret key, ReachablePurpose before the question
// in the proof.
const (
	ReachablePath    = "/reachable/"
	ReachablePurpose = "reachable "
)

// Reachable proves that this installation answers, to who has the same key. Questions are of 20 to 64 letters and digits.
func (s *Service) Reachable(question string) (string, error) {
	other := func(r rune) bool { return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' }
	if len(question) < 20 || len(question) > 64 || strings.ContainsFunc(question, other) {
		return "", registry.NotFound("page")
	}
	return s.cfg.Vault.Prove(ReachablePurpose + question), nil
}

// LookAround sets what finds the facts that the database does not have; again asks it to look outside anew. Call it before the first report.
func (s *Service) LookAround(around func(ctx context.Context, again bool) Surroundings) {
	s.around = around
}

// Report judges the installation as it is now. again also asks for our own address and looks outside, which takes some seconds.
func (s *Service) Report(ctx context.Context, again bool) (Facts, Report, error) {
	facts := Facts{Now: s.cfg.Now()}
	if s.around != nil {
		facts.Surroundings = s.around(ctx, again)
	}
	if err := Gather(ctx, s.cfg.DB, &facts); err != nil {
		return facts, nil, err
	}
	return facts, Judge(&facts), nil
}

// Gather reads the facts that the database has. Of one whose tables are of another version it reads no more than that.
func Gather(ctx context.Context, db *store.DB, f *Facts) error {
	var d Database
	var err error
	if d.Current, d.Target, err = db.MigrationState(ctx); err != nil {
		return err
	}
	if d.Engine, err = db.Engine(ctx); err != nil {
		return err
	}
	f.Now = db.Now() // beside the clock of the database, not before its answer
	f.Database = &d
	if d.Current != d.Target {
		return nil
	}
	if f.Backup, err = recordOf(ctx, &db.Queries, backupSetting); err != nil {
		return err
	}
	if f.KeyBackup, err = recordOf(ctx, &db.Queries, keyBackupSetting); err != nil {
		return err
	}
	if f.StoredKey, err = registry.StoredKeyID(ctx, db); err != nil {
		return err
	}
	if f.Mails, err = db.RecentMails(ctx); err != nil {
		return registry.Wrap("list mails", err)
	}
	newest, err := db.NewestTime(ctx)
	if err != nil {
		return err
	}
	f.Newest = newest.Time
	if f.Ends, err = storedEnds(ctx, &db.Queries, f.Now); err != nil {
		return err
	}
	if f.Answers, err = answers(ctx, db); err != nil {
		return err
	}
	f.Administrators, err = administrators(ctx, &db.Queries)
	return err
}

// answers reads the Date of what endpoints answered lately, newest first.
func answers(ctx context.Context, db *store.DB) ([]Answer, error) {
	rows, err := db.RecentAnswers(ctx)
	if err != nil {
		return nil, registry.Wrap("list answers", err)
	}
	var list []Answer
	for _, row := range rows {
		var header http.Header
		if json.Unmarshal([]byte(row.ResponseHeaders), &header) != nil {
			continue
		}
		if told, err := http.ParseTime(header.Get("Date")); err == nil {
			list = append(list, Answer{Host: host(row.URL), Told: told, Got: row.StartedAt.Add(time.Duration(row.DurationUS) * time.Microsecond)})
		}
	}
	return list, nil
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// administrators lists the accounts that can decide, and whether a mail ever arrived at their address.
func administrators(ctx context.Context, q *store.Queries) ([]Administrator, error) {
	accounts, err := q.Accounts(ctx, "")
	if err != nil {
		return nil, registry.Wrap("list administrators", err)
	}
	var list []Administrator
	for _, a := range accounts {
		if a.Role != store.RoleAdministrator || a.Status != store.AccountActive {
			continue
		}
		confirmed, err := recordOf(ctx, q, confirmedSetting+a.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, Administrator{Email: a.Email, Confirmed: confirmed != nil && confirmed.Email == a.Email})
	}
	return list, nil
}

// recordOf reads a record; nil when there is none.
func recordOf(ctx context.Context, q *store.Queries, setting string) (*Record, error) {
	text, err := q.Setting(ctx, setting)
	if err != nil || text == "" {
		return nil, registry.Wrap("read "+setting, err)
	}
	r := new(Record)
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("read %s: %w", setting, err)
	}
	return r, nil
}
