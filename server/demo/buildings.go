package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"schakel/registry"
	"schakel/registry/datasets"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/store"
)

// The dataset of the demonstration: school buildings of a made-up register in and around Zutphen, kept as the BAG keeps
// its objects: a version that ends gets its end, and another one holds from then on.
const (
	BuildingsID    = "schoolgebouwen"
	buildingsSpace = "urn:nl:voorbeeld:schoolgebouwen:1.0"
	gmlSpace       = "http://www.opengis.net/gml/3.2"
	buildingType   = "Schoolgebouw"
)

// The middle of the town in the national grid, and how far buildings lie from it, in metres.
const (
	townX, townY = 210_400, 461_700
	townReach    = 2_600
)

// building is one object with its version of now.
type building struct {
	number  int
	version int // counts the states it had
	voork   int // of the version in the history of the object, as the BAG numbers them
	name    string
	status  string
	begin   time.Time
	end     time.Time // zero while it lasts
	x, y    float64   // of its middle, in metres
	w, h    float64
	turn    float64 // radians
}

// stateID returns the id of a state of a building in the register.
func (b building) stateID() string { return fmt.Sprintf("sg-%04d-%d", b.number, b.version) }

func (b building) objectID() string { return fmt.Sprintf("9901200000%06d", b.number) }

// xml is the building as the register writes it.
func (b building) xml() string {
	end := ""
	if !b.end.IsZero() {
		end = "<sg:eindGeldigheid>" + b.end.Format(time.RFC3339) + "</sg:eindGeldigheid>"
	}
	return `<sg:Schoolgebouw xmlns:sg="` + buildingsSpace + `" xmlns:gml="` + gmlSpace + `"><sg:identificatie>` + b.objectID() + `</sg:identificatie>` +
		fmt.Sprintf(`<sg:voorkomen>%d</sg:voorkomen>`, b.voork) + `<sg:naam>` + b.name + `</sg:naam><sg:status>` + b.status + `</sg:status>` +
		`<sg:beginGeldigheid>` + b.begin.Format(time.RFC3339) + `</sg:beginGeldigheid>` + end +
		`<sg:geometrie><gml:Polygon gml:id="g.` + b.stateID() + `" srsName="urn:ogc:def:crs:EPSG::28992"><gml:exterior><gml:LinearRing><gml:posList>` +
		b.positions() + `</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon></sg:geometrie></sg:Schoolgebouw>`
}

// positions are the corners of a turned rectangle, in millimetres.
func (b building) positions() string {
	var list []string
	sin, cos := math.Sincos(b.turn)
	for _, c := range [][2]float64{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}, {-1, -1}} {
		x, y := c[0]*b.w/2, c[1]*b.h/2
		list = append(list, fmt.Sprintf("%.3f %.3f", b.x+x*cos-y*sin, b.y+x*sin+y*cos))
	}
	return strings.Join(list, " ")
}

// register is the source of the dataset: it makes mutations of what happens to buildings.
type register struct {
	random *rand.Rand
	now    func() time.Time
	all    []building // those that are there
	given  int
}

func newRegister(seed uint64, now func() time.Time) *register {
	return &register{random: rand.New(rand.NewPCG(seed, 7)), now: now} // #nosec G404 -- sample data
}

// mutation is one mutation of a group, as the API takes it in JSON.
type mutation struct {
	ObjectType string `json:"objectType"`
	ObjectID   string `json:"objectId"`
	Was        *state `json:"was,omitempty"`
	Wordt      *state `json:"wordt,omitempty"`
}

type state struct {
	ID  string `json:"id"`
	XML string `json:"xml,omitempty"`
}

// group holds the mutations of one change.
type group struct {
	Mutations []mutation `json:"mutations"`
}

// open adds a building at a random place.
func (r *register) open(begin time.Time) group {
	r.given++
	names := []string{"De Berkel", "Het Talent", "Willibrord", "De Waaier", "IJsselcollege", "De Parel", "Het Kompas", "De Lindeboom"}
	b := building{
		number: r.given, version: 1, voork: 1, name: fmt.Sprintf("%s %d", names[r.random.IntN(len(names))], r.given), status: "in gebruik", begin: begin,
		x: townX + townReach*(2*r.random.Float64()-1), y: townY + townReach*0.7*(2*r.random.Float64()-1),
		w: 20 + 60*r.random.Float64(), h: 12 + 25*r.random.Float64(), turn: math.Pi * r.random.Float64(),
	}
	r.all = append(r.all, b)
	return r.add(b)
}

