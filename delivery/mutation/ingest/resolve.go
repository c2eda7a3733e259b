package ingest

import (
	"bytes"

	"schakel/store"
	"schakel/templates/i18n"
)

// add adds a group, or gives its problems and adds nothing of it.
func (b *batcher) add(g *group) (problems []Problem) {
	states, mutations, deaths := len(b.out.States), len(b.out.Mutations), len(b.out.Deaths)
	b.seq++
	b.killed = b.killed[:0]
	for i := range g.mutations {
		if p := b.mutation(g, i); p != nil && len(problems) < mostProblems {
			problems = append(problems, *p)
		}
	}
	if len(problems) == 0 {
		if p := b.fitsDelivery(g); p != nil {
			problems = append(problems, *p)
		}
	}
	if len(problems) == 0 {
		b.out.Groups = append(b.out.Groups, store.MutationGroup{DatasetID: b.dataset.ID, Seq: b.seq, PublicationID: b.publication, At: b.at})
		return nil
	}
	b.seq--
	for _, k := range b.killed {
		b.died(k, 0)
	}
	for n := len(b.out.States) - 1; n >= states; n-- {
		b.forget(b.states[b.out.States[n].ID])
	}
	b.out.States, b.out.Mutations, b.out.Deaths = b.out.States[:states], b.out.Mutations[:mutations], b.out.Deaths[:deaths]
	return problems
}

// died notes in which group a state went, also when it came in this transaction.
func (b *batcher) died(k *known, seq int64) {
	k.DiedSeq = seq
	if k.in > 0 {
		b.out.States[k.in-1].DiedSeq = seq
	}
}

func (b *batcher) mutation(g *group, i int) *Problem {
	m := &g.mutations[i]
	row := store.Mutation{DatasetID: b.dataset.ID, Seq: b.seq, Number: int64(i + 1), ObjectType: m.objectType, ObjectID: m.objectID}
	if m.was != nil {
		k, p := b.find(g, i)
		if p == nil {
			p = b.fits(g, i, k)
		}
		if p != nil {
			return p
		}
		if row.WasID, row.ObjectType = k.ID, k.ObjectType; row.ObjectID == "" {
			row.ObjectID = k.ObjectID
		}
		b.died(k, b.seq)
		b.killed = append(b.killed, k)
		if k.in == 0 {
			b.out.Deaths = append(b.out.Deaths, store.StateDeath{ID: k.ID, Seq: b.seq})
		}
	}
	if m.wordt != nil {
		if p := b.born(g, i, &row); p != nil {
			return p
		}
	}
	b.out.Mutations = append(b.out.Mutations, row)
	return nil
}

// born adds the state that a mutation brings.
func (b *batcher) born(g *group, i int, row *store.Mutation) *Problem {
	s := *g.mutations[i].wordt
	if id := s.SourceID; id != "" && (b.bySource[id] != nil || b.states[id] != nil) {
		p := g.problem(i, CodeIDUsed, id, "datasets.problem.id-used", "datasets.remedy.id-used")
		return &p
	}
	s.ID, s.ObjectType, s.ObjectID, s.BornSeq = b.newID(), row.ObjectType, row.ObjectID, b.seq
	row.WordtID = s.ID
	b.out.States = append(b.out.States, s)
	s.Size, s.XML = int64(len(s.XML)), nil // only facts are looked at
	b.remember(&known{MutationState: s, in: len(b.out.States)})
	return nil
}

// find finds the state that a WAS means.
func (b *batcher) find(g *group, i int) (*known, *Problem) {
	m := &g.mutations[i]
	if m.was.id == "" {
		return b.findByFields(g, i)
	}
	k := b.states[m.was.id]
	if k == nil {
		k = b.bySource[m.was.id]
	}
	var p Problem
	switch {
	case k != nil && k.DiedSeq == 0:
		return k, nil
	case k == nil && g.comes(i, m.was.id):
		p = g.problem(i, CodeForward, m.was.id, "datasets.problem.state-later", "datasets.remedy.state-later")
	case k == nil:
		p = g.problem(i, CodeUnknown, m.was.id, "datasets.problem.state-unknown", "datasets.remedy.state-unknown")
	case k.DiedSeq == b.seq:
		p = g.problem(i, CodeTwice, m.was.id, "datasets.problem.state-twice", "datasets.remedy.state-twice")
	default:
		p = g.problem(i, CodeDead, m.was.id, "datasets.problem.state-dead", "datasets.remedy.state-dead")
	}
	return nil, &p
}

// comes reports whether a state with this id is brought by the i-th mutation or a later one.
func (g *group) comes(i int, id string) bool {
	for _, m := range g.mutations[i:] {
		if m.wordt != nil && m.wordt.SourceID == id {
			return true
		}
	}
	return false
}

// findByFields finds the one state with the fields of a WAS (MUT-15).
func (b *batcher) findByFields(g *group, i int) (*known, *Problem) {
	m := &g.mutations[i]
	var found []*known
	for _, k := range b.byFields[fields{m.objectType, m.objectID, string(m.was.digest)}] {
		if k.DiedSeq == 0 {
			found = append(found, k)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	p := g.problem(i, CodeUnknown, "", i18n.M("datasets.problem.fields-unknown", m.objectType, m.objectID), "datasets.remedy.fields-unknown")
	if len(found) > 1 {
		p = g.problem(i, CodeAmbiguous, "", i18n.M("datasets.problem.fields-several", m.objectType, m.objectID), "datasets.remedy.fields-several")
	}
	return nil, &p
}

// fits compares a state with the WAS of a mutation, and gives the problem when they differ.
func (b *batcher) fits(g *group, i int, k *known) *Problem {
	m := &g.mutations[i]
	var p Problem
	switch {
	case m.objectType != "" && m.objectType != k.ObjectType, m.objectID != "" && k.ObjectID != "" && m.objectID != k.ObjectID:
		p = g.problem(i, CodeObject, m.was.id, i18n.M("datasets.problem.other-object", k.ObjectType, k.ObjectID), "datasets.remedy.other-object")
	case m.was.digest != nil && !bytes.Equal(m.was.digest, k.Digest):
		p = g.problem(i, CodeOther, m.was.id, "datasets.problem.other-fields", "datasets.remedy.other-fields")
	default:
		return nil
	}
	return &p
}
