package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"schakel/store/storetest"
)

// goesBy gives by which step of pruning the rows of a table go when they are old, or why they stay.
var goesBy = map[string]string{
	"event": "PruneEvents", "delivery": "PruneEvents", "attempt": "PruneEvents",
	"delivery_batch": "PruneBatches", "left_out": "PruneHanded", "handed_identity": "PruneHanded",
	"object": "PruneObjects", "object_chunk": "PruneObjects", "object_reader": "PruneObjects",
	"quarantine": "PruneQuarantine", "quarantined_event": "PruneQuarantine",
	"resend_job": "PruneJobs", "replay_part": "PruneJobs", "resend_canary": "PruneJobs", "resend_refusal": "PruneJobs", "resend_moved": "PruneJobs",
	"traffic": "PruneTraffic", "inbox_message": "PruneInbox", "endpoint_change": "PruneEndpointChanges",
	"audit": "PruneAudit", "audit_checkpoint": "PruneAudit", "issue_event": "PruneIssueEvents", "mail": "PruneMails", "mirror_run": "PruneMirrors", "mirror_aside": "PruneMirrors",
	"amqp_message": "PruneAMQP", "amqp_trace": "PruneAMQP",
	"mutation_group": "PruneMutations", "mutation": "PruneMutations", "mutation_publication": "PrunePublications",
	"mutation_file": "PruneMutationFiles", "mutation_chunk": "PruneMutationFiles", "mutation_download": "PruneMutationDownloads",
	"contract_download": "PruneDownloads", "contract_download_day": "PruneDownloads",
	"session": "PruneExpired", "one_time_link": "PruneExpired", "used_once": "PruneExpired", "registration_draft": "PruneExpired", "login_throttle": "PruneExpired",
	"idempotency_key": "PruneExpired", "login_device": "PruneExpired", "expiry_notice": "PruneExpired", "mandate": "PruneExpired",

	"endpoint_move":       "stays: as its endpoint, a few, each made by a person; its secrets go once it is decided",
	"confirmation":        "stays: a few a day, each made by a person, and the audit trail refers to it",
	"setting":             "stays: one row a setting",
	"audit_head":          "stays: one row",
	"cluster_task":        "stays: one row a task",
	"node":                "stays: one row a node; that of a dead one goes when another notices",
	"data_key":            "stays: one row a partner, and it tells that its data was erased",
	"node_key":            "stays: one row a node; that of a dead one goes when another stops",
	"delivery_notice":     "stays: two rows an endpoint at most",
	"issue":               "stays: one row an endpoint and cause, of which there are a few dozen",
	"order_head":          "stays: one row an order key of which something waits",
	"assertion_key":       "stays: one row a certificate, once a year or so",
	"signing_key":         "stays: one row a key, changed rarely, and old tokens are checked by it",
	"partner":             "stays: what was agreed with whom is looked up after years",
	"account":             "stays: the audit trail refers to it",
	"saved_filter":        "stays: at most 30 of each list of an account, which its owner removes",
	"endpoint_check":      "stays: ten of an endpoint at most, each beginning removes the oldest",
	"account_identity":    "stays: as its account",
	"account_factor":      "stays: its owner removes it, or an administrator",
	"recovery_code":       "stays: ten an account, which go as they are used",
	"login_session":       "PruneExpired",
	"client":              "stays: as its partner",
	"endpoint":            "stays: as its partner",
	"subscription":        "stays: as its partner",
	"subscription_type":   "stays: as its subscription",
	"route":               "stays: an administrator takes it away",
	"read_key":            "stays: the audit trail refers to it, and a revoked one is told from one that never was",
	"contract":            "stays: a published contract has the same bytes for ever (guarantee G8)",
	"contract_version":    "stays: as its contract",
	"contract_partner":    "stays: as its contract",
	"event_type":          "stays: as its contract",
	"amqp_broker":         "stays: an administrator makes it, and removes it",
	"amqp_party":          "stays: as its partner",
	"amqp_certificate":    "stays: a few a party, which people remove",
	"amqp_process":        "stays: a few a party, which people remove",
	"amqp_connection":     "stays: a row for each node and broker; a node that is silent loses its own",
	"amqp_queue":          "stays: a row for each queue that we read; one that nothing is said of for a day is removed",
	"mirror_source":       "stays: an administrator makes it, and the copies refer to it",
	"mirror_contract":     "stays: as its contract",
	"contract_part":       "stays: as its version",
	"contract_parts_read": "stays: as its version",
	"dataset":             "stays: an administrator makes it",
	"mutation_state":      "stays: it is what the dataset holds; PruneMutations removes those that went long ago",
	"mutation_delta":      "stays: one row a delta without its bytes, so that it is known what is gone",
	"mutation_snapshot":   "stays: one row a snapshot without its bytes, so that it is known what is gone",
	"mutation_area":       "stays: the lineage of what was downloaded refers to it",
	"mutation_follower":   "stays: as its subscription",
	"mutation_trouble":    "stays: two rows a dataset at most, which the next success removes",
	"mirror_copy":         "stays: as its version; it tells where the bytes come from",
}

// No table grows for ever without somebody having said so.
func TestEveryTableIsPrunedOrStays(t *testing.T) {
	t.Parallel()
	tables := names(t, storetest.SQLite(t), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%'`)
	for _, table := range tables {
		if rule := goesBy[table]; !strings.HasPrefix(rule, "Prune") && !strings.HasPrefix(rule, "stays: ") {
			t.Errorf("nothing prunes table %s: add it to a step of pruning, or say here why it stays", table)
		}
	}
	for table := range goesBy {
		if !slices.Contains(tables, table) {
			t.Errorf("there is no table %s", table)
		}
	}
}

// Every exported method of Queries, Tx and DB is called by the tests of this package, which run on both databases.
func TestEveryMethodIsTested(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	noErr(t, err)
	methods, called := make(map[string]string), make(map[string]bool)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		noErr(t, err)
		if strings.HasSuffix(name, "_test.go") {
			collectCalls(file, called)
		} else {
			collectMethods(file, methods)
		}
	}
	if len(methods) < 50 {
		t.Fatalf("found only %d methods", len(methods))
	}
	for method, receiver := range methods {
		if !called[method] {
			t.Errorf("%s.%s is not called by a test", receiver, method)
		}
	}
}

func collectMethods(file *ast.File, methods map[string]string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || !f.Name.IsExported() {
			continue
		}
		if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
			switch receiver := star.X.(*ast.Ident).Name; receiver {
			case "Queries", "Tx", "DB":
				methods[f.Name.Name] = receiver
			}
		}
	}
}

func collectCalls(file *ast.File, called map[string]bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok {
				called[s.Sel.Name] = true
			}
		}
		return true
	})
}
