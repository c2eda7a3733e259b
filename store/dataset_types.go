package store

// What subscribers can bound a dataset by.
const (
	AreaNone     = "none"
	AreaGeometry = "geometry"
	AreaKeys     = "keys"
)

// States of a dataset.
const (
	DatasetActive = "active"
	DatasetEnded  = "ended"
)

// Dataset is a register whose changes are delivered as mutation files. The headers of its files name it by its id.
type Dataset struct {
	ID               string  `db:"id"`
	Title            string  `db:"title"`
	Description      string  `db:"description"`
	Status           string  `db:"status"`
	RootPrefix       string  `db:"root_prefix"`
	RootSpace        string  `db:"root_space"`
	RootLocal        string  `db:"root_local"`
	Namespaces       string  `db:"namespaces"` // JSON object: prefix to namespace
	ObjectTypes      Strings `db:"object_types"`
	CRS              int64   `db:"crs"` // EPSG code of its geometries, 0 for none
	AreaKind         string  `db:"area_kind"`
	GeometryElements Strings `db:"geometry_elements"` // local names whose geometry counts; empty for every geometry
	KeyElements      Strings `db:"key_elements"`      // local names whose text is a key
	PerFile          int64   `db:"per_file"`          // mutations (MUT-20)
	DeltaSchedule    string  `db:"delta_schedule"`    // cron, UTC; empty for on demand
	SnapshotSchedule string  `db:"snapshot_schedule"`
	Lineage          string  `db:"lineage"` // UUID (MUT-38)
	LineageAt        Time    `db:"lineage_at"`
	LineageSeq       int64   `db:"lineage_seq"` // the last group before this lineage
	LineageReason    string  `db:"lineage_reason"`
	ReplacedSeq      int64   `db:"replaced_seq"` // states that came up to here were replaced by another history
	LastSeq          int64   `db:"last_seq"`     // the last group
	CheckedAt        Time    `db:"checked_at"`   // until when all groups are known to be in deltas
	DeltaAskedAt     Time    `db:"delta_asked_at"`
	SnapshotAskedAt  Time    `db:"snapshot_asked_at"`
	CreatedAt        Time    `db:"created_at"`
	CreatedBy        string  `db:"created_by"`
	UpdatedAt        Time    `db:"updated_at"`
	EndedAt          Time    `db:"ended_at"`
	EndReason        string  `db:"end_reason"`
}

// Kinds of publications.
const (
	PublicationGroups  = "groups"
	PublicationDelta   = "delta"
	PublicationInitial = "initial"
)

// States of publications, snapshots and downloads.
const (
	MutationPending   = "pending"
	MutationRunning   = "running"
	MutationDone      = "done"
	MutationCompleted = "completed"
	MutationFailed    = "failed"
	MutationCancelled = "cancelled"
)

// MutationPublication counts what one request or one import took in.
type MutationPublication struct {
	ID         string `db:"id"`
	DatasetID  string `db:"dataset_id"`
	ClientID   string `db:"client_id"` // or the account of who imported it
	RequestKey string `db:"request_key"`
	Kind       string `db:"kind"`
	Name       string `db:"name"` // of the file
	Status     string `db:"status"`
	Groups     int64  `db:"groups"`
	Adds       int64  `db:"adds"`
	Changes    int64  `db:"changes"`
	Deletes    int64  `db:"deletes"`
	FirstSeq   int64  `db:"first_seq"`
	LastSeq    int64  `db:"last_seq"`
	Bytes      int64  `db:"bytes"`
	BytesTotal int64  `db:"bytes_total"` // 0 when it is not known
	Hash       []byte `db:"hash"`        // SHA-256 that runs over the groups that are in
	Error      string `db:"error"`
	CreatedBy  string `db:"created_by"`
	CreatedAt  Time   `db:"created_at"`
	UpdatedAt  Time   `db:"updated_at"`
	FinishedAt Time   `db:"finished_at"`
	// Unlocated counts the versions of objects that lie in no area, in a dataset whose followers choose one.
	Unlocated      int64  `db:"unlocated"`
	UnlocatedFirst string `db:"unlocated_first"` // in words, where the first of them is and why it lies in none
}

// MutationGroup is a group of the history of a dataset.
type MutationGroup struct {
	DatasetID     string `db:"dataset_id"`
	Seq           int64  `db:"seq"` // from 1, without gaps
	PublicationID string `db:"publication_id"`
	At            Time   `db:"at"`
}

// Mutation is one mutation of a group: it adds when WasID is empty, and deletes when WordtID is.
type Mutation struct {
	DatasetID  string `db:"dataset_id"`
	Seq        int64  `db:"seq"`
	Number     int64  `db:"number"` // in the group, from 1
	ObjectType string `db:"object_type"`
	ObjectID   string `db:"object_id"`
	WasID      string `db:"was_id"`
	WordtID    string `db:"wordt_id"`
}

// MutationState is a version of an object, with the groups in which it came and went.
type MutationState struct {
	ID         string `db:"id"` // UUID, never given twice (MUT-10)
	DatasetID  string `db:"dataset_id"`
	ObjectType string `db:"object_type"`
	ObjectID   string `db:"object_id"`
	SourceID   string `db:"source_id"` // what its publisher calls it
	BornSeq    int64  `db:"born_seq"`
	DiedSeq    int64  `db:"died_seq"`   // 0: it is there
	Digest     []byte `db:"digest"`     // SHA-256 over its fields
	Namespaces string `db:"namespaces"` // JSON object: prefix to namespace, declared around the XML
	XML        []byte `db:"xml"`
	Size       int64  `db:"size"` // bytes of the XML, when read without it
}

