package automation_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/domaintest"
	"svc/domain/value"
)

// fromYAML reads a document and keeps the order of its keys.
func fromYAML(t *testing.T, text string) any {
	t.Helper()
	return domaintest.ParseYAML(t, text)
}

// golden is a block of testdata/documents.txt.
type golden struct {
	title  string
	doc    any
	faults []string
}

func readGolden(t *testing.T) []golden {
	t.Helper()
	file, err := os.ReadFile("testdata/documents.txt")
	require.NoError(t, err)
	var all []golden
	for i, block := range strings.Split("\n"+string(file), "\n== ") {
		title, rest, _ := strings.Cut(block, "\n")
		text, faults, ok := strings.Cut(rest+"\n", "--\n")
		if i == 0 {
			continue
		}
		require.True(t, ok, title)
		if strings.HasPrefix(text, "- ") {
			text = "name: t\ndo:\n" + text
		}
		g := golden{title: title, doc: fromYAML(t, text)}
		for line := range strings.Lines(faults) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				g.faults = append(g.faults, line)
			}
		}
		all = append(all, g)
	}
	return all
}

func written(f automation.Fault) string {
	level := "error"
	switch {
	case f.Warning:
		level = "warning"
	case f.Code == domain.CodeInvalidRequest:
		level = "request"
	}
	return fmt.Sprintf("%s %s: %s", level, f.Field, f.Message)
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, g := range readGolden(t) {
		t.Run(g.title, func(t *testing.T) {
			t.Parallel()
			_, faults := automation.Parse(g.doc, automation.Rules{})
			left := []string{}
			for _, f := range faults {
				left = append(left, written(f))
			}
			for _, want := range g.faults {
				head, part, _ := strings.Cut(want, ": ")
				found := slices.IndexFunc(left, func(got string) bool {
					return strings.HasPrefix(got, head+": ") && strings.Contains(got, part)
				})
				require.GreaterOrEqual(t, found, 0, "missing %q of\n%s", want, strings.Join(left, "\n"))
				left = slices.Delete(left, found, found+1)
			}
			require.Empty(t, left)
		})
	}
}

func parsed(t *testing.T, text string) (*automation.Automation, []automation.Fault) {
	t.Helper()
	return automation.Parse(fromYAML(t, text), automation.Rules{})
}

func TestAFaultyInstructionRaisesItsOwnFault(t *testing.T) {
	t.Parallel()
	a, faults := parsed(t, `
name: t
do:
  - set: {name: a, value: '{% 1 + %}'}
  - {set: {name: b, value: 1}, delete: {name: c}}
  - repeat: {until: 2, do: [{fetch: {url: ''}}, {break:}]}
  - conditions: {'1 <': [], 'true': [{set: {name: 'x.', value: 1}}]}
  - emit: {event: a/b}
  - nope: {}
`)
	require.Len(t, faults, 7)
	require.Len(t, a.Do, 6)
	require.Equal(t, automation.InvalidExpression, a.Do[0].Fault.Name)
	require.Equal(t, 7, a.Do[0].Fault.Offset)
	require.Nil(t, a.Do[1].Fault, "of several keys the first counts")
	require.Equal(t, "set", a.Do[1].Name)
	require.Nil(t, a.Do[2].Fault, "what is inside raises its own")
	require.Equal(t, automation.InvalidInstruction, a.Do[2].Do[0].Fault.Name)
	require.Equal(t, "do[2].repeat.do[0].fetch", a.Do[2].Do[0].Path)
	require.Equal(t, automation.InvalidInstruction, a.Do[2].Do[1].Fault.Name)
	require.Nil(t, a.Do[3].Fault)
	require.Equal(t, automation.InvalidExpression, a.Do[3].Branches[0].Fault.Name)
	require.Equal(t, automation.InvalidVariable, a.Do[3].Branches[1].Do[0].Fault.Name)
	require.Equal(t, automation.InvalidEvent, a.Do[4].Fault.Name)
	require.Nil(t, a.Do[5].Fault)
	require.False(t, a.Do[5].Builtin)
}

func TestAnAutomationHoldsWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	a, faults := parsed(t, `
slug: s
name: {fr: N}
labels: [aa]
private: true
validateArguments: true
authorizations: {action: sell}
arguments: {p: {type: string}}
schemas: [{conditions: {method: post}, payload: {type: object}}]
when: {endpoint: 'u/:id/', events: [e], schedules: ['0 12 * * *']}
output: '{{r}}'
do:
  - child: {x: '{{y}}', output: 'r[{{k}}]'}
  - try: {do: [{comment: a}], catch: [{comment: b}], finally: [{comment: c}]}
  - conditions: {b: [], a: [], default: [{comment: d}]}
  - repeat: {on: '{{l}}', until: '{% {{i}} > 2 %}', do: []}
  - set: {name: 'a[]', value: 1}
`)
	require.Empty(t, faults)
	require.Equal(t, "s", a.Slug)
	require.Equal(t, []string{"aa"}, a.Labels)
	require.True(t, a.Private && a.ValidateArguments && !a.Disabled)
	require.Equal(t, "sell", a.Action)
	require.Equal(t, []string{"p"}, a.Arguments.Keys())
	require.Equal(t, []string{"method"}, a.Schemas[0].Conditions.Keys())
	require.Equal(t, "u/:id", a.When.Endpoint.String())
	require.Equal(t, "{{r}}", a.Output.Source())
	require.Equal(t, `{"x":"{{y}}"}`, value.JSON(a.Do[0].Params.Source(), ""), "output is not passed")
	require.Equal(t, "r[{{k}}]", a.Do[0].Output.String())
	require.Len(t, a.Do[1].Do, 1)
	require.Len(t, a.Do[1].Catch, 1)
	require.Len(t, a.Do[1].Finally, 1)
	require.Equal(t, "b", a.Do[2].Branches[0].Condition.String(), "in the order of the document")
	require.Len(t, a.Do[2].Default, 1)
	require.Equal(t, `{"on":"{{l}}"}`, value.JSON(a.Do[3].Params.Source(), ""))
	require.NotNil(t, a.Do[3].Until)
	require.True(t, a.Do[4].Target.Push)
	noon := time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)
	require.Equal(t, []automation.Firing{{Cron: "0 12 * * *", Next: []time.Time{noon.AddDate(0, 0, 1), noon.AddDate(0, 0, 2)}}},
		a.Firings(noon, time.UTC, 2))
	count := 0
	a.Walk(func(*automation.Instruction) { count++ })
	require.Equal(t, 9, count)
}

func TestEventsAreThoseWrittenOut(t *testing.T) {
	t.Parallel()
	a, faults := parsed(t, `
name: t
when: {events: [b, a.*, b]}
do:
  - emit: {event: z}
  - conditions: {'true': [{emit: {event: y, autocomplete: {k: 1}}}], default: [{emit: {event: '{{x}}'}}]}
  - try: {do: [{all: [{repeat: {until: 1, do: [{emit: {event: z, private: true}}]}}]}]}
  - emit: '{{whole}}'
`)
	require.Empty(t, faults)
	events := a.Events()
	require.Equal(t, []string{"z", "y"}, events.Emit)
	require.Equal(t, []string{"b", "a.*"}, events.Listen)
	require.Equal(t, []string{"z"}, events.Private)
	require.Equal(t, []automation.Autocomplete{{Event: "y", Autocomplete: value.NewObject("k", 1.0)}}, events.Autocomplete)
}

// nested returns a document whose deepest instruction is n deep.
func nested(n int, deepest any) any {
	do := []any{deepest}
	for range n - 1 {
		do = []any{value.NewObject("all", do)}
	}
	return value.NewObject("name", "t", "do", do)
}

func TestLimitsOfADocument(t *testing.T) {
	t.Parallel()
	leaf := value.NewObject("break", &value.Object{})
	_, faults := automation.Parse(nested(automation.MaxNesting, leaf), automation.Rules{})
	require.Empty(t, faults)
	_, faults = automation.Parse(nested(automation.MaxNesting+1, leaf), automation.Rules{})
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].Message, "nested more than 50 deep")
	_, faults = automation.Parse(nested(automation.MaxNesting, value.NewObject("try", value.NewObject("do", []any{}))), automation.Rules{})
	require.Empty(t, faults, "there is no instruction in it")
	big := value.NewObject("name", "t", "do", []any{value.NewObject("comment", strings.Repeat("x", automation.MaxSize))})
	a, faults := automation.Parse(big, automation.Rules{})
	require.Nil(t, a)
	require.Len(t, faults, 1)
	require.NotEmpty(t, automation.SlugProblem(strings.Repeat("a", 129), automation.Rules{}))
	require.Empty(t, automation.SlugProblem(strings.Repeat("a", 128), automation.Rules{}))
}

