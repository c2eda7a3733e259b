package contracts

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/web/site"
)

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
func (m *handlers) listMirrorCopies(c echo.Context) error {
	who, err := m.Caller(c)
	if err != nil {
		return err
	}
	paging, err := site.APIPaging(c)
	if err != nil {
		return err
	}
	rows, total, err := m.Registry.Mirrors.CopyPage(c.Request().Context(), who.Actor(), c.Param("mirrorId"), store.Page{Number: paging.Page, Size: paging.PerPage})
	if err != nil {
		return err
	}
	m.App.SetPagingHeaders(c, paging, total)
	answer := make([]mirrorCopyAnswer, len(rows))
	for i, row := range rows {
		answer[i] = mirrorCopyAnswer{row.ContractID, row.OriginID, row.OriginURL, row.CreatedAt, row.GoneAt}
	}
	return c.JSON(http.StatusOK, map[string]any{"copies": answer})
}

// deleteMirror ends a mirror for good; its copies stay.
func (m *handlers) deleteMirror(c echo.Context) error {
	who, err := m.Caller(c)
	if err != nil {
		return err
	}
	if err := m.Registry.Mirrors.Remove(c.Request().Context(), who.Actor(), c.Param("mirrorId"), ""); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
