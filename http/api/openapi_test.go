package api_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"svc/http/api"
	"svc/http/api/apitest"
	"svc/http/api/system"
	"svc/http/gateway"
)

var update = flag.Bool("update", false, "add what is new to testdata/openapi.released.yaml")

// operation is what the table and the document must agree on.
type operation struct {
	Method, Path string
	Permission   string
	Summary      string
	Parameters   []string // of the path
}

var variable = regexp.MustCompile(`\{(\w+)(?::[^{}]*(?:\{[^{}]*\}[^{}]*)*)?\}`)

// tableOperations are the operations that the table of routes stands for.
func tableOperations(routes []gateway.Route) []operation {
	var ops []operation
	for _, rt := range routes {
		op := operation{Method: rt.Method, Permission: rt.Permission.String(), Summary: rt.Summary, Parameters: []string{}}
		for _, match := range variable.FindAllStringSubmatch(rt.Path, -1) {
			op.Parameters = append(op.Parameters, match[1])
		}
		path := variable.ReplaceAllString(rt.Path, "{$1}")
		for _, prefix := range map[gateway.Surface][]string{
			gateway.Plain: {""}, gateway.Versioned: {"/v2"}, gateway.VersionedAndPlain: {"/v2", ""},
		}[rt.Surface] {
			op.Path = prefix + path
			ops = append(ops, op)
		}
	}
	return ops
}

// documentOperations are those that the document describes.
func documentOperations(t *testing.T) []operation {
	doc, err := apitest.Document()
	require.NoError(t, err)
	var ops []operation
	for path, item := range doc.Paths.Map() {
		for method, described := range item.Operations() {
			permission, _ := described.Extensions["x-permission"].(string)
			op := operation{Method: method, Path: path, Permission: permission, Summary: described.Summary, Parameters: []string{}}
			for _, p := range append(slices.Clone(item.Parameters), described.Parameters...) {
				if p.Value.In == "path" {
					op.Parameters = append(op.Parameters, p.Value.Name)
				}
			}
			ops = append(ops, op)
		}
	}
	return ops
}

func TestTheDocumentKeepsTheRulesOfOpenAPI(t *testing.T) {
	doc, err := apitest.Document()
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
}

// The routes of a host of their own are the same operations under another address, so the document has them once.
func TestTheDocumentAndTheTableAreOneAndTheSame(t *testing.T) {
	var routes, ofHosts []gateway.Route
	for _, rt := range api.Routes(api.Handlers{System: &system.Handlers{Metrics: http.NotFoundHandler()}}) {
		if rt.When == nil {
			routes = append(routes, rt)
		} else if rt.Method != gateway.AnyMethod { // which refuses the others
			rt.Path = "/pages/{workspaceSlug}" + rt.Path
			ofHosts = append(ofHosts, rt)
		}
	}
	described := documentOperations(t)
	require.ElementsMatch(t, tableOperations(routes), described)
	require.NotEmpty(t, ofHosts)
	require.Subset(t, described, tableOperations(ofHosts))
}

func TestEveryOperationSaysWhoItIs(t *testing.T) {
	doc, err := apitest.Document()
	require.NoError(t, err)
	ids := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			require.NotEmpty(t, op.OperationID, "%s %s", method, path)
			require.False(t, ids[op.OperationID], "%s is used twice", op.OperationID)
			ids[op.OperationID] = true
			require.Len(t, op.Tags, 1, "%s %s", method, path)
			require.NotNil(t, op.Security, "%s %s", method, path)
			require.NotNil(t, op.Responses.Status(500), "%s %s", method, path)
		}
	}
}

// A list is a list wherever it is: it has pages, and says how many there are in all.
func TestEveryListHasPages(t *testing.T) {
	doc, err := apitest.Document()
	require.NoError(t, err)
	for path, item := range doc.Paths.Map() {
		if item.Get == nil || item.Get.Responses.Status(200) == nil {
			continue
		}
		found := item.Get.Responses.Status(200).Value
		media := found.Content.Get("application/json")
		if media == nil || media.Schema == nil || !media.Schema.Value.Type.Is("array") {
			continue
		}
		for _, name := range []string{"page", "limit"} {
			require.NotNil(t, item.Get.Parameters.GetByInAndName("query", name), "%s has no %s", path, name)
		}
		for _, name := range []string{"x-total-count", "Link"} {
			require.Contains(t, found.Headers, name, path)
		}
	}
}

func TestBothFormsOfTheDocumentSayTheSame(t *testing.T) {
	h := open(t)
	var asYAML, asJSON any
	require.NoError(t, yaml.Unmarshal([]byte(h.do("GET", "/openapi.yaml").body), &asYAML))
	require.NoError(t, json.Unmarshal([]byte(h.do("GET", "/openapi.json").body), &asJSON))
	fromYAML, err := json.Marshal(asYAML)
	require.NoError(t, err)
	fromJSON, err := json.Marshal(asJSON)
	require.NoError(t, err)
	require.JSONEq(t, string(fromYAML), string(fromJSON))
}

// What was released stays: see apitest.Breaks. The baseline grows with -update,
// and never shrinks.
func TestReleasedDocumentStillHolds(t *testing.T) {
	const baseline = "testdata/openapi.released.yaml"
	released, err := os.ReadFile(baseline)
	require.NoError(t, err)
	breaks, err := apitest.Breaks(released, api.OpenAPI())
	require.NoError(t, err)
	require.Empty(t, breaks, "released is released: put it back, or put the change under a new version")
	if *update {
		require.NoError(t, os.WriteFile(baseline, api.OpenAPI(), 0o644))
	}
}

// A forgotten -update would leave what is new unguarded.
func TestReleasedDocumentIsUpToDate(t *testing.T) {
	released, err := os.ReadFile("testdata/openapi.released.yaml")
	require.NoError(t, err)
	missing, err := apitest.Breaks(api.OpenAPI(), released)
	require.NoError(t, err)
	require.Empty(t, missing, "run: go test ./http/api -run Released -update")
}