func TestRulesDecide(t *testing.T) {
	t.Parallel()
	doc := fromYAML(t, `
name: t
slug: a.b
when: {schedules: ['*/5 * * * *', '*/10 * * * *']}
do: [{wait: {timeout: 61}}]
`)
	_, faults := automation.Parse(doc, automation.Rules{
		Slug: regexp.MustCompile(`^[a-z.]+$`), MinPeriod: 10 * time.Minute, MaxWait: time.Minute,
	})
	require.Len(t, faults, 2)
	fields := []string{faults[0].Field, faults[1].Field}
	require.ElementsMatch(t, []string{"when.schedules[0]", "do[0].wait.timeout"}, fields)
	a, _ := automation.Parse(doc, automation.Rules{})
	require.Len(t, a.When.Schedules, 2)
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	param, err := automation.ParseEndpoint("u/:id")
	require.NoError(t, err)
	me, err := automation.ParseEndpoint("u/me")
	require.NoError(t, err)
	rest, err := automation.ParseEndpoint("*p")
	require.NoError(t, err)
	params, ok := param.Match("u/a%2Fb")
	require.True(t, ok)
	require.Equal(t, map[string]string{"id": "a/b"}, params)
	params, ok = rest.Match("u/a/b/")
	require.True(t, ok)
	require.Equal(t, map[string]string{"p": "u/a/b"}, params)
	for _, path := range []string{"u", "u/", "u/a/b", "U/a", "u//", "u/%zz"} {
		_, ok = param.Match(path)
		require.False(t, ok, path)
	}
	require.Negative(t, me.Compare(param))
	require.Positive(t, rest.Compare(param))
	other, err := automation.ParseEndpoint("u/:name")
	require.NoError(t, err)
	require.Zero(t, param.Compare(other))
	literal, err := automation.ParseEndpoint("a/message:stream")
	require.NoError(t, err)
	_, ok = literal.Match("a/message:stream")
	require.True(t, ok)
	a, _ := parsed(t, "{name: t, slug: 'a b', when: {endpoint: true}, do: []}")
	_, ok = a.When.Endpoint.Match("a%20b")
	require.True(t, ok)
	a, _ = parsed(t, "{name: t, slug: a, when: {endpoint: false}, do: []}")
	require.Nil(t, a.When.Endpoint)
}

func TestEventPatterns(t *testing.T) {
	t.Parallel()
	require.True(t, automation.MatchEvent("o.*", "o.a.b"))
	require.True(t, automation.MatchEvent("o", "o"))
	require.False(t, automation.MatchEvent("o.*", "o"))
	require.False(t, automation.MatchEvent("o.*", "o."))
	require.False(t, automation.MatchEvent("o.*", "ox.a"))
	require.False(t, automation.Triggering("runtime.automations.executed"))
	require.True(t, automation.Native("workspaces.pages.permissions.shared"))
	require.False(t, automation.Native("usage"))
}

func FuzzParse(f *testing.F) {
	f.Add(`{"name": "t", "do": [{"set": {"name": "a", "value": "{{b}}"}}, {"repeat": {"on": [], "do": [{"break": {}}]}}]}`)
	f.Add(`{"name": {"en": "t"}, "when": {"schedules": ["* * * * *"], "endpoint": "a/:b", "events": ["c.*"]}, "do": null}`)
	f.Add(`{"name": "t", "arguments": {"a": {"$ref": "#/x", "pattern": "("}}, "do": [{"conditions": {"1 <": []}}, 5, null]}`)
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := value.ParseJSON(text)
		if err != nil || len(text) > 5000 {
			return
		}
		a, faults := automation.Parse(doc, automation.Rules{})
		if a == nil {
			require.NotEmpty(t, faults)
			return
		}
		_ = a.Events()
	})
}

