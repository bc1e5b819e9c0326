package yamltext_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/commands/yamltext"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/domaintest"
	"svc/domain/shape"
)

const page = "\ufeff# a page\r\n" + `name: Home
base: &base
  size: 1
  deep: {a.b: 1}
blocks:
  - slug: Header
    "odd key.x": [1, {"é": 2, last: 3}]
  - <<: *base
    slug: Form
    url:
      - a
  - *base
  -
    <<: [{first: 1, size: 2}, *base]
conditions:
  source.serviceTopic: {$regex: x}
  'say "hi"\': 1
`

func TestFieldsAreFoundInYAML(t *testing.T) {
	t.Parallel()
	source, err := yamltext.Locate([]byte(page), document.FileLimits)
	require.NoError(t, err)
	for field, want := range map[string]yamltext.Position{
		"":                                      {2, 1},
		"name":                                  {2, 1},
		"missing":                               {2, 1},
		"blocks":                                {6, 1},
		"blocks[0]":                             {7, 5},
		"blocks[0].slug":                        {7, 5},
		"blocks[0].slug.more":                   {7, 5},
		"blocks[0].missing.more":                {7, 5},
		`blocks[0]["odd key.x"]`:                {8, 5},
		`blocks[0]["odd key.x"][1]`:             {8, 22},
		`blocks[0]["odd key.x"][1].é`:           {8, 23},
		`blocks[0]["odd key.x"][1].last`:        {8, 31},
		`blocks[0]["odd key.x"][7].last`:        {8, 5},
		"blocks[1].url[0]":                      {12, 9},
		"blocks[1].url.x":                       {11, 5},
		"blocks[1].size":                        {4, 3},
		`blocks[1].deep["a.b"]`:                 {5, 10},
		"blocks[1].deep.a.b":                    {5, 10},
		"blocks[2]":                             {13, 5},
		"blocks[2].size":                        {4, 3},
		"blocks[3].first":                       {15, 11},
		"blocks[3].size":                        {15, 21},
		"blocks[3].deep":                        {5, 3},
		"blocks[9]":                             {6, 1},
		"blocks.slug":                           {6, 1},
		"name[0]":                               {2, 1},
		"conditions.source.serviceTopic.$regex": {17, 25},
		`conditions["source.serviceTopic"]`:     {17, 3},
		`conditions["say \"hi\"\\"]`:            {18, 3},
		`conditions["say \"hi`:                  {16, 1},
		`conditions["say \"hi\"\\"`:             {16, 1},
		`conditions["\x"]`:                      {16, 1},
		"conditions[-1]":                        {16, 1},
		"conditions[x]":                         {16, 1},
		"conditions[":                           {16, 1},
		"blocks[99999999999999999999]":          {6, 1},
		"..[":                                   {2, 1},
	} {
		require.Equal(t, want, source.Position(field), field)
	}
}

func TestFieldsAreFoundInJSON(t *testing.T) {
	t.Parallel()
	const text = "{\"é\": 1, \"name\": \"x\",\n  \"blocks\": [\n    {\"slug\" : \"Header\"}, [[], {\"\\ud83d\\ude00\": {\"a\": null}}],\r\n true, {}\n  ]\n}\n"
	source, err := yamltext.Locate([]byte(text), document.FileLimits)
	require.NoError(t, err)
	for field, want := range map[string]yamltext.Position{
		"": {1, 1}, "é": {1, 2}, "name": {1, 10}, "none": {1, 1}, "blocks": {2, 3}, "blocks[0]": {3, 5}, "blocks[0].slug": {3, 6},
		"blocks[1]": {3, 26}, "blocks[1][0]": {3, 27}, `blocks[1][1]["😀"].a`: {3, 49}, "blocks[2]": {4, 2}, "blocks[3].x": {4, 8}, "blocks[4]": {2, 3},
	} {
		require.Equal(t, want, source.Position(field), field)
	}
}

