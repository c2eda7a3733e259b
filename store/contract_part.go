package store

import (
	"context"
	"fmt"
	"strings"
)

// ContractPart is an operation, channel, message or schema of a contract version, as the search finds it.
type ContractPart struct {
	ContractVersionID string `db:"contract_version_id"`
	Ordinal           int64  `db:"ordinal"` // from 0, in the order of the document
	Kind              string `db:"kind"`
	Name              string `db:"name"`
	Summary           string `db:"summary"`
	Anchor            string `db:"anchor"` // in the reading view
	Words             string `db:"words"`  // name, summary and what else it is found by, in lower case
}

// SetContractParts stores the parts of a version, once; a second call changes nothing. Their Words need not hold name and summary.
func (tx *Tx) SetContractParts(ctx context.Context, versionID string, parts []ContractPart) error {
	n, err := tx.exec(ctx, `INSERT INTO contract_parts_read (contract_version_id) VALUES (?) ON CONFLICT DO NOTHING`, versionID)
	if err != nil || n == 0 {
		return err
	}
	_, err = tx.putMany(ctx, bulk{into: `contract_part (contract_version_id, ordinal, kind, name, summary, anchor, words)`, width: 7, kinds: "tittttt"},
		len(parts), func(args []any, i int) []any {
			p := parts[i]
			return append(args, versionID, int64(i), p.Kind, p.Name, p.Summary, p.Anchor, strings.ToLower(p.Name+" "+p.Summary+" "+p.Words))
		})
	return err
}

// VersionsWithoutParts lists published and deprecated versions whose parts are not stored, the newest first, without their documents.
func (q *Queries) VersionsWithoutParts(ctx context.Context, limit int) ([]ContractVersion, error) {
	return listOf[ContractVersion](ctx, q, fmt.Sprintf(`SELECT `+versionColumns+` FROM contract_version WHERE status IN ('published', 'deprecated')
		AND NOT EXISTS (SELECT 1 FROM contract_parts_read r WHERE r.contract_version_id = contract_version.id) ORDER BY id DESC LIMIT %d`, limit))
}

// FoundPart is a part with the contract and the version that it stands in.
type FoundPart struct {
	ContractPart
	ContractID string `db:"contract_id"`
	Title      string `db:"title"` // of the contract
	Version    string `db:"version"`
	Status     string `db:"status"` // of the version
}

// FindContractParts finds the parts that hold all words, in the highest published (else deprecated) version of each contract that
// sight shows: up to limit, those whose name is or begins with the first word before others. Nil sight sees all.
func (q *Queries) FindContractParts(ctx context.Context, sight *Sight, words []string, limit int) ([]FoundPart, error) {
	if len(words) == 0 {
		return nil, nil
	}
	w := whereOf(`v.status IN ('published', 'deprecated')`)
	for _, word := range words {
		w.add(`p.words LIKE ? ESCAPE '\'`, like(word))
	}
	seen := where{}
	sight.contracts(&seen)
	if len(seen.conditions) > 0 {
		w.add(`c.id IN (SELECT id FROM contract`+seen.sql()+`)`, seen.args...)
	}
	// The version that is shown first, as in LatestVersions.
	w.add(`NOT EXISTS (SELECT 1 FROM contract_version n WHERE n.contract_id = v.contract_id AND n.id <> v.id AND n.status IN ('published', 'deprecated')
		AND (` + latestRank("n") + ` < ` + latestRank("v") + ` OR ` + latestRank("n") + ` = ` + latestRank("v") + ` AND n.sort_key > v.sort_key))`)
	first := strings.ToLower(words[0])
	args := append(w.args, first, strings.TrimPrefix(like(first), "%"))
	return listOf[FoundPart](ctx, q, fmt.Sprintf(`SELECT `+prefixed("p", ContractPart{})+`, c.id AS contract_id, c.title, v.version, v.status FROM contract_part p
		JOIN contract_version v ON v.id = p.contract_version_id JOIN contract c ON c.id = v.contract_id%s
		ORDER BY CASE WHEN LOWER(p.name) = ? THEN 0 WHEN p.words LIKE ? ESCAPE '\' THEN 1 ELSE 2 END, p.name, c.id, p.ordinal LIMIT %d`, w.sql(), limit), args...)
}

// latestRank orders the versions of a contract as [Queries.LatestVersions] does: published before deprecated, pre-releases last.
func latestRank(table string) string {
	return `(CASE WHEN ` + table + `.version LIKE '%-%' THEN 2 ELSE 0 END + CASE ` + table + `.status WHEN 'published' THEN 0 ELSE 1 END)`
}