// MutationFile is a zip that is kept in pieces; its bytes never change.
type MutationFile struct {
	ID         string `db:"id"`
	DatasetID  string `db:"dataset_id"`
	Size       int64  `db:"size"`
	Digest     []byte `db:"digest"` // SHA-256
	CreatedAt  Time   `db:"created_at"`
	TouchedAt  Time   `db:"touched_at"`
	FinishedAt Time   `db:"finished_at"`
	GoneAt     Time   `db:"gone_at"` // when its bytes were removed
}

// MutationDelta is the groups behind FromSeq up to ToSeq.
type MutationDelta struct {
	ID          string `db:"id"` // UUID
	DatasetID   string `db:"dataset_id"`
	Number      int64  `db:"number"` // from 1, without gaps
	PreviousID  string `db:"previous_id"`
	Lineage     string `db:"lineage"`
	FromSeq     int64  `db:"from_seq"`
	ToSeq       int64  `db:"to_seq"`
	FromAt      Time   `db:"from_at"`
	ToAt        Time   `db:"to_at"`    // it stays for 31 days from here (MUT-33)
	Manifest    string `db:"manifest"` // JSON
	FileID      string `db:"file_id"`
	Bytes       int64  `db:"bytes"`
	SHA256      string `db:"sha256"` // hexadecimal
	CreatedAt   Time   `db:"created_at"`
	AnnouncedAt Time   `db:"announced_at"`
	GoneAt      Time   `db:"gone_at"`
}

// MutationSnapshot is everything there was at the end of a delta.
type MutationSnapshot struct {
	ID          string `db:"id"` // UUID
	DatasetID   string `db:"dataset_id"`
	DeltaID     string `db:"delta_id"` // the last that it includes (MUT-34)
	DeltaNumber int64  `db:"delta_number"`
	Seq         int64  `db:"seq"`
	Lineage     string `db:"lineage"`
	Status      string `db:"status"`
	Total       int64  `db:"total"` // states to write
	Done        int64  `db:"done"`
	Error       string `db:"error"`
	Manifest    string `db:"manifest"`
	FileID      string `db:"file_id"`
	Bytes       int64  `db:"bytes"`
	SHA256      string `db:"sha256"`
	CreatedAt   Time   `db:"created_at"`
	FinishedAt  Time   `db:"finished_at"`
	GoneAt      Time   `db:"gone_at"`
}

// MutationArea bounds a dataset for a subscriber; it is immutable (MUT-41, MUT-49).
type MutationArea struct {
	ID        string  `db:"id"`
	DatasetID string  `db:"dataset_id"`
	PartnerID string  `db:"partner_id"`
	Name      string  `db:"name"`
	Kind      string  `db:"kind"`  // AreaGeometry or AreaKeys
	Given     string  `db:"given"` // as it was given
	GivenCRS  int64   `db:"given_crs"`
	WKT       string  `db:"wkt"` // the boundary that is used, in the CRS of the dataset
	Keys      Strings `db:"keys"`
	CreatedAt Time    `db:"created_at"`
	CreatedBy string  `db:"created_by"`
}

// MutationFollower holds what a subscription to a dataset gets, and the progress of its copy.
type MutationFollower struct {
	SubscriptionID string  `db:"subscription_id"`
	DatasetID      string  `db:"dataset_id"`
	AreaID         string  `db:"area_id"`      // empty for everything
	ObjectTypes    Strings `db:"object_types"` // empty for all
	DeltaID        string  `db:"delta_id"`     // the last that was fetched to its end
	DeltaNumber    int64   `db:"delta_number"`
	SnapshotID     string  `db:"snapshot_id"`
	FetchedAt      Time    `db:"fetched_at"`
	// While a change of what it gets waits for approval, AreaID and ObjectTypes hold the request, and these what it reads.
	Reads           bool    `db:"reads"`
	ReadAreaID      string  `db:"read_area_id"`
	ReadObjectTypes Strings `db:"read_object_types"`
	// BareUntil is the number of the last delta that it may know by its bare id, although it gets a part: from before names of
	// deltas said of which part they are.
	BareUntil int64 `db:"bare_until"`
}

// Reading returns what a follower gets now: what was approved, also while something else is asked for.
func (f MutationFollower) Reading() MutationFollower {
	if f.Reads {
		f.AreaID, f.ObjectTypes = f.ReadAreaID, f.ReadObjectTypes
	}
	return f
}

// MutationDownload is made for one subscriber: of an area, or of some object types.
type MutationDownload struct {
	ID             string  `db:"id"` // UUID
	DatasetID      string  `db:"dataset_id"`
	PartnerID      string  `db:"partner_id"`
	SubscriptionID string  `db:"subscription_id"`
	RequestedBy    string  `db:"requested_by"` // the client; empty: made because the subscription has an area
	DeltaID        string  `db:"delta_id"`     // of a delta, or
	SnapshotID     string  `db:"snapshot_id"`  // of a snapshot
	AreaID         string  `db:"area_id"`      // of the subscription
	Geofilter      string  `db:"geofilter"`    // WKT, asked for besides
	ObjectTypes    Strings `db:"object_types"`
	Lineage        string  `db:"lineage"`
	Mark           string  `db:"mark"` // of the names of deltas in its files; empty for bare ids
	Status         string  `db:"status"`
	Progress       int64   `db:"progress"` // of 100
	Error          string  `db:"error"`
	Manifest       string  `db:"manifest"`
	FileID         string  `db:"file_id"`
	Bytes          int64   `db:"bytes"`
	SHA256         string  `db:"sha256"`
	Owner          string  `db:"owner"`
	LeaseUntil     Time    `db:"lease_until"`
	CreatedAt      Time    `db:"created_at"`
	FinishedAt     Time    `db:"finished_at"`
	AnnouncedAt    Time    `db:"announced_at"`
	GoneAt         Time    `db:"gone_at"`
}