func (r *register) add(b building) group {
	return group{[]mutation{{ObjectType: buildingType, ObjectID: b.objectID(), Wordt: &state{b.stateID(), b.xml()}}}}
}

// change replaces the state of a building by another one.
func (r *register) change(from, to building) group {
	return group{[]mutation{{ObjectType: buildingType, ObjectID: from.objectID(), Was: &state{ID: from.stateID()}, Wordt: &state{to.stateID(), to.xml()}}}}
}

// renew ends the version of now and begins another one, in which edit changes something: two groups, as real registers do.
func (r *register) renew(i int, edit func(*building)) []group {
	before := r.all[i]
	ended := before
	ended.version, ended.end = before.version+1, r.now().UTC()
	next := ended
	next.version, next.voork, next.begin, next.end = ended.version+1, before.voork+1, ended.end, time.Time{}
	edit(&next)
	r.all[i] = next
	return []group{r.change(before, ended), r.add(next)}
}

// happen is something that happens: a building gets another name, is moved to where it really stands, opens or closes.
func (r *register) happen() []group {
	i := r.random.IntN(len(r.all))
	switch n := r.random.IntN(10); {
	case n < 2:
		return []group{r.open(r.now().UTC())}
	case n < 6:
		return r.renew(i, func(b *building) { b.name, b.w = strings.TrimSuffix(b.name, " (verbouwd)")+" (verbouwd)", b.w*1.2 })
	case n < 9 || len(r.all) < 10:
		wrong, right := r.all[i], r.all[i]
		right.version++
		right.x, right.y = wrong.x+800*(2*r.random.Float64()-1), wrong.y+800*(2*r.random.Float64()-1)
		r.all[i] = right
		return []group{r.change(wrong, right)}
	}
	closed := r.renew(i, func(b *building) { b.status = "beëindigd" })
	r.all = append(r.all[:i], r.all[i+1:]...)
	return closed
}

// firstBuildings sets the number of buildings at first.
const firstBuildings = 120

// BuildingsFeed publishes the buildings and what happens to them, as their register would: with a token, at the public API.
type BuildingsFeed struct {
	System *Trickle // as whom; its types and pace do not count
	Every  time.Duration

	register *register
}

// Load publishes all buildings there are, each with its earlier versions.
func (f *BuildingsFeed) Load(ctx context.Context) error {
	f.register = newRegister(20260101, f.System.Now)
	var groups []group
	for i := range firstBuildings {
		groups = append(groups, f.register.open(f.System.Now().UTC().AddDate(-3, 0, -i)))
		if i%4 == 0 {
			groups = append(groups, f.register.renew(i, func(b *building) { b.h *= 1.3 })...)
		}
	}
	return f.publish(ctx, groups)
}

// Run publishes what happens until the context ends. What fails is logged, and sent again with the next.
func (f *BuildingsFeed) Run(ctx context.Context) {
	tick := time.NewTicker(f.Every)
	defer tick.Stop()
	var waiting []group
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		waiting = append(waiting, f.register.happen()...)
		if err := f.publish(ctx, waiting); err != nil {
			if ctx.Err() == nil {
				f.System.Log.WarnContext(ctx, "demo mutations not published", "error", err)
			}
			continue
		}
		waiting = nil
	}
}

func (f *BuildingsFeed) publish(ctx context.Context, groups []group) error {
	f.System.http.Timeout = time.Minute
	if err := f.System.ensureToken(ctx); err != nil {
		return fmt.Errorf("get token: %w", err)
	}
	body, err := json.Marshal(map[string]any{"groups": groups})
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, f.System.Base+"/mutations/v1/datasets/"+BuildingsID+"/mutation-groups", bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Idempotency-Key", `"`+uuid.NewString()+`"`)
	q.Header.Set("Authorization", "Bearer "+f.System.token)
	return f.System.do(q, http.StatusCreated, nil)
}

