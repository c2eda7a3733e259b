package datasets

import (
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Bounds of a dataset.
const (
	leastDeltaPause    = time.Minute
	leastSnapshotPause = time.Hour
	defaultPerFile     = 5000 // MUT-20
	mostPerFile        = 100_000
	mostElements       = 200
	mostNamespaces     = 50
)

// DatasetInput holds the input for a dataset.
type DatasetInput struct {
	ID          string // a letter, then 1 to 39 lower-case letters, digits and hyphens; it stays what it was
	Title       string
	Description string // may be empty
	// RootPrefix, RootSpace and RootLocal name the element around the message in the files of the dataset.
	RootPrefix, RootSpace, RootLocal string
	// Namespaces are declared on that element, by prefix.
	Namespaces  map[string]string
	ObjectTypes []string // local names of the types, 1 to 200
	CRS         int64    // EPSG code of the geometries: 28992, 4326, or 0 for none
	AreaKind    string   // what subscribers can bound it by: store.AreaNone, AreaGeometry or AreaKeys
	// GeometryElements are the local names whose geometry counts; empty for every geometry.
	GeometryElements []string
	// KeyElements are the local names whose text is a key; needed with AreaKeys.
	KeyElements      []string
	PerFile          int64  // mutations after which a file ends, 1 to 100,000; 0 is 5,000
	DeltaSchedule    string // as cron writes it, UTC; empty for on demand
	SnapshotSchedule string // likewise
}

// InputOfDataset is a dataset as it is, to be changed.
func InputOfDataset(d store.Dataset) DatasetInput {
	in := DatasetInput{
		ID: d.ID, Title: d.Title, Description: d.Description, RootPrefix: d.RootPrefix, RootSpace: d.RootSpace, RootLocal: d.RootLocal,
		ObjectTypes: slices.Clone(d.ObjectTypes), CRS: d.CRS, AreaKind: d.AreaKind, GeometryElements: slices.Clone(d.GeometryElements),
		KeyElements: slices.Clone(d.KeyElements), PerFile: d.PerFile, DeltaSchedule: d.DeltaSchedule, SnapshotSchedule: d.SnapshotSchedule,
	}
	_ = json.Unmarshal([]byte(d.Namespaces), &in.Namespaces) // written by fill
	return in
}

func (in DatasetInput) clean() DatasetInput {
	for _, s := range []*string{
		&in.ID, &in.Title, &in.Description, &in.RootPrefix, &in.RootSpace, &in.RootLocal, &in.DeltaSchedule, &in.SnapshotSchedule,
	} {
		*s = strings.TrimSpace(*s)
	}
	in.ObjectTypes, in.GeometryElements, in.KeyElements = registry.Filled(in.ObjectTypes), registry.Filled(in.GeometryElements), registry.Filled(in.KeyElements)
	if in.PerFile == 0 {
		in.PerFile = defaultPerFile
	}
	if in.AreaKind == "" {
		in.AreaKind = store.AreaNone
	}
	return in
}

var (
	datasetID = regexp.MustCompile(`^[a-z][a-z0-9-]{1,39}$`)
	// Letters are XML's own letters that are in use; Unicode knows more (XML 1.0, 2.3).
	xmlName = regexp.MustCompile(`^[A-Za-z_À-ÖØ-öø-˿][A-Za-z0-9_.À-ÖØ-öø-˿-]{0,79}$`)
)

func (in DatasetInput) check() registry.Problems {
	wrong := registry.Problems{}
	wrong.AddIf(!datasetID.MatchString(in.ID),
		"id", "datasets.input.id")
	wrong.Add("title", registry.CheckLine(in.Title, 2, 120))
	wrong.Add("description", registry.CheckProse(in.Description, 0, 4000))
	in.checkRoot(wrong)
	in.checkElements(wrong)
	registry.CheckBetween(wrong, "perFile", in.PerFile, 1, mostPerFile)
	if _, err := registry.ParseSchedule(in.DeltaSchedule, leastDeltaPause); in.DeltaSchedule != "" && err != nil {
		wrong.Add("deltaSchedule", i18n.Raw(registry.AsSentence(err.Error())))
	}
	if _, err := registry.ParseSchedule(in.SnapshotSchedule, leastSnapshotPause); in.SnapshotSchedule != "" && err != nil {
		wrong.Add("snapshotSchedule", i18n.Raw(registry.AsSentence(err.Error())))
	}
	return wrong
}

func (in DatasetInput) checkRoot(wrong registry.Problems) {
	wrong.Add("rootPrefix", checkPrefix(in.RootPrefix))
	wrong.Add("rootSpace", checkNamespace(in.RootSpace))
	wrong.AddIf(!xmlName.MatchString(in.RootLocal), "rootLocal", "datasets.input.root-local")
	wrong.AddIf(len(in.Namespaces) > mostNamespaces, "namespaces", i18n.M("datasets.input.most-namespaces", mostNamespaces))
	for _, prefix := range slices.Sorted(maps.Keys(in.Namespaces)) {
		for _, text := range []i18n.Message{checkPrefix(prefix), checkNamespace(in.Namespaces[prefix])} {
			wrong.AddIf(text != "", "namespaces", i18n.M("datasets.input.of-prefix", prefix, text))
		}
	}
	if space, there := in.Namespaces[in.RootPrefix]; there && space != in.RootSpace {
		wrong.Add("namespaces", i18n.M("datasets.input.root-prefix-again", in.RootPrefix))
	}
}

func checkPrefix(prefix string) i18n.Message {
	if !xmlName.MatchString(prefix) || strings.HasPrefix(strings.ToLower(prefix), "xml") {
		return "datasets.input.prefix"
	}
	return ""
}

// takenSpaces are the namespaces of the mutation format and of XML itself: no root or object is in them.
var takenSpaces = []string{
	"http://www.kadaster.nl/schemas/mutatielevering-generiek/1.0", "http://www.kadaster.nl/schemas/mutatielevering-generiek/2.0",
	"http://www.w3.org/XML/1998/namespace", "http://www.w3.org/2000/xmlns/",
}

func checkNamespace(space string) i18n.Message {
	if slices.Contains(takenSpaces, space) {
		return "datasets.input.namespace-taken"
	}
	u, err := url.Parse(space)
	if err != nil || !u.IsAbs() || len(space) > 300 || strings.ContainsAny(space, " \"<>") {
		return "datasets.input.namespace"
	}
	return ""
}

func (in DatasetInput) checkElements(wrong registry.Problems) {
	wrong.AddIf(len(in.ObjectTypes) == 0, "objectTypes", "datasets.input.object-types")
	wrong.Add("objectTypes", checkNames(in.ObjectTypes))
	wrong.Add("geometryElements", checkNames(in.GeometryElements))
	wrong.Add("keyElements", checkNames(in.KeyElements))
	wrong.AddIf(!slices.Contains([]int64{registry.CRSNone, registry.CRSRijksdriehoek, registry.CRSWGS84}, in.CRS),
		"crs", "datasets.input.crs")
	switch in.AreaKind {
	case store.AreaNone:
	case store.AreaGeometry:
		wrong.AddIf(in.CRS == registry.CRSNone, "crs", "datasets.input.crs-geometry")
	case store.AreaKeys:
		wrong.AddIf(len(in.KeyElements) == 0, "keyElements", "datasets.input.key-elements")
	default:
		wrong.Add("areaKind", "datasets.input.area-kind")
	}
}

// checkNames wants local names of XML elements, each once: featuretypes are compared without regard to case (MUT-63).
func checkNames(names []string) i18n.Message {
	if len(names) > mostElements {
		return i18n.M("datasets.input.most-names", mostElements)
	}
	seen := map[string]bool{}
	for _, name := range names {
		switch folded := strings.ToLower(name); {
		case !xmlName.MatchString(name):
			return i18n.M("datasets.input.name", name)
		case seen[folded]:
			return i18n.M("datasets.input.name-twice", name)
		default:
			seen[folded] = true
		}
	}
	return ""
}

// checkKept refuses changes that would silently give what was delivered another meaning. areas counts the subscriptions
// bounded by one.
func (in DatasetInput) checkKept(before store.Dataset, areas int, wrong registry.Problems) {
	if before.LastSeq > 0 {
		for _, name := range before.ObjectTypes {
			wrong.AddIf(!slices.Contains(in.ObjectTypes, name), "objectTypes", i18n.M("datasets.input.type-stays", name))
		}
		wrong.AddIf(in.CRS != before.CRS, "crs", "datasets.input.published-stays")
	}
	if areas == 0 {
		return
	}
	text := i18n.M("datasets.input.areas-stay", areas)
	wrong.AddIf(in.CRS != before.CRS, "crs", text)
	wrong.AddIf(in.AreaKind != before.AreaKind, "areaKind", text)
	wrong.AddIf(!slices.Equal(in.GeometryElements, []string(before.GeometryElements)), "geometryElements", text)
	wrong.AddIf(!slices.Equal(in.KeyElements, []string(before.KeyElements)), "keyElements", text)
}

// fill writes checked input into a dataset.
func (in DatasetInput) fill(to *store.Dataset) {
	to.Title, to.Description = in.Title, in.Description
	to.RootPrefix, to.RootSpace, to.RootLocal = in.RootPrefix, in.RootSpace, in.RootLocal
	to.ObjectTypes, to.CRS, to.AreaKind = in.ObjectTypes, in.CRS, in.AreaKind
	to.GeometryElements, to.KeyElements, to.PerFile = in.GeometryElements, in.KeyElements, in.PerFile
	to.DeltaSchedule, to.SnapshotSchedule = in.DeltaSchedule, in.SnapshotSchedule
	to.Namespaces = "{}"
	if text, err := json.Marshal(in.Namespaces); err == nil && in.Namespaces != nil {
		to.Namespaces = string(text)
	}
}