func TestParametersAreCheckedAsTheyAreWhenTheyRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		instruction string
		params      *value.Object
		raises      string // "" when nothing is wrong
		field       string
	}{
		"what is not evaluated is not asked for":  {"repeat", value.NewObject("on", []any{}), "", ""},
		"the value of a set may be nothing":       {"set", value.NewObject("type", "merge"), "", ""},
		"a set has no other types":                {"set", value.NewObject("type", "add"), automation.InvalidInstruction, "do[0].x.type"},
		"a batch has whole iterations":            {"repeat", value.NewObject("batch", value.NewObject("size", 1.5)), automation.InvalidInstruction, "do[0].x.batch.size"},
		"bytes are a body":                        {"fetch", value.NewObject("url", "http://h", "body", value.Bytes("x")), "", ""},
		"bytes are no address":                    {"fetch", value.NewObject("url", value.Bytes("http://h")), automation.InvalidInstruction, "do[0].x.url"},
		"an address may hold braces":              {"fetch", value.NewObject("url", "http://h/{{x}}"), "", ""},
		"an address is asked for":                 {"fetch", &value.Object{}, automation.InvalidInstruction, "do[0].x.url"},
		"null is as good as absent":               {"wait", value.NewObject("timeout", nil), "", ""},
		"the name of an event has its own error":  {"emit", value.NewObject("event", "a/b"), automation.InvalidEvent, "do[0].x.event"},
		"unknown parameters are ignored":          {"emit", value.NewObject("event", "a", "what", 1.0), "", ""},
		"unknown members are ignored":             {"fetch", value.NewObject("url", "http://h", "auth", value.NewObject("digest", 1.0)), "", ""},
		"a stream without an event is none":       {"fetch", value.NewObject("url", "http://h", "stream", value.NewObject("event", "", "options", 5.0)), "", ""},
		"a stream has the name of an event":       {"fetch", value.NewObject("url", "http://h", "stream", value.NewObject("event", "a/b")), automation.InvalidEvent, "do[0].x.stream.event"},
		"throw is what break is":                  {"run", value.NewObject("module", "crypto", "function", "md5", "onError", "throw"), "", ""},
		"an output is looked at by others":        {"emit", value.NewObject("event", "a", "output", 1.0), "", ""},
		"a module has its functions":              {"run", value.NewObject("module", "crypto", "function", "md5"), "", ""},
		"a module has no others":                  {"run", value.NewObject("module", "crypto", "function", "md6"), automation.ObjectNotFound, "do[0].x.function"},
		"there are no other modules":              {"run", value.NewObject("module", "cryptic", "function", "md5"), automation.ObjectNotFound, "do[0].x.module"},
		"what is no instruction is not looked at": {"child", value.NewObject("what", 1.0), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := automation.CheckParams("do[0].x", test.instruction, test.params)
			if test.raises == "" {
				require.Nil(t, err)
				return
			}
			require.NotNil(t, err)
			require.Equal(t, test.raises, err.Name)
			require.Equal(t, test.field, err.Details.At("field"))
		})
	}
}

// What an address is in the end is known when it is sent: one that is made by an
// expression, or of a secret, is no fault of the document, nor of the run before that.
func TestAddressesThatAreKnownLater(t *testing.T) {
	t.Parallel()
	tests := []struct {
		address     string
		saved, runs bool // whether it is taken then
	}{
		{"https://example.com/a?b=c", true, true},
		{"HTTP://example.com", true, true},
		{"{{config.url}}", true, false},
		{"{% {{config.url}} + '/a' %}", true, false},
		{"{{scheme}}://example.com", true, false},
		{"https://{{host}}/a", true, false},
		{"$secret:eyJzIjoid29ya3NwYWNlIiwibiI6ImsifQ.AAAAAAAAAAAAAAAAAAAAAA", true, true},
		{"https://$secret:eyJuIjoiayJ9.AAAAAAAAAAAAAAAAAAAAAA/a", true, true},
		{"https://example.com/$secret:eyJuIjoiayJ9.AAAAAAAAAAAAAAAAAAAAAA", true, true},
		{"", false, false},
		{"/a", false, false},
		{"example.com", false, false},
		{"ftp://example.com", false, false},
		{"https://", false, false},
		{"secret:k", false, false},
		{"{{ unclosed", false, false},
	}
	for _, test := range tests {
		params := value.NewObject("url", test.address)
		_, faults := automation.Parse(value.NewObject("slug", "t", "name", "t", "do", []any{value.NewObject("fetch", params)}), automation.Rules{})
		var told []string
		for _, f := range faults {
			told = append(told, f.String())
		}
		if test.saved {
			require.Empty(t, told, test.address)
		} else {
			require.Equal(t, []string{"do[0].fetch.url: expected an absolute http or https address"}, told, test.address)
		}
		err := automation.CheckParams("do[0].fetch", "fetch", params)
		require.Equal(t, test.runs, err == nil, "%s: %v", test.address, err)
	}
}