// Buildings configures the demonstration of a dataset.
type Buildings struct {
	Publisher Credentials // of the own organisation; publishes mutations
	Follower  Credentials // of the partner that keeps a copy of its area
	Login     Login       // of that partner
}

// BuildingsArea bounds the part that the partner follows: its part of the town, without what lies in the middle of it.
const BuildingsArea = "POLYGON((208300 460300,210100 459900,210900 460800,211000 462300,209900 463400,208600 463100,208000 461800,208300 460300)," +
	"(209100 461200,209900 461100,210000 462000,209300 462200,209100 461200))"

// SeedBuildings makes the dataset, and a partner with an approved subscription to its part of it.
func (c *Chain) SeedBuildings(ctx context.Context) (Buildings, error) {
	var out Buildings
	_, err := c.Datasets.Create(ctx, c.Admin, datasets.DatasetInput{
		ID: BuildingsID, Title: "Schoolgebouwen", Description: "Buildings of schools in and around Zutphen, with all their versions. A made-up register.",
		RootPrefix: "sg", RootSpace: buildingsSpace, RootLocal: "schoolgebouwMutaties",
		Namespaces: map[string]string{"gml": gmlSpace}, ObjectTypes: []string{buildingType}, CRS: 28992, AreaKind: store.AreaGeometry,
		GeometryElements: []string{"geometrie"}, PerFile: 100, DeltaSchedule: "* * * * *", SnapshotSchedule: "0 3 * * *",
	})
	if err != nil {
		return out, fmt.Errorf("make dataset: %w", err)
	}
	if out.Publisher, err = c.machine(ctx, c.Admin, "Gebouwenregister", identity.ScopeMutationsPublish); err != nil {
		return out, err
	}
	o := Organisation{Name: "Gemeente Zutphen-West", KVK: "89123456", Contact: "Karin Smit", Email: "karin@zutphenwest.example"}
	_, actor, err := c.Approved(ctx, o)
	if err != nil {
		return out, err
	}
	out.Login = Login{o.Email, "an approved partner that keeps a copy of its part of a dataset"}
	if out.Follower, err = c.machine(ctx, actor, "Kaart van de gemeente", identity.ScopeMutationsRead); err != nil {
		return out, err
	}
	return out, c.followBuildings(ctx, actor)
}

// followBuildings asks for a part of the dataset and has it approved.
func (c *Chain) followBuildings(ctx context.Context, actor registry.Actor) error {
	endpoint, err := c.Endpoints.Create(ctx, actor, "", partners.EndpointInput{Name: "Kopie van de gemeente", Kind: store.EndpointFiles})
	if err != nil {
		return fmt.Errorf("add endpoint: %w", err)
	}
	sub, err := c.Subscriptions.RequestDataset(ctx, actor, partners.DatasetRequest{
		Dataset: BuildingsID, EndpointID: endpoint.ID, Name: "Schoolgebouwen in onze gemeente", Purpose: "Draw the schools on the map of our municipality.",
		Area: partners.AreaInput{Name: "Zutphen-West", Text: BuildingsArea},
	})
	if err != nil {
		return fmt.Errorf("ask subscription: %w", err)
	}
	if err := c.Subscriptions.Approve(ctx, c.Admin, sub.ID); err != nil {
		return fmt.Errorf("approve subscription: %w", err)
	}
	return nil
}

// machine makes a client with scopes; what needs a decision is granted.
func (c *Chain) machine(ctx context.Context, actor registry.Actor, name string, scopes ...string) (Credentials, error) {
	client, secret, err := c.Clients.Create(ctx, actor, "", identity.NewClient{Name: name, AuthMethod: token.ClientSecretBasic, Scopes: scopes})
	if err != nil {
		return Credentials{}, fmt.Errorf("make client %s: %w", name, err)
	}
	if client.Waiting() {
		if _, err := c.Clients.Decide(ctx, c.Admin, client.ID, identity.Decision{Approve: true, Seen: identity.ClientRequestSeen(client)}); err != nil {
			return Credentials{}, fmt.Errorf("grant client %s: %w", name, err)
		}
	}
	return Credentials{client.ID, secret}, nil
}
