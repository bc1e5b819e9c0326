package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const module = "svc/"

// mayImport is the map of the layers: a top-level folder on the left may import
// those on the right, and itself. No other top-level folder holds Go code.
var mayImport = map[string]string{
	"domain":      "",
	"eventstore":  "domain",
	"projections": "domain eventstore",
	"commands":    "domain eventstore",
	"streams":     "domain eventstore projections commands",
	"http":        "domain projections commands streams",
	"cmd":         "domain eventstore projections commands streams http",
}

// mayNotImport lists what a room must not know besides: packages of ours and of
// others, with everything below them.
var mayNotImport = map[string]string{
	"domain": "net os io/ioutil syscall path/filepath plugin runtime log database math/rand crypto/rand " +
		"testing",
	"eventstore": "net/http github.com/gorilla/mux github.com/dgraph-io/badger github.com/spf13/cobra",
	"projections": "net/http github.com/gorilla/mux github.com/nats-io github.com/spf13/cobra " +
		"svc/eventstore/jetstream",
	"commands": "net/http github.com/gorilla/mux github.com/nats-io github.com/dgraph-io/badger github.com/spf13/cobra " +
		"svc/eventstore/jetstream",
	"streams": "github.com/gorilla/mux github.com/spf13/cobra svc/eventstore/jetstream",
	"http":    "github.com/nats-io github.com/dgraph-io/badger github.com/go-git github.com/spf13/cobra",
}

// pure are the exceptions below the roots that mayNotImport names: they compute
// and touch nothing.
var pure = []string{"net/url", "net/netip"}

// doors are the packages through which alone something of the outside enters a
// room: all other packages of the room ask them.
var doors = map[string]string{
	"commands/egress":        "net/http", // the one way out for HTTP
	"commands/fetch":         "net/http", // automations send requests, through egress
	"commands/gitsync":       "net/http", // Git speaks HTTP, through egress
	"commands/llm":           "net/http", // providers of language models speak HTTP, through egress
	"commands/llm/fakemodel": "net/http", // the model server for tests and demonstrations
	"commands/mcp":           "net/http", // MCP servers of agents speak HTTP, through egress
}

// domainLibraries are the small pure libraries that domain may use. A new one
// is a line here, on purpose, and one in .golangci.yml.
var domainLibraries = []string{"golang.org/x/text/unicode/norm"}

// clockCalls are what domain must not call: time arrives as a field of the
// command.
var clockCalls = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// testSupport are packages that exist for tests. They may import whatever the
// tests of their room may, and nothing that ships imports them.
var testSupport = []string{"apitest", "crashfs", "domaintest", "gittest", "livetest", "nodetest", "storetest"}

// noFolders are names that say nothing about what is inside.
var noFolders = []string{"internal", "pkg", "utils", "util", "common", "models", "helpers", "misc"}

func TestProjectFollowsTheRules(t *testing.T) {
	sources := readSources(t, "../..")
	require.Greater(t, len(sources), 50, "the sources were not found")
	require.Empty(t, violations(sources))
}

// readSources returns every Go file of the module by its path from root, files
// behind build tags included.
func readSources(t *testing.T, root string) map[string]string {
	t.Helper()
	sources := map[string]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && skipped(name, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(file)
		sources[filepath.ToSlash(name)] = string(text)
		return err
	})
	require.NoError(t, err)
	return sources
}

// skipped reports whether a folder holds none of our packages. tools is a
// module of its own.
func skipped(name, base string) bool {
	return strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" ||
		name == "bin" || name == "data" || name == "tools"
}

// violations lists everything in sources, file texts by path, that breaks a
// rule of the project. It is a pure function, so that the rules have tests of
// their own.
func violations(sources map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f, err := parseSource(name, sources[name])
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		for _, rule := range []func(*source) []string{checkPlacement, inits, checkImports, purity} {
			all = append(all, rule(f)...)
		}
	}
	return all
}

