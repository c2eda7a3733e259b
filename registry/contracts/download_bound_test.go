package contracts

import (
	"fmt"
	"testing"
	"time"

	"schakel/registry"
	"schakel/store"
)

func TestDownloadsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	d := NewDownloads(registry.Config{Now: time.Now})
	for i := range maxDownloads + 10 {
		d.Note(store.ContractVersion{ID: "cvr_1"}, Downloader{Kind: store.DownloadClient, ID: fmt.Sprint(i), PartnerID: "par_1"})
	}
	if rows, _ := d.take(); len(rows) != maxDownloads {
		t.Errorf("%d wait", len(rows))
	}
}
