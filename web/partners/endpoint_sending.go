package partners

import (
	"cmp"
	"strconv"
	"strings"

	"schakel/delivery/window"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// defaultZone is filled in beforehand: the chains this profile is for are Dutch.
const defaultZone = "Europe/Amsterdam"

// typedSending returns the delivery windows and batch limits of an endpoint as typed in the form.
func typedSending(form site.Form) view.SendingFields {
	return view.SendingFields{
		Rate: form.Get("ratePerSecond"), Concurrency: form.Get("maxConcurrency"), Timeout: form.Get("timeoutSeconds"),
		TimeZone: form.Get("timeZone"), Windows: form.Get("windows"), BatchEvents: form.Get("batchEvents"), BatchBytes: form.Get("batchBytes"),
		BatchWait: form.Get("batchWaitSeconds"), ContractID: form.Get("contractId"), ContractVersion: form.Get("contractVersion"),
		BatchStated: form.Get("batchStated") != "",
	}
}

// readSending reads that part of the form.
func readSending(form site.Form, in *partners.EndpointInput, wrong site.FormErrors) {
	typed := typedSending(form)
	in.BatchEvents, in.BatchBytes = site.FormNumber(form, "batchEvents", wrong), site.FormNumber(form, "batchBytes", wrong)
	in.BatchWaitSeconds, in.BatchStated = site.FormNumber(form, "batchWaitSeconds", wrong), typed.BatchStated
	in.ContractID, in.ContractVersion = typed.ContractID, typed.ContractVersion
	week, err := window.ParseLines(cmp.Or(typed.TimeZone, defaultZone), typed.Windows)
	if err != nil {
		wrong["windows"] = site.Capital(err.Error()) + "."
		return
	}
	in.Windows = week.String()
}

// SendingOf shows what an endpoint has now.
func SendingOf(e store.Endpoint) view.SendingFields {
	v := view.SendingFields{
		Rate: site.NumberText(e.RatePerSecond), Concurrency: site.NumberText(e.MaxConcurrency), Timeout: site.NumberText(e.TimeoutMS / 1000),
		TimeZone: defaultZone, BatchEvents: site.NumberText(e.BatchEvents), BatchBytes: site.NumberText(e.BatchBytes), BatchWait: site.NumberText(e.BatchWaitMS / 1000),
		ContractID: e.ContractID, ContractVersion: e.ContractVersion, BatchStated: e.BatchStated,
	}
	switch week, err := window.Parse(e.Windows); {
	case err != nil:
		v.Windows = e.Windows // as it is, so that saving the form does not open the endpoint
	case !week.Always():
		v.TimeZone, v.Windows = week.TimeZone(), strings.Join(week.Lines(), "\n")
	}
	return v
}

// batchWords describes the number of events in one request, and the ground for it: a contract or the word of the partner.
func batchWords(e store.Endpoint) string {
	if e.BatchEvents < 2 {
		return "off: one event in each request"
	}
	bytes := e.BatchBytes
	if bytes == 0 {
		bytes = store.DefaultBatchBytes
	}
	text := "at most " + ui.Count(int(e.BatchEvents)) + " events and " + ui.Bytes(bytes)
	if e.BatchWaitMS > 0 {
		text += ", after at most " + strconv.FormatInt(e.BatchWaitMS/1000, 10) + " s"
	}
	if e.BatchStated {
		return text + " (the partner states that its receiver takes them; no contract shows it)"
	}
	return text + " (its contract takes them)"
}

// receiverContract names the contract of the receiver, if the endpoint has one.
func receiverContract(e store.Endpoint) ui.Named {
	if e.ContractID == "" {
		return ui.Named{}
	}
	return ui.Named{Name: e.ContractID + " " + e.ContractVersion, Href: site.ContractVersionHref(e.ContractID, e.ContractVersion)}
}