// source is one parsed Go file.
type source struct {
	name string // path from the root of the module
	room string // its top-level folder
	test bool   // whether it is part of a test
	set  *token.FileSet
	file *ast.File
}

func parseSource(name, text string) (*source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("%s does not parse: %w", name, err)
	}
	room, _, _ := strings.Cut(name, "/")
	support := slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool {
		return slices.Contains(testSupport, dir)
	})
	return &source{
		name: name, room: room, test: support || strings.HasSuffix(name, "_test.go"),
		set: set, file: file,
	}, nil
}

func (s *source) violation(pos token.Pos, format string, args ...any) []string {
	return []string{fmt.Sprintf("%s:%d: ", s.name, s.set.Position(pos).Line) + fmt.Sprintf(format, args...)}
}

// checkPlacement checks that a file is where files may be.
func checkPlacement(s *source) (all []string) {
	if _, known := mayImport[s.room]; !known {
		all = append(all, s.violation(s.file.Package, "there is no room called %s", s.room)...)
	}
	if path.Dir(s.name) == "http" {
		all = append(all, s.violation(s.file.Package, "http holds sub-packages only, so that http means net/http")...)
	}
	for dir := range strings.SplitSeq(path.Dir(s.name), "/") {
		if slices.Contains(noFolders, dir) {
			all = append(all, s.violation(s.file.Package, "a folder called %s says nothing", dir)...)
		}
	}
	return all
}

// inits checks that nothing runs before main. Tests are no exception.
func inits(s *source) (all []string) {
	for _, decl := range s.file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			all = append(all, s.violation(fn.Pos(), "no init functions: tables are explicit")...)
		}
	}
	return all
}

// checkImports checks that arrows point inward. Tests may reach further.
func checkImports(s *source) (all []string) {
	if s.test {
		return nil
	}
	for _, spec := range s.file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			all = append(all, s.violation(spec.Pos(), "import %s: %v", spec.Path.Value, err)...)
			continue
		}
		if why := forbiddenImport(s.room, imported); why != "" && !within(imported)(doors[path.Dir(s.name)]) {
			all = append(all, s.violation(spec.Pos(), "%s must not import %s: %s", s.room, imported, why)...)
		}
	}
	return all
}

// forbiddenImport returns why a room must not import a package, or "".
func forbiddenImport(room, imported string) string {
	if inside, ours := strings.CutPrefix(imported, module); ours {
		to, _, _ := strings.Cut(inside, "/")
		if to != room && !slices.Contains(strings.Fields(mayImport[room]), to) {
			return "arrows point inward"
		}
		if slices.Contains(testSupport, path.Base(imported)) {
			return "it exists for tests"
		}
	}
	if slices.ContainsFunc(strings.Fields(mayNotImport[room]), within(imported)) && !slices.Contains(pure, imported) {
		return "not in this room"
	}
	if room == "domain" && isThirdParty(imported) && !slices.ContainsFunc(domainLibraries, within(imported)) {
		return "the standard library and small pure libraries only"
	}
	return ""
}

// within returns a test of whether a package is at or below a root.
func within(imported string) func(root string) bool {
	return func(root string) bool { return imported == root || strings.HasPrefix(imported, root+"/") }
}

func isThirdParty(imported string) bool {
	host, _, _ := strings.Cut(imported, "/")
	return strings.Contains(host, ".")
}

// purity checks that the rules read no clock. That they draw no random number
// and touch nothing is checked by their imports.
func purity(s *source) (all []string) {
	if s.room != "domain" || s.test {
		return nil
	}
	clock := importedAs(s.file, "time")
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == clock && slices.Contains(clockCalls, sel.Sel.Name) {
				all = append(all, s.violation(sel.Pos(), "domain reads no clock: time.%s arrives as a field of the command", sel.Sel.Name)...)
			}
		}
		return true
	})
	return all
}

// importedAs returns the name under which a file knows a package; "" when it
// does not.
func importedAs(file *ast.File, imported string) string {
	for _, spec := range file.Imports {
		if spec.Path.Value == strconv.Quote(imported) {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return path.Base(imported)
		}
	}
	return ""
}

