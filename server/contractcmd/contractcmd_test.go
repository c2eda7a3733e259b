package contractcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"schakel/server/cli"
	"schakel/server/cli/clitest"
)

func TestContractValidate(t *testing.T) {
	t.Parallel()
	at := clitest.WriteFiles(t, map[string]string{
		"good.yaml": clitest.GoodContract, "broken,one.yaml": clitest.BrokenContract, "not.yaml": "a: [",
		"parts/openapi.yaml": strings.Replace(clitest.GoodContract, "'#/components/schemas/School'", "school.yaml", 1),
		"parts/school.yaml":  "type: object\nrequired: [name]\nproperties:\n  name: {type: strin}\n",
		"whole/openapi.yaml": strings.Replace(clitest.GoodContract, "'#/components/schemas/School'", "school.yaml", 1),
		"whole/school.yaml":  "type: object\n", "whole/.git/x.yaml": "x",
	})
	tests := []struct {
		name, input string
		args        []string
		code        int
		want        []string
	}{
		{"good", "", []string{at("good.yaml")}, 0, []string{"good.yaml: openapi 3.2.0, version 1.0.0: 0 errors"}},
		{"standard input", clitest.GoodContract, []string{"-"}, 0, []string{"stdin: openapi"}},
		{"broken", "", []string{at("good.yaml"), at("broken,one.yaml")}, 1, []string{"broken,one.yaml:7:5: error ", "good.yaml: openapi"}},
		{"warning", strings.Replace(clitest.GoodContract, "#/components/schemas/School'", "#/components/schemas/School'}, example: {a: 1}, examples: {b: {value: 1", 1), []string{"-", "--fail-on", "warning"}, 1, nil},
		{"github", "", []string{at("broken,one.yaml"), "--format", "github"}, 1, []string{"::error file=", "broken%2Cone.yaml,line=7,col=5,title="}},
		{"unreadable", "", []string{at("not.yaml")}, 1, []string{"not.yaml: cannot be read: 1 errors"}},
		{"folder", "", []string{at("parts")}, 1, []string{"parts/school.yaml:4: error "}},
		{"folder for github", "", []string{at("parts"), "--format", "github"}, 1, []string{"parts/school.yaml,line=4,title="}},
		{"whole folder", "", []string{at("whole")}, 0, []string{"whole: openapi"}},
		{"advice", "", []string{at("good.yaml"), "--advice"}, 1, []string{"score "}},
		{"no file", "", []string{at("none.yaml")}, 2, nil},
		{"no argument", "", nil, 2, nil},
		{"unknown format", "", []string{"-", "--format", "xml"}, 2, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := commandWith(t, tt.input, append([]string{"contract", "validate"}, tt.args...)...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q", want)
				}
			}
			if t.Failed() {
				t.Logf("out: %s\nerr: %s", out, errs)
			}
		})
	}
}

func TestContractValidateJSON(t *testing.T) {
	t.Parallel()
	code, out, _ := commandWith(t, clitest.BrokenContract, "contract", "validate", "-", "--format", "json")
	var answer struct{ Files []judgementAnswer }
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != 1 || len(answer.Files) != 1 {
		t.Fatalf("%d, %v: %s", code, err, out)
	}
	file := answer.Files[0]
	if file.Publishable || file.Kind != "openapi" || len(file.Findings) == 0 || file.Findings[0].Line == 0 || file.Findings[0].Remedy == "" {
		t.Errorf("answer %+v", file)
	}
}

func TestContractDiff(t *testing.T) {
	t.Parallel()
	at := clitest.WriteFiles(t, map[string]string{
		"old.yaml": clitest.GoodContract, "bad.yaml": "x",
		"new.yaml":  strings.Replace(clitest.GoodContract, "required: [name, town]", "required: [name]", 1),
		"more.yaml": strings.Replace(clitest.GoodContract, "paths:", "paths:\n  /towns: {get: {operationId: listTowns, responses: {\"200\": {description: Towns}}}}", 1),
	})
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"same", []string{at("old.yaml"), at("old.yaml")}, 0, "no changes"},
		{"breaking", []string{at("old.yaml"), at("new.yaml")}, 1, "suggested version 2.0.0"},
		{"line", []string{at("old.yaml"), at("new.yaml")}, 1, "new.yaml:13:"},
		{"never", []string{at("old.yaml"), at("new.yaml"), "--fail-on", "never"}, 0, "1 breaking"},
		{"github", []string{at("old.yaml"), at("new.yaml"), "--format", "github"}, 1, "::error file="},
		{"json", []string{at("old.yaml"), at("new.yaml"), "--format", "json"}, 1, `"level": "breaking"`},
		{"addition", []string{at("old.yaml"), at("more.yaml")}, 0, "0 breaking, 0 warnings, 1 other; suggested version 1.1.0"},
		{"removal", []string{at("more.yaml"), at("old.yaml")}, 1, "more.yaml:4:"},
		{"unreadable", []string{at("old.yaml"), at("bad.yaml")}, 2, ""},
		{"register without address", []string{at("old.yaml"), "schools@1.0.0"}, 2, ""},
		{"no file", []string{at("old.yaml"), at("none.yaml")}, 2, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := commandWith(t, "", append([]string{"contract", "diff"}, tt.args...)...)
			if code != tt.code || !strings.Contains(out, tt.want) {
				t.Errorf("exit code %d, want %d with %q\nout: %s\nerr: %s", code, tt.code, tt.want, out, errs)
			}
		})
	}
}

// Text of a document cannot begin a workflow command of its own.
func TestWorkflowCommand(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"::error file=a%3Ab%2C.yaml,line=1,col=2,title=x::100%25%0A::error::y": workflowCommand("error", "a:b,.yaml", 1, 2, "x", "100%\n::error::y"),
		"::notice file=a.zip,title=x::b.yaml, line 3: y":                       workflowCommand("info", "a.zip!b.yaml", 3, 0, "x", "y"),
		"::warning file=a,title=x::y":                                          workflowCommand("warning", "a", 0, 0, "x", "y"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPackFolderIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	files := map[string]string{"openapi.yaml": clitest.GoodContract, "b/part.json": "{}", "c.txt": "no document"}
	one, err := packFolder(clitest.WriteFiles(t, files)(""))
	two, err2 := packFolder(clitest.WriteFiles(t, files)(""))
	if err != nil || err2 != nil || !bytes.Equal(one, two) {
		t.Errorf("%v, %v: %d and %d bytes", err, err2, len(one), len(two))
	}
	if _, err := packFolder(t.TempDir()); err == nil {
		t.Error("an empty folder was packed")
	}
}

// execute runs a command as the program does.
func execute(ctx context.Context, args []string, streams cli.Streams) int {
	var grammar struct {
		Contract Commands `cmd:""`
	}
	return clitest.Execute(ctx, &grammar, args, streams)
}

// commandWith runs a command with standard input.
func commandWith(t *testing.T, input string, args ...string) (code int, out, problems string) {
	t.Helper()
	return clitest.Program(execute).Run(t, input, args...)
}
