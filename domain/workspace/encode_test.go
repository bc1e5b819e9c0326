package workspace_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/automation"
	"svc/domain/catalog"
	"svc/domain/document"
	"svc/domain/workspace"
)

// anyEntry draws entries with members of all kinds, of which any may be absent.
func anyEntry() *rapid.Generator[workspace.Entry] {
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z]{1,8}(/[a-z])?`), rapid.String(), rapid.Just("<b>&\"\\\n\u2028\xff"))
	body := rapid.SampledFrom([]string{
		"", "{}", `{"a":[1,true,null,"é"],"b":{"c":"<x>"}}`, `{ "a" : 1 }`, `{"a":"\"quoted\"\u2028"}`, "{\"a\":\"\xff\"}", `"text"`, "null", "{", `{"a":tru}`,
	})
	maps := rapid.SampledFrom([]*document.Map{
		nil, document.MapOf(), document.MapOf(document.Pair{Key: "emit", Value: []any{"paid", "<b>"}}, document.Pair{Key: "n", Value: 1.5}),
		document.MapOf(document.Pair{Key: "listen", Value: []any{"order.*"}}), document.MapOf(document.Pair{Key: "é\"", Value: "\u2028\xff"}),
	})
	return rapid.Custom(func(t *rapid.T) workspace.Entry {
		e := workspace.Entry{
			Path: text.Draw(t, "path"), From: text.Draw(t, "from"), Hash: text.Draw(t, "hash"), Checksum: text.Draw(t, "checksum"),
			About: maps.Draw(t, "about"), Apart: rapid.Bool().Draw(t, "apart"), ID: text.Draw(t, "id"), Public: rapid.Bool().Draw(t, "public"),
			Frozen: text.Draw(t, "frozen"), Published: rapid.Bool().Draw(t, "published"), Endpoint: text.Draw(t, "endpoint"), App: text.Draw(t, "app"),
			Events: maps.Draw(t, "events"),
		}
		if b := body.Draw(t, "body"); b != "" || rapid.Bool().Draw(t, "empty") {
			e.Body = json.RawMessage(b)
		}
		if rapid.Bool().Draw(t, "reviewed") {
			e.Review = &automation.Review{Findings: []automation.Finding{{Field: "do", Message: text.Draw(t, "message")}}}
		}
		e.Sealed = rapid.SampledFrom([]map[string][]byte{nil, {}, {"b": {1}, "a": nil}}).Draw(t, "sealed")
		e.HiddenPaths = rapid.SampledFrom([]workspace.HiddenPaths{nil, {}, {{"config", "<k>"}, {}}}).Draw(t, "untold")
		return e
	})
}

func TestSavedDocumentsAreEncodedAndDecodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEntry().Draw(t, "entry")
		number := rapid.Int().Draw(t, "number")
		for _, ev := range []domain.Event{
			workspace.AutomationCreated{Entry: e}, workspace.PageUpdated{Entry: e}, workspace.Installed{Entry: e},
			workspace.AgentPublished{Number: number, Entry: e}, workspace.AgentUnpublished{Number: number, Entry: e},
		} {
			requireSameJSON(t, ev)
			requireSameJSON(t, ev.(domain.PayloadEvent).Payload())
		}
	})
}

// requireSameJSON requires that a value encodes itself as encoding/json encodes it.
func requireSameJSON(t require.TestingT, v any) {
	self, ok := v.(domain.SelfEncoder)
	if !ok {
		return
	}
	got, err := self.AppendJSON([]byte("before"))
	want, wantErr := json.Marshal(v)
	require.Equal(t, wantErr == nil, err == nil, "%v, %v", wantErr, err)
	if wantErr == nil {
		require.Equal(t, "before"+string(want), string(got))
	}
}

// An event that embeds another one has its methods, too, but more members than it.
func TestEveryEventThatEncodesItselfEncodesAllOfIt(t *testing.T) {
	t.Parallel()
	for name, fact := range catalog.Events() {
		empty, err := catalog.Events().Decode(name, []byte("{}"))
		require.NoError(t, err, fact.Name)
		requireSameJSON(t, empty)
		if withPayload, ok := empty.(domain.PayloadEvent); ok {
			requireSameJSON(t, withPayload.Payload())
		}
	}
}

func TestWrittenEntriesAreDecodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	member := rapid.Custom(func(t *rapid.T) string {
		key := rapid.SampledFrom([]string{
			"path", "from", "hash", "checksum", "body", "about", "apart", "review", "id", "public", "frozen", "published", "endpoint", "app", "events", "sealed",
			"untold", "Path", "later", `p\u0061th`,
		}).Draw(t, "key")
		value := rapid.SampledFrom([]string{
			`"automations/a"`, `"\"\n\u00e9\u2028"`, "\"\xff\"", `""`, "null", "true", "false", "0", "1e3", "{}", "[]", `{"a":{"b":[1]},"a":2}`, `{"a":"\u0041"}`,
			`{"findings":[{"field":"do"}]}`, `{"k":"AQ=="}`, `[["a","b"],[]]`, "tru", "{", `{"a":tru}`, ` { "a" : 1 } `,
		}).Draw(t, "value")
		return `"` + key + `":` + value
	})
	rapid.Check(t, func(t *rapid.T) {
		body := "{"
		for i, m := range rapid.SliceOfN(member, 0, 6).Draw(t, "members") {
			if i > 0 {
				body += ","
			}
			body += m
		}
		body += "}"
		requireSameEntry(t, body)
	})
	rapid.Check(t, func(t *rapid.T) {
		body, err := json.Marshal(anyEntry().Draw(t, "entry"))
		if err == nil {
			requireSameEntry(t, string(body))
		}
	})
}

// requireSameEntry requires that a stored event is decoded as encoding/json decodes it.
func requireSameEntry(t require.TestingT, body string) {
	var want workspace.AutomationUpdated
	wantErr := json.Unmarshal([]byte(body), &want)
	got, err := catalog.Events().Decode("workspaces.automations.updated", []byte(body))
	require.Equal(t, wantErr == nil, err == nil, "%s: %v, %v", body, wantErr, err)
	if wantErr == nil {
		require.True(t, reflect.DeepEqual(want, got), "%s: %+v, %+v", body, want, got)
	}
}

func TestItemsAreEncodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.Just("<b>&\"\\\n\u2028\xff"))
	item := rapid.Custom(func(t *rapid.T) workspace.Item {
		return workspace.Item{
			Hash: text.Draw(t, "hash"), Revision: rapid.Uint64().Draw(t, "revision"), ID: text.Draw(t, "id"), Public: rapid.Bool().Draw(t, "public"),
			Endpoint: text.Draw(t, "endpoint"), App: text.Draw(t, "app"), Sealed: rapid.SampledFrom([]map[string][]byte{nil, {}, {"b": {1}}}).Draw(t, "sealed"),
			HiddenPaths: rapid.SampledFrom([]workspace.HiddenPaths{nil, {}, {{"<k>"}}}).Draw(t, "untold"),
			Shares:      rapid.SampledFrom([][]access.Share{nil, {}, {{Target: access.Target{ID: "<s>"}}}}).Draw(t, "shares"), Frozen: text.Draw(t, "frozen"),
			Published: rapid.SampledFrom([]*workspace.Publication{nil, {}, {Number: 2, Hash: "h"}}).Draw(t, "published"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.MapOf(text, item).Draw(t, "items")
		want, err := json.Marshal(items)
		require.NoError(t, err)
		got, err := workspace.NewItems(items).MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}

func TestADocumentIsDescribedInJSONAsInValues(t *testing.T) {
	t.Parallel()
	bodies := []string{"", "null", `"text"`, "[]", "{", "{}"}
	for _, name := range []any{"Charge", "é\u00a0\u2028\x7f", "<b>&\"\\\n", 1.5, 1e300, nil, []any{true}} {
		member := document.MapOf(document.Pair{Key: "é", Value: name})
		body, err := document.JSON(document.MapOf(
			document.Pair{Key: "do", Value: []any{member}}, document.Pair{Key: "name", Value: name}, document.Pair{Key: "config", Value: member},
			document.Pair{Key: "blocks", Value: []any{member}}, document.Pair{Key: "cases", Value: 0.0}, document.Pair{Key: "when", Value: member},
		))
		require.NoError(t, err)
		bodies = append(bodies, string(body))
	}
	for _, folder := range []string{"automations", "pages", "imports", "tests", "agents", "knowledge"} {
		for _, body := range bodies {
			e := workspace.Entry{Path: folder + "/a", Body: json.RawMessage(body)}
			want, err := json.Marshal(e.Describe())
			require.NoError(t, err)
			got, err := e.DescribeJSON()
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), "%s: %s", folder, body)
		}
	}
}
