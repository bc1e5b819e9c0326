package lsp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pathText writes a path as do[].emit.
func pathText(path []step) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.item:
			b.WriteString("[]")
		case b.Len() > 0:
			b.WriteString("." + s.key)
		default:
			b.WriteString(s.key)
		}
	}
	return b.String()
}

func TestCursorIsFoundByIndentation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text     string // | is the cursor
		path     string
		key      bool
		value    bool
		typed    string
		siblings []string
	}{
		"an empty document":            {text: "|", key: true},
		"a key of the document":        {text: "slug: x\nna|me: y\ndo: []", key: true, typed: "na", siblings: []string{"slug", "do"}},
		"a value":                      {text: "slug: x|y", path: "slug", value: true, typed: "x"},
		"right after the colon":        {text: "slug:|", path: "slug", value: true},
		"an item of a list":            {text: "do:\n  - |", path: "do[]", key: true, value: true},
		"a list below its key":         {text: "do:\n- em|", path: "do[]", key: true, value: true, typed: "em"},
		"a parameter":                  {text: "do:\n  - emit:\n      |", path: "do[].emit", key: true},
		"after another parameter":      {text: "do:\n  - emit:\n      event: x\n      pay|\n  - set: {}", path: "do[].emit", key: true, typed: "pay", siblings: []string{"event"}},
		"a parameter above another":    {text: "do:\n  - emit:\n      |\n      event: x", path: "do[].emit", key: true, siblings: []string{"event"}},
		"another item":                 {text: "do:\n  - emit:\n      event: x\n  - |", path: "do[]", key: true, value: true},
		"a list in a list":             {text: "a:\n  - - x\n    - |", path: "a[][]", key: true, value: true},
		"a nested list":                {text: "do:\n- repeat:\n    do:\n    - set:\n        na|me: x", path: "do[].repeat.do[].set", key: true, typed: "na"},
		"a condition in quotes":        {text: "do:\n  - conditions:\n      '{{a}} == \"b: c\"':\n        - |", path: `do[].conditions.{{a}} == "b: c"[]`, key: true, value: true},
		"a comment between":            {text: "do:\n# note: x\n  - emit:\n#     event: y\n      |", path: "do[].emit", key: true},
		"flow style":                   {text: "do:\n  - emit: {event: a, payl|}", path: "do[].emit", key: true, typed: "payl", siblings: []string{"event"}},
		"a value in flow style":        {text: "do:\n  - emit: {event: \"a|b\", x: 1}", path: "do[].emit.event", value: true, typed: "a"},
		"a list in flow style":         {text: "when: {events: [a, b|]}", path: "when.events[]", value: true, typed: "b"},
		"a flow mapping in a list":     {text: "oneOf:\n  - {ev|}", path: "oneOf[]", key: true, typed: "ev"},
		"a text of several lines":      {text: "styles: |2\n  a:\n    b|", path: "styles", value: true, typed: "b"},
		"what looks like a key in it":  {text: "do:\n  - comment: >\n      a: b|", path: "do[].comment", value: true, typed: "a: b"},
		"a text in a list":             {text: "do:\n  - >\n    a: |", path: "do[]", value: true, typed: "a: "},
		"a value with other letters":   {text: "name: \"😀é|\"", path: "name", value: true, typed: "😀é"},
		"after an item that is a text": {text: "when:\n  events:\n    - a.b\n    - c|", path: "when.events[]", key: true, value: true, typed: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := strings.LastIndex(c.text, "|")
			got := findCursor(newText(c.text[:at]+c.text[at+1:]), at, false)
			require.Equal(t, c.path, pathText(got.path))
			require.Equal(t, c.key, got.canBeKey, "key")
			require.Equal(t, c.value, got.canBeValue, "value")
			require.Equal(t, c.typed, got.typed)
			require.ElementsMatch(t, c.siblings, got.siblings)
		})
	}
	text := "{\n  \"do\": [\n    {\"emit\": {\"event\": \"x\", \"pa\n"
	got := findCursor(newText(text), len(text)-1, true)
	require.Equal(t, "do[].emit", pathText(got.path))
	require.Equal(t, "pa", got.typed)
	require.Equal(t, []string{"event"}, got.siblings)
}

func TestNothingThatIsTypedBreaksTheServer(t *testing.T) {
	t.Parallel()
	sample := "# c\nslug: \"é😀\"\nwhen: {events: [a, 'b']}\ndo:\n- emit:\n    event: x\n    payload: {a: {b: [1, {c: \"d\"}]}}\n" +
		"- conditions:\n    '{{a}} == \"x\"':\n    - greet: {}\n  \t- x: |\n      text\n      {{secret.\n  - - -\n    ? y\n    : &a *b\r\noutput: >-\r\n  {{\n"
	s := &server{Options: Options{Log: t.Output()}, open: map[string]*openDocument{}, workspaces: map[string]*workspace{}, published: map[string]string{}}
	w := &workspace{dir: "/w", server: s, files: map[string]*inspected{}}
	doc := &openDocument{uri: "file:///w/automations/x.yml", in: w, path: "automations/x.yml"}
	s.open["/w/automations/x.yml"] = doc
	for offset := range sample {
		for _, body := range []string{sample, sample[:offset], sample[offset:]} {
			if doc.text.body != body {
				doc.text = newText(body)
				w.inspect()
			}
			at := placeParams{TextDocument: documentID{doc.uri}, Position: doc.text.position(min(offset, len(body)))}
			for _, ask := range []func(*server, placeParams) (any, error){
				func(s *server, p placeParams) (any, error) { return s.completion(t.Context(), p) },
				func(s *server, p placeParams) (any, error) { return s.hover(t.Context(), p) },
				func(s *server, p placeParams) (any, error) { return s.definition(t.Context(), p) },
				func(s *server, p placeParams) (any, error) { return s.references(t.Context(), p) },
			} {
				_, err := ask(s, at)
				require.NoError(t, err)
			}
			for _, found := range w.diagnostics() {
				for _, d := range found {
					require.LessOrEqual(t, doc.text.offset(d.Range.Start), doc.text.offset(d.Range.End))
				}
			}
		}
	}
}