// The faults of both parsers are found by the paths that they tell.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	const text = "name: A\nwhen:\n  schedules:\n    - nonsense\ndo:\n  - conditions:\n      '{{a}} > 1':\n        - fetch:\n            url: 7\n"
	doc, err := yamltext.ReadMap([]byte(text), document.FileLimits)
	require.NoError(t, err)
	source, err := yamltext.Locate([]byte(text), document.FileLimits)
	require.NoError(t, err)
	_, faults := automation.Parse(doc, automation.Rules{})
	places := map[string]yamltext.Position{}
	for _, f := range faults {
		places[f.Field] = source.Position(f.Field)
	}
	require.Equal(t, map[string]yamltext.Position{
		"when.schedules[0]": {4, 7}, `do[0].conditions["{{a}} > 1"][0].fetch.url`: {9, 13},
	}, places)

	const index = "name: A\nconfig:\n  schema:\n    a b:\n      type: text\nblocks:\n  P: {css: 1}\n"
	doc, err = yamltext.ReadMap([]byte(index), document.FileLimits)
	require.NoError(t, err)
	source, err = yamltext.Locate([]byte(index), document.FileLimits)
	require.NoError(t, err)
	lines := []int{}
	for _, f := range shape.Check(document.Index, doc) {
		lines = append(lines, source.Position(f.Field).Line)
	}
	require.Equal(t, []int{5, 7}, lines)
}

func TestATextThatCannotBeReadHasNoPlaces(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a: 1\na: 2\n", "{\"a\":1,\"a\":2}", "a: [", "\xff", "a: &x\n  b: *x\n", "a: 1\n---\nb: 1\n"} {
		_, err := yamltext.Locate([]byte(text), document.FileLimits)
		_, fault := errors.AsType[*document.Fault](err)
		require.True(t, fault, text)
	}
	for _, text := range []string{"", "# nothing\n", "---\n"} {
		source, err := yamltext.Locate([]byte(text), document.FileLimits)
		require.NoError(t, err)
		require.Equal(t, 1, source.Position("a").Column, text)
	}
}

// Every value of a document is found where it was written: reading on from there
// gives its key.
func TestEveryKeyIsFoundInBothForms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := document.MapOf()
		paths := map[string]string{}
		for _, key := range rapid.SliceOfNDistinct(rapid.StringN(1, 12, -1), 1, 6, rapid.ID).Draw(t, "keys") {
			inner := rapid.StringN(1, 8, -1).Draw(t, "inner")
			doc.Set(key, []any{"x", document.MapOf(document.Pair{Key: inner, Value: "v"})})
			paths[shape.Path(key, 1, inner)] = inner
		}
		yaml, err := document.YAML(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(yaml), indented(t, doc)} {
			found(t, text, paths)
		}
	})
}

// indented is a document as JSON on many lines.
func indented(t *rapid.T, doc *document.Map) string {
	text, err := document.JSON(doc)
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	return lines.String()
}

func found(t *rapid.T, text string, paths map[string]string) {
	source, err := yamltext.Locate([]byte(text), document.FileLimits)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	lines := strings.Split(text, "\n")
	for path, key := range paths {
		place := source.Position(path)
		written := string([]rune(lines[place.Line-1])[place.Column-1:])
		v, err := yamltext.Read([]byte(written[:strings.LastIndex(written, ":")]), document.FileLimits)
		if _, isKey := v.(string); err != nil || isKey && v != key {
			t.Fatalf("%s of %q was found at %v: %s", path, text, place, written)
		}
	}
}

// Places are found soon in what fits into a file, whatever its keys are.
func TestPlacesAreFoundInTime(t *testing.T) {
	t.Parallel()
	long := "? " + strings.Repeat("k", 500_000) + "\n: " + "[" + strings.Repeat("{a: 1},", 30_000) + "]\n"
	wide := "a: &a {" + strings.Repeat("b: 1, ", 1) + "c: 2}\nl:\n" + strings.Repeat("- {<<: *a, d: 1}\n", 10_000)
	effort := domaintest.MeasureEffort(t, func() {
		for _, text := range []string{long, wide} {
			source, err := yamltext.Locate([]byte(text), document.FileLimits)
			require.NoError(t, err)
			for i := range 100 {
				source.Position(fmt.Sprintf("l[%d].c", 100*i))
			}
			source.Position(shape.Path(strings.Repeat("k", 500_000), 7, "a"))
		}
	})
	require.Less(t, effort, 10*time.Second)
}