func TestABrokenRuleIsFound(t *testing.T) {
	const library = "github.com/nats-io/nats.go"
	tests := map[string]struct{ file, text, want string }{
		"domain imports another room":       {"domain/lock/lock.go", importing("svc/commands"), "domain must not import svc/commands"},
		"domain imports a driver":           {"domain/lock/lock.go", importing(library), "domain must not import " + library},
		"domain opens a socket":             {"domain/lock/lock.go", importing("net/http"), "domain must not import net/http"},
		"domain touches the disk":           {"domain/lock/lock.go", importing("os"), "domain must not import os"},
		"domain draws random numbers":       {"domain/lock/lock.go", importing("math/rand/v2"), "domain must not import math/rand/v2"},
		"domain reads the clock":            {"domain/lock/lock.go", "package x\n\nimport \"time\"\n\nvar t = time.Now()\n", "domain reads no clock: time.Now"},
		"domain hides the clock":            {"domain/lock/lock.go", "package x\n\nimport c \"time\"\n\nvar f = c.Since\n", "domain reads no clock: time.Since"},
		"eventstore imports Badger":         {"eventstore/x.go", importing("github.com/dgraph-io/badger/v4"), "eventstore must not import"},
		"eventstore looks up":               {"eventstore/x.go", importing("svc/projections"), "arrows point inward"},
		"projections import NATS":           {"projections/x.go", importing(library), "projections must not import"},
		"projections choose the driver":     {"projections/x.go", importing("svc/eventstore/jetstream"), "not in this room"},
		"projections import commands":       {"projections/x.go", importing("svc/commands"), "arrows point inward"},
		"commands import projections":       {"commands/x.go", importing("svc/projections"), "arrows point inward"},
		"commands import NATS":              {"commands/x.go", importing(library), "not in this room"},
		"commands import Badger":            {"commands/deep/er/x.go", importing("github.com/dgraph-io/badger/v4"), "not in this room"},
		"commands speak HTTP":               {"commands/x.go", importing("net/http"), "not in this room"},
		"streams import http":               {"streams/x.go", importing("svc/http/api"), "arrows point inward"},
		"http imports the store":            {"http/api/x.go", importing("svc/eventstore"), "arrows point inward"},
		"http imports go-git":               {"http/api/x.go", importing("github.com/go-git/go-git/v5"), "not in this room"},
		"something imports cmd":             {"streams/x.go", importing("svc/cmd/settings"), "arrows point inward"},
		"a rule behind a build tag":         {"commands/x.go", "//go:build windows\n\n" + importing("svc/http/api"), "arrows point inward"},
		"what ships imports test support":   {"cmd/svc/x.go", importing("svc/eventstore/storetest"), "it exists for tests"},
		"http has a file of its own":        {"http/x.go", "package http\n", "http holds sub-packages only"},
		"a folder that says nothing":        {"http/api/utils/x.go", "package utils\n", "a folder called utils"},
		"a new top-level folder":            {"services/x.go", "package services\n", "no room called services"},
		"an init function":                  {"cmd/svc/x.go", "package main\n\nfunc init() {}\n", "no init functions"},
		"an init function in a test":        {"cmd/svc/x_test.go", "package main\n\nfunc init() {}\n", "no init functions"},
		"a file that does not parse":        {"commands/x.go", "package", "does not parse"},
		"domain takes a library for itself": {"domain/x.go", importing("go.yaml.in/yaml/v3"), "small pure libraries only"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found := violations(map[string]string{tt.file: tt.text})
			require.Len(t, found, 1)
			require.Contains(t, found[0], tt.file+":", "the place is named")
			require.Contains(t, found[0], tt.want)
		})
	}
}

