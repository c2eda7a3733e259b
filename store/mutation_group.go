package store

import (
	"context"
	"fmt"

	"schakel/store/pipe"
)

// StateDeath says in which group a state goes.
type StateDeath struct {
	ID  string
	Seq int64
}

// Appended is what some groups bring to the history of a dataset. A state that comes and goes in it has its DiedSeq already.
type Appended struct {
	Groups    []MutationGroup // in order
	Mutations []Mutation
	States    []MutationState
	Deaths    []StateDeath // of states that were there before
}

// AppendGroups writes groups behind the last one of a dataset, which was locked in this transaction. ErrConflict when the
// groups do not go on where the dataset is, or a death is of a state that is not there.
func (tx *Tx) AppendGroups(ctx context.Context, d Dataset, a Appended) error {
	for i, g := range a.Groups {
		if g.Seq != d.LastSeq+int64(i)+1 {
			return fmt.Errorf("%w: group %d does not come behind %d", ErrConflict, g.Seq, d.LastSeq+int64(i))
		}
	}
	if len(a.Groups) == 0 {
		return nil
	}
	for _, write := range []func(context.Context, Appended) error{tx.putStates, tx.killStates, tx.putMutations} {
		if err := write(ctx, a); err != nil {
			return fmt.Errorf("append groups: %w", err)
		}
	}
	return tx.one(ctx, `UPDATE dataset SET last_seq = ? WHERE id = ? AND last_seq = ?`, a.Groups[len(a.Groups)-1].Seq, d.ID, d.LastSeq)
}

func (tx *Tx) putMutations(ctx context.Context, a Appended) error {
	groups := bulk{into: "mutation_group (dataset_id, seq, publication_id, at)", width: 4, kinds: "titi"}
	_, err := tx.putMany(ctx, groups, len(a.Groups), func(args []any, i int) []any {
		g := &a.Groups[i]
		return append(args, g.DatasetID, g.Seq, g.PublicationID, g.At)
	})
	if err != nil {
		return err
	}
	mutations := bulk{into: "mutation (dataset_id, seq, number, object_type, object_id, was_id, wordt_id)", width: 7, kinds: "tiitttt"}
	_, err = tx.putMany(ctx, mutations, len(a.Mutations), func(args []any, i int) []any {
		m := &a.Mutations[i]
		return append(args, m.DatasetID, m.Seq, m.Number, m.ObjectType, m.ObjectID, m.WasID, m.WordtID)
	})
	return err
}

func (tx *Tx) putStates(ctx context.Context, a Appended) error {
	states := bulk{
		into:  "mutation_state (id, dataset_id, object_type, object_id, source_id, born_seq, died_seq, digest, namespaces, xml)",
		width: 10, kinds: "tttttiixtx",
	}
	_, err := tx.putMany(ctx, states, len(a.States), func(args []any, i int) []any {
		s := &a.States[i]
		return append(args, s.ID, s.DatasetID, s.ObjectType, s.ObjectID, s.SourceID, s.BornSeq, s.DiedSeq, s.Digest, s.Namespaces, s.XML)
	})
	return err
}

// killStates marks states as gone; each must be there.
func (tx *Tx) killStates(ctx context.Context, a Appended) error {
	var killed int64
	for rest := a.Deaths; len(rest) > 0; {
		n := min(len(rest), pipeRows)
		if tx.dialect != Postgres {
			n = chunk(n)
		}
		rows, err := tx.killSome(ctx, rest[:n])
		if err != nil {
			return err
		}
		killed, rest = killed+rows, rest[n:]
	}
	if killed != int64(len(a.Deaths)) {
		return fmt.Errorf("%w: %d of %d states are not there any more", ErrConflict, int64(len(a.Deaths))-killed, len(a.Deaths))
	}
	return nil
}

func (tx *Tx) killSome(ctx context.Context, deaths []StateDeath) (int64, error) {
	const killing = `UPDATE mutation_state SET died_seq = d.seq FROM `
	if tx.dialect == Postgres {
		list := pipe.NewArrays("ti", len(deaths))
		for _, d := range deaths {
			list.Add([]any{d.ID, d.Seq})
		}
		const query = killing + `unnest($1::text[], $2::int8[]) AS d (id, seq) WHERE mutation_state.id = d.id AND mutation_state.died_seq = 0`
		result, err := tx.ext.ExecContext(ctx, query, &pipe.Statement{Params: list.Params()})
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	}
	query := tx.texts.as(textKey{into: killing, rows: len(deaths)}, func() string {
		rows := textKey{into: "x", width: 2, rows: len(deaths)}.text()[len(`INSERT INTO x `):]
		return killing + `(SELECT column1 AS id, column2 AS seq FROM (` + rows + `)) AS d WHERE mutation_state.id = d.id AND mutation_state.died_seq = 0`
	})
	args := make([]any, 0, 2*len(deaths))
	for _, d := range deaths {
		args = append(args, d.ID, d.Seq)
	}
	return tx.exec(ctx, query, args...)
}
