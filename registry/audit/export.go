package audit

import (
	"encoding/json"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
)

// Line is an entry as it is exported: the members that NEN 7513 and the Norwegian Normen ask of a log (who, from where, did what, on what,
// when, and whether that succeeded), by the names of the audit message of DICOM and RFC 3881 where those have one, with its place in the chain.
type Line struct {
	Seq         int64           `json:"seq"`
	ID          string          `json:"eventId"`
	Time        string          `json:"eventDateTime"`         // RFC 3339 in UTC, to the microsecond
	Type        string          `json:"eventType"`             // the action, such as account.logged-in
	ActionCode  string          `json:"eventActionCode"`       // C create, R read, U update, D delete, E execute
	Outcome     int             `json:"eventOutcomeIndicator"` // 0 success, 4 minor failure
	UserID      string          `json:"userId,omitempty"`
	UserName    string          `json:"userName,omitempty"`
	UserKind    string          `json:"userKind"` // account, client, visitor or system
	Address     string          `json:"networkAccessPointId,omitempty"`
	AddressType int             `json:"networkAccessPointTypeCode,omitempty"` // 2: an IP address
	Source      string          `json:"auditSourceId"`                        // the chain of this installation
	ObjectID    string          `json:"participantObjectId,omitempty"`
	ObjectName  string          `json:"participantObjectName,omitempty"`
	ObjectKind  string          `json:"participantObjectType,omitempty"`
	PartnerID   string          `json:"partnerId,omitempty"`
	Detail      json.RawMessage `json:"detail"`
	PrevHash    string          `json:"previousHash"`
	Hash        string          `json:"hash"`
}

// LineOf makes the line of an entry of a chain.
func LineOf(chain string, a store.Audit) Line {
	l := Line{
		Seq: a.Seq, ID: a.ID, Time: a.At.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), Type: a.Action, ActionCode: actionCode(a.Action),
		UserID: a.ActorID, UserName: a.ActorName, UserKind: a.ActorKind, Address: a.Address, Source: chain,
		ObjectID: a.ObjectID, ObjectName: a.ObjectName, ObjectKind: a.ObjectKind, PartnerID: a.PartnerID,
		Detail: json.RawMessage(a.Detail), PrevHash: a.PrevHash, Hash: a.Hash,
	}
	if failing(a.Action) {
		l.Outcome = 4
	}
	if a.Address != "" {
		l.AddressType = 2
	}
	if !json.Valid(l.Detail) {
		l.Detail, _ = json.Marshal(a.Detail) // what is no JSON goes out as text
	}
	return l
}

// failing reports whether an action is one that was tried and did not come about.
func failing(action string) bool {
	switch action {
	case registry.ActionLoginRefused, registry.ActionLoginsWait, registry.ActionRoleLost:
		return true
	}
	return strings.HasSuffix(action, "-failed")
}

// Entry makes the entry of a line again, so that who has the file can compute its hash with [store.AuditHash].
func (l Line) Entry() (store.Audit, error) {
	at, err := time.Parse(time.RFC3339, l.Time)
	return store.Audit{
		Seq: l.Seq, ID: l.ID, At: store.At(at), Action: l.Type, ActorID: l.UserID, ActorName: l.UserName, ActorKind: l.UserKind, Address: l.Address,
		ObjectID: l.ObjectID, ObjectName: l.ObjectName, ObjectKind: l.ObjectKind, PartnerID: l.PartnerID, Detail: string(l.Detail), PrevHash: l.PrevHash, Hash: l.Hash,
	}, err
}

// actionCodes gives the kind of an action by the end of its verb; any other is an update.
var actionCodes = []struct{ code, verbs string }{
	{"R", "read downloaded exported"},
	{"C", "created added registered requested invited made uploaded copied"},
	{"D", "removed ended revoked discarded dropped deleted lapsed reset"},
	{"E", "logged-in logged-out login-failed login-refused factor-failed password-asked code-used resend resent replay discard cancel continue tested asked"},
}

func actionCode(action string) string {
	_, verb, _ := strings.Cut(action, ".")
	for _, c := range actionCodes {
		for end := range strings.FieldsSeq(c.verbs) {
			if verb == end || strings.HasSuffix(verb, "-"+end) {
				return c.code
			}
		}
	}
	return "U"
}