func TestWhatIsAllowedIsNotReported(t *testing.T) {
	require.Empty(t, violations(map[string]string{
		"cmd/svc/main.go":                   importing("svc/http/api"),
		"http/api/locks.go":                 importing("svc/commands"),
		"http/gateway/gateway.go":           importing("net/http"),
		"streams/feed.go":                   importing("svc/projections"),
		"projections/db.go":                 importing("github.com/dgraph-io/badger/v4"),
		"eventstore/jetstream/gate.go":      importing("github.com/nats-io/nats.go"),
		"eventstore/store.go":               importing("svc/domain"),
		"domain/lock/lock.go":               "package lock\n\nimport \"time\"\n\ntype t struct{ at time.Time }\n\nfunc (s t) init() {}\n",
		"domain/access/url.go":              importing("net/url"),
		"commands/execute_test.go":          importing("svc/eventstore/jetstream"),
		"commands/egress/egress.go":         importing("net/http"),
		"domain/domaintest/scenario.go":     importing("testing"),
		"eventstore/storetest/storetest.go": importing("github.com/stretchr/testify/require"),
	}))
}

// importing is a file with one import.
func importing(imported string) string {
	return "package x\n\nimport _ " + strconv.Quote(imported) + "\n"
}

// The deployment files keep the probe values of the specification: a readiness
// probe waits at least 3 s and allows 2 to 3 failures.
func TestDeploymentFilesKeepTheProbeValues(t *testing.T) {
	documents := map[string][]map[string]any{}
	for _, name := range []string{"docker-compose.yml", "compose.cluster.yml", "kubernetes.yaml"} {
		text, err := os.ReadFile("../../deploy/" + name)
		require.NoError(t, err)
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			var parsed map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(doc), &parsed), name)
			documents[name] = append(documents[name], parsed)
		}
	}
	for _, name := range []string{"docker-compose.yml", "compose.cluster.yml"} {
		for service, value := range documents[name][0]["services"].(map[string]any) {
			if !strings.HasPrefix(service, "svc") {
				continue
			}
			check := value.(map[string]any)["healthcheck"].(map[string]any)
			require.Equal(t, []any{"CMD", "/svc", "healthcheck"}, check["test"], service)
			require.Contains(t, []any{"3s", "5s"}, check["timeout"], service)
			require.Contains(t, []any{2, 3}, check["retries"], service)
		}
	}
	set := documents["kubernetes.yaml"][1]
	pod := at(set, "spec", "template", "spec").(map[string]any)
	require.Greater(t, pod["terminationGracePeriodSeconds"], 40, "SHUTDOWN_GRACE_SECONDS and closing")
	container := pod["containers"].([]any)[0].(map[string]any)
	ready := container["readinessProbe"].(map[string]any)
	require.Equal(t, "/readyz", at(ready, "httpGet", "path"))
	require.GreaterOrEqual(t, ready["timeoutSeconds"], 3)
	require.Contains(t, []any{2, 3}, ready["failureThreshold"])
	require.Equal(t, "/healthz", at(container["livenessProbe"].(map[string]any), "httpGet", "path"))

	require.Regexp(t, `^[^:]+/[^:]+(:v?\d+\.\d+\.\d+|@sha256:[0-9a-f]{64})$`, container["image"], "a version, not latest")
	require.Equal(t, "IfNotPresent", container["imagePullPolicy"])
	require.Contains(t, container["env"], map[string]any{"name": "ADDR", "value": "0.0.0.0"})
	require.NotContains(t, container["env"], map[string]any{"name": "METRICS_PUBLIC", "value": "yes"}, "the port is the API's")
	require.NotEmpty(t, at(container, "resources", "limits", "memory"))
	require.NotContains(t, at(set, "spec", "template", "metadata"), "annotations", "nothing is scraped without the key")
	image, err := os.ReadFile("../../deploy/Dockerfile")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^ENV .*\bADDR=0\.0\.0\.0\b`, string(image))
}

// at walks into nested maps.
func at(m map[string]any, path ...string) any {
	var value any = m
	for _, name := range path {
		value = value.(map[string]any)[name]
	}
	return value
}