func TestTypedFieldsOfOtherDocuments(t *testing.T) {
	t.Parallel()
	wrong := []any{}
	for range 500 {
		wrong = append(wrong, 1.0)
	}
	field := value.NewObject("type", "string", "required", true, "anyOf", wrong)
	require.Len(t, automation.TypedFields(value.NewObject("a b", field), "config.schema", 100), 100, "enough is enough")
	faults := automation.TypedField(field, "schema", 0)
	require.Len(t, faults, 500)
	require.Equal(t, "schema.anyOf[0]: a schema is an object, not number", faults[0].String())
	require.Equal(t, `config.schema["a b"]: a typed field is an object, not string`, automation.TypedFields(value.NewObject("a b", "x"), "config.schema", 1)[0].String())
	require.Empty(t, automation.TypedFields(nil, "x", 1))
}

func TestWhatAWaitIsFor(t *testing.T) {
	t.Parallel()
	read := func(text string) (options []automation.Awaited, faults []string) {
		params, err := value.ParseJSON(text)
		require.NoError(t, err)
		for _, item := range automation.OneOf(params) {
			o, err := automation.ReadAwaited(item)
			if err != nil {
				faults = append(faults, err.Error())
				continue
			}
			options = append(options, o)
		}
		return options, faults
	}
	for _, text := range []string{`{}`, `{"oneOf":null}`, `{"oneOf":{"event":"e"}}`, `null`, `{"timeout":1}`} {
		options, faults := read(text)
		require.Empty(t, options, text)
		require.Empty(t, faults, text)
	}
	options, faults := read(`{"oneOf":[{"event":"a.*"},{"event":"b","filters":{},"cancelTriggers":true},{"event":"c","filters":{"payload.n":"2"},"cancelTriggers":"yes"},{"event":"d","filters":{"n":{"$nope":1}}},5]}`)
	require.Equal(t, []automation.Awaited{{Event: "a.*"}, {Event: "b", CancelsTriggers: true}}, options[:2])
	require.Equal(t, "c", options[2].Event)
	require.False(t, options[2].CancelsTriggers)
	event, err := value.ParseJSON(`{"payload":{"n":2}}`)
	require.NoError(t, err)
	fits, err := options[2].Matcher.Match(event)
	require.NoError(t, err)
	require.True(t, fits, "loosely")
	require.Equal(t, automation.Awaited{}, options[3], "what is none is for nothing")
	require.Len(t, faults, 1)
	require.Contains(t, faults[0], "$nope")
}

