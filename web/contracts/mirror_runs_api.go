package contracts

import (
	"context"
	"mime"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/registry/contracts/compare"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// mirrorRunAnswer is a run of a mirror; its counts are of versions.
type mirrorRunAnswer struct {
	RunID      string             `json:"runId"`
	Cause      string             `json:"cause"`
	StartedAt  store.Time         `json:"startedAt"`
	FinishedAt store.Time         `json:"finishedAt,omitzero"`
	New        int                `json:"new"`
	Unchanged  int                `json:"unchanged"`
	Changed    int                `json:"changed"`
	Refused    int                `json:"refused"`
	Marked     int                `json:"marked"`
	Failed     int                `json:"failed"`
	Error      string             `json:"error,omitempty"`
	Lines      []mirrorLineAnswer `json:"lines,omitempty"` // of a single run
}

// mirrorLineAnswer is a line of the log of a run.
type mirrorLineAnswer struct {
	Contract   string `json:"contract"` // as the source calls it
	Version    string `json:"version,omitempty"`
	Outcome    string `json:"outcome"`
	ContractID string `json:"contractId,omitempty"` // of the copy
	Text       string `json:"text"`
}

func newMirrorRunAnswer(ctx context.Context, r store.MirrorRun) mirrorRunAnswer {
	return mirrorRunAnswer{
		RunID: r.ID, Cause: r.Cause, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, New: r.Added, Unchanged: r.Unchanged,
		Changed: r.Changed, Refused: r.Refused, Marked: r.Marked, Failed: r.Failed, Error: i18n.Message(r.Error).In(ctx),
	}
}

// listMirrorRuns lists the runs of a mirror, newest first.
func (m *handlers) listMirrorRuns(c echo.Context, who api.Caller) error {
	return api.AnswerList(m.API, c, "runs", func(page store.Page) ([]mirrorRunAnswer, int, error) {
		rows, total, err := m.Registry.Mirrors.Runs(c.Request().Context(), who.Actor(), c.Param("mirrorId"), page)
		return api.Each(rows, func(r store.MirrorRun) mirrorRunAnswer { return newMirrorRunAnswer(c.Request().Context(), r) }), total, err
	})
}

// showMirrorRun answers one run with its log.
func (m *handlers) showMirrorRun(c echo.Context, who api.Caller) error {
	ctx := c.Request().Context()
	row, err := m.Registry.Mirrors.OneRun(ctx, who.Actor(), c.Param("mirrorId"), c.Param("runId"))
	if err != nil {
		return err
	}
	lines, err := contracts.MirrorLines(row)
	if err != nil {
		return err
	}
	answer := newMirrorRunAnswer(ctx, row)
	for _, l := range lines {
		answer.Lines = append(answer.Lines, mirrorLineAnswer{l.Contract, l.Version, l.Outcome, l.Copy, l.Text.In(ctx)})
	}
	return c.JSON(http.StatusOK, answer)
}

// mirrorAlarmAnswer describes other bytes for a version that we have.
type mirrorAlarmAnswer struct {
	AlarmID    string        `json:"alarmId"`
	ContractID string        `json:"contractId"`
	Version    string        `json:"version"`
	URL        string        `json:"url"`
	Digest     string        `json:"digest"`
	Size       int64         `json:"size"`
	FoundAt    store.Time    `json:"foundAt"`
	SeenAt     store.Time    `json:"seenAt"`
	SettledAt  store.Time    `json:"settledAt,omitzero"`
	SettledBy  string        `json:"settledBy,omitempty"`
	Reason     string        `json:"reason,omitempty"`
	Changes    []alarmChange `json:"changes,omitempty"` // of a single alarm
	Unknown    string        `json:"unknown,omitempty"` // why there are none
}

// alarmChange describes one difference between the other bytes and our copy.
type alarmChange struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

func newMirrorAlarmAnswer(ctx context.Context, a store.MirrorAside) mirrorAlarmAnswer {
	return mirrorAlarmAnswer{
		AlarmID: a.ID, ContractID: a.ContractID, Version: a.Version, URL: a.OriginURL, Digest: "sha256:" + a.Digest, Size: a.Size,
		FoundAt: a.FoundAt, SeenAt: a.SeenAt, SettledAt: a.SettledAt, SettledBy: a.SettledBy, Reason: i18n.Message(a.Reason).In(ctx),
	}
}

// listMirrorAlarms lists the alarms of a mirror, newest first.
func (m *handlers) listMirrorAlarms(c echo.Context, who api.Caller) error {
	return api.AnswerList(m.API, c, "alarms", func(page store.Page) ([]mirrorAlarmAnswer, int, error) {
		status, err := site.APIChoice(c, "status", []string{"open", "settled"})
		if err != nil {
			return nil, 0, err
		}
		ctx, id := c.Request().Context(), c.Param("mirrorId")
		if _, err := m.Registry.Mirrors.Get(ctx, who.Actor(), id); err != nil {
			return nil, 0, err
		}
		rows, total, err := m.Registry.Mirrors.Alarms(ctx, who.Actor(), store.MirrorAsideFilter{
			SourceID: id, Open: status == "open", Settled: status == "settled", Page: page,
		})
		return api.Each(rows, func(a store.MirrorAside) mirrorAlarmAnswer { return newMirrorAlarmAnswer(ctx, a) }), total, err
	})
}

// showMirrorAlarm answers one alarm with what the other bytes say otherwise.
func (m *handlers) showMirrorAlarm(c echo.Context, who api.Caller) error {
	ctx, id, alarmID := c.Request().Context(), c.Param("mirrorId"), c.Param("alarmId")
	row, err := m.Registry.Mirrors.Alarm(ctx, who.Actor(), id, alarmID)
	if err != nil {
		return err
	}
	answer := newMirrorAlarmAnswer(ctx, row)
	changes, err := m.Registry.Mirrors.AlarmChanges(ctx, who.Actor(), id, alarmID)
	if _, wrong := site.FormRefusal(err); wrong != nil {
		answer.Unknown = wrong[""].In(ctx)
	} else if err != nil {
		return err
	}
	answer.Changes = newAlarmChanges(ctx, changes)
	return c.JSON(http.StatusOK, answer)
}

func newAlarmChanges(ctx context.Context, changes []compare.Change) []alarmChange {
	var list []alarmChange
	for _, change := range changes[:min(len(changes), maxListedChanges)] {
		list = append(list, alarmChange{string(change.Level), change.Text.In(ctx)})
	}
	return list
}

// showMirrorAlarmContent answers the bytes stored aside, as they came.
func (m *handlers) showMirrorAlarmContent(c echo.Context, who api.Caller) error {
	row, content, err := m.Registry.Mirrors.AlarmContent(c.Request().Context(), who.Actor(), c.Param("mirrorId"), c.Param("alarmId"))
	if err != nil {
		return err
	}
	return sendDownload(c, row, content)
}

// sendDownload answers bytes of a stranger, to be saved and not to be shown.
func sendDownload(c echo.Context, row store.MirrorAside, content []byte) error {
	h := c.Response().Header()
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": row.ContractID + "-" + row.Version + "-other-bytes"}))
	h.Set("Cache-Control", "private, no-store")
	site.SetDigests(h, content)
	return c.Blob(http.StatusOK, echo.MIMEOctetStream, content)
}

// settleMirrorAlarm ends an alarm with a reason.
func (m *handlers) settleMirrorAlarm(c echo.Context, who api.Caller) error {
	var in struct {
		Reason string `json:"reason"`
	}
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	if err := m.Registry.Mirrors.Settle(c.Request().Context(), who.Actor(), c.Param("mirrorId"), c.Param("alarmId"), in.Reason); err != nil {
		return err
	}
	return m.showMirrorAlarm(c, who)
}

// mirrorCopyAnswer is a contract that was copied.
type mirrorCopyAnswer struct {
	ContractID string     `json:"contractId"`
	Contract   string     `json:"contract"` // as the source calls it
	URL        string     `json:"url"`      // at the source
	CopiedAt   store.Time `json:"copiedAt"`
	GoneAt     store.Time `json:"goneAt,omitzero"` // since when it is not offered there
}

// listMirrorCopies lists the contracts that were copied from a register, by their ids
// there.
func (m *handlers) listMirrorCopies(c echo.Context, who api.Caller) error {
	return api.AnswerList(m.API, c, "copies", func(page store.Page) ([]mirrorCopyAnswer, int, error) {
		rows, total, err := m.Registry.Mirrors.CopyPage(c.Request().Context(), who.Actor(), c.Param("mirrorId"), page)
		return api.Each(rows, func(row store.MirrorContract) mirrorCopyAnswer {
			return mirrorCopyAnswer{row.ContractID, row.OriginID, row.OriginURL, row.CreatedAt, row.GoneAt}
		}), total, err
	})
}

// deleteMirror ends a mirror for good; its copies stay.
func (m *handlers) deleteMirror(c echo.Context, who api.Caller) error {
	if err := m.Registry.Mirrors.Remove(c.Request().Context(), who.Actor(), c.Param("mirrorId"), ""); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