// What proves who sends a request is not told, and nothing of the request is changed.
func TestRequestsAreToldWithoutCredentials(t *testing.T) {
	t.Parallel()
	shown := automation.EffectOf("fetch").Redacted
	for given, told := range map[string]string{
		`{}`: `{}`,
		`{"url":"http://h/%7Ea?b=1","method":"post","body":{"authorization":"a"},"headers":{"X-A":"b"}}`:                `{"url":"http://h/%7Ea?b=1","method":"post","body":{"authorization":"a"},"headers":{"X-A":"b"}}`,
		`{"url":"http://u:pw@h/a","headers":{"Authorization":"Bearer x","COOKIE":["a"],"x-svc-api-key":"k","x-a":"b"}}`: `{"url":"http://u:xxxxx@h/a","headers":{"Authorization":"REDACTED","COOKIE":"REDACTED","x-svc-api-key":"REDACTED","x-a":"b"}}`,
		`{"url":":","headers":"x","auth":"x"}`: `{"url":":","headers":"x","auth":"x"}`,
		`{"auth":{"basic":{"user":"u","password":"p"},"awsv4":{"accessKeyId":"i","secretAccessKey":"s","region":"r"},"oauth2":{"tokenUrl":"http://a:b@t","clientId":"i","clientSecret":"s","scope":"c"},"svc":{"forwardWorkspaceAuth":true}}}`: `{"auth":{"basic":{"user":"u","password":"REDACTED"},"awsv4":{"accessKeyId":"i","secretAccessKey":"REDACTED","region":"r"},"oauth2":{"tokenUrl":"http://a:xxxxx@t","clientId":"i","clientSecret":"REDACTED","scope":"c"},"svc":{"forwardWorkspaceAuth":true}}}`,
		`{"auth":{"basic":5,"oauth2":{}}}`: `{"auth":{"basic":5,"oauth2":{}}}`,
	} {
		params, err := value.ParseJSON(given)
		require.NoError(t, err)
		require.Equal(t, told, value.JSON(shown(params.(*value.Object)), ""))
		require.Equal(t, given, value.JSON(params, ""))
	}
	require.Nil(t, shown(nil))
}

func TestAReplayComparesWhatAFetchSends(t *testing.T) {
	t.Parallel()
	sent := automation.EffectOf("fetch").Compared
	base := value.NewObject("url", "http://h/", "body", value.NewObject("a", 1.0))
	same := []*value.Object{
		value.NewObject("body", value.NewObject("a", 1.0), "url", "http://h/", "method", "GET"),
		value.NewObject("url", "http://h/", "body", value.NewObject("a", 1.0), "timeout", 5.0, "output", "r", "emitErrors", false, "outputMode", "base64"),
	}
	for _, o := range same {
		require.Equal(t, sent(base), sent(o))
	}
	seen := map[any]bool{sent(base): true}
	for _, o := range []*value.Object{
		nil, value.NewObject("url", "http://h/"), value.NewObject("url", "http://h/", "method", "post", "body", value.NewObject("a", 1.0)),
		value.NewObject("url", "http://h/", "body", value.NewObject("a", 2.0)), value.NewObject("url", "http://h/", "body", `{"a":1}`),
		value.NewObject("url", "http://h/", "headers", value.NewObject("a", "b")), value.NewObject("url", "http://h/", "query", value.NewObject("a", "b")),
		value.NewObject("url", "http://h/", "auth", value.NewObject("basic", value.NewObject("user", "me"))),
		value.NewObject("url", "http://h/", "svcApiKey", value.NewObject("name", "a")),
	} {
		require.False(t, seen[sent(o)], value.JSON(o, ""))
		seen[sent(o)] = true
	}
}

func TestTheGuideListsEveryInstruction(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/automations.md")
	require.NoError(t, err)
	for _, name := range automation.Instructions() {
		require.Regexp(t, "(?m)^\\|[^|]*`"+name+"`", string(guide), "docs/automations.md has no row for %s", name)
	}
}

// An automation is as large as its JSON, however much of that are escapes and digits.
func TestAnAutomationIsAsLargeAsItsJSON(t *testing.T) {
	t.Parallel()
	for name, item := range map[string]any{"control characters": "\x01\x01\x01\x01", "digits": -1.7976931348623157e+308, "objects": value.NewObject(), "truths": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(n int) *value.Object {
				return value.NewObject("name", "t", "do", []any{}, "output", slices.Repeat([]any{item}, n))
			}
			fit := automation.MaxSize/(len(value.JSON(item, ""))+1) - 100
			isTooLarge := func(n int) bool {
				_, faults := automation.Parse(of(n), automation.Rules{})
				return slices.ContainsFunc(faults, func(f automation.Fault) bool { return strings.Contains(f.Message, "at most 1048576 bytes") })
			}
			require.False(t, isTooLarge(fit))
			require.True(t, isTooLarge(fit+200))
		})
	}
}
