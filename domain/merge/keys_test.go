package merge_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/document"
	"svc/domain/merge"
)

func parse(t require.TestingT, text string) *document.Map {
	v, err := document.ReadJSON([]byte(text), document.FileLimits)
	require.NoError(t, err)
	m, ok := v.(*document.Map)
	require.True(t, ok)
	return m
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base, ours, theirs, merged string
		conflicts                  [][]string
	}{
		"a key of each side":                        {`{"a":1,"b":1}`, `{"a":2,"b":1}`, `{"a":1,"b":2}`, `{"a":2,"b":2}`, nil},
		"the same of both":                          {`{"a":1}`, `{"a":2}`, `{"a":2}`, `{"a":2}`, nil},
		"new keys of ours before those of theirs":   {`{"a":1}`, `{"a":1,"x":1}`, `{"a":1,"y":1}`, `{"a":1,"x":1,"y":1}`, nil},
		"also when theirs are further up":           {`{"a":1,"b":1}`, `{"a":1,"b":1,"x":1}`, `{"a":1,"y":1,"b":1}`, `{"a":1,"b":1,"x":1,"y":1}`, nil},
		"new keys stay before the one they precede": {`{"a":1,"default":1}`, `{"a":1,"b":1,"default":1}`, `{"a":1,"c":1,"default":1}`, `{"a":1,"b":1,"c":1,"default":1}`, nil},
		"new keys at the front":                     {`{"a":1}`, `{"x":1,"a":1}`, `{"y":1,"a":1}`, `{"x":1,"y":1,"a":1}`, nil},
		"the same new key":                          {`{}`, `{"x":1,"a":1}`, `{"y":1,"a":1}`, `{"x":1,"y":1,"a":1}`, nil},
		"a key removed by one side":                 {`{"a":1,"b":1}`, `{"b":1}`, `{"a":1,"b":2}`, `{"b":2}`, nil},
		"a key removed by the other":                {`{"a":1,"b":1}`, `{"a":1,"b":2}`, `{"b":1}`, `{"b":2}`, nil},
		"a key removed by both":                     {`{"a":1,"b":1}`, `{"b":2}`, `{"b":1}`, `{"b":2}`, nil},
		"removed and changed":                       {`{"a":1}`, `{}`, `{"a":2}`, `{}`, [][]string{{"a"}}},
		"changed and removed":                       {`{"a":1}`, `{"a":2}`, `{}`, `{"a":2}`, [][]string{{"a"}}},
		"a scalar changed twice":                    {`{"c":{"v":{"t":5}}}`, `{"c":{"v":{"t":8}}}`, `{"c":{"v":{"t":9}}}`, `{"c":{"v":{"t":8}}}`, [][]string{{"c", "v", "t"}}},
		"lists are whole":                           {`{"do":["a"]}`, `{"do":["b","a"]}`, `{"do":["a","c"]}`, `{"do":["b","a"]}`, [][]string{{"do"}}},
		"a mapping beside a scalar":                 {`{"a":1}`, `{"a":{"b":1}}`, `{"a":2}`, `{"a":{"b":1}}`, [][]string{{"a"}}},
		"mappings that were a scalar":               {`{"a":1}`, `{"a":{"b":1}}`, `{"a":{"c":1}}`, `{"a":{"b":1,"c":1}}`, nil},
		"every conflict is told":                    {`{"a":1,"b":1,"c":1}`, `{"a":2,"b":2,"c":1}`, `{"a":3,"b":3,"c":3}`, `{"a":2,"b":2,"c":3}`, [][]string{{"a"}, {"b"}}},
		"null is a value":                           {`{"a":1}`, `{"a":null}`, `{}`, `{"a":null}`, [][]string{{"a"}}},
		"labels are a set":                          {`{"labels":["a","b"]}`, `{"labels":["a","c"]}`, `{"labels":["a","b","d"]}`, `{"labels":["a","c","d"]}`, nil},
		"labels from nothing":                       {`{}`, `{"labels":["a"]}`, `{"labels":["b"]}`, `{"labels":["a","b"]}`, nil},
		"no label is left":                          {`{"labels":["a","b"]}`, `{"labels":["a"]}`, `{"labels":["b"]}`, `{}`, nil},
		"labels that are none":                      {`{}`, `{"labels":["a"]}`, `{"labels":"b"}`, `{"labels":["a"]}`, [][]string{{"labels"}}},
		"labels of something":                       {`{}`, `{"x":{"labels":["a"]}}`, `{"x":{"labels":["b"]}}`, `{"x":{"labels":["a"]}}`, [][]string{{"x", "labels"}}},
		"ours moved keys":                           {`{"m":{"a":1,"b":1}}`, `{"m":{"b":1,"a":1}}`, `{"m":{"a":2,"b":1}}`, `{"m":{"b":1,"a":2}}`, nil},
		"theirs moved keys":                         {`{"m":{"a":1,"b":1}}`, `{"m":{"a":2,"b":1}}`, `{"m":{"b":1,"a":1}}`, `{"m":{"b":1,"a":2}}`, nil},
		"both moved keys":                           {`{"m":{"a":1,"b":1,"c":1}}`, `{"m":{"b":1,"a":1,"c":1}}`, `{"m":{"a":1,"c":1,"b":1}}`, `{"m":{"b":1,"a":1,"c":1}}`, [][]string{{"m"}}},
		"both moved keys the same way":              {`{"m":{"a":1,"b":1}}`, `{"m":{"b":1,"a":1,"x":1}}`, `{"m":{"b":1,"a":1,"y":1}}`, `{"m":{"b":1,"a":1,"x":1,"y":1}}`, nil},
		"new keys of both in different order":       {`{"m":{}}`, `{"m":{"a":1,"b":1}}`, `{"m":{"b":1,"a":1}}`, `{"m":{"a":1,"b":1}}`, nil},
		"the order of the document is its kind's":   {`{"a":1,"b":1,"c":1}`, `{"b":1,"a":1,"c":1}`, `{"a":1,"c":1,"b":1}`, `{"b":1,"a":1,"c":1}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			merged, conflicts := merge.Keys(parse(t, c.base), parse(t, c.ours), parse(t, c.theirs), "labels")
			text, err := document.JSON(merged)
			require.NoError(t, err)
			require.Equal(t, c.merged, string(text))
			require.Equal(t, c.conflicts, conflicts)
		})
	}
}

// mappings are mappings of few keys, so that they collide.
func mappings(depth int) *rapid.Generator[*document.Map] {
	return rapid.Custom(func(t *rapid.T) *document.Map {
		m := document.MapOf()
		for range rapid.IntRange(0, 4).Draw(t, "keys") {
			key := rapid.SampledFrom([]string{"a", "b", "c", "d", "", "labels"}).Draw(t, "key")
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind == 0:
				m.Set(key, []any{rapid.SampledFrom([]any{"x", "y", 1.0}).Draw(t, "item")})
			case kind > 1 && depth > 0:
				m.Set(key, mappings(depth-1).Draw(t, "mapping"))
			default:
				m.Set(key, rapid.SampledFrom([]any{nil, true, 1.0, "x"}).Draw(t, "scalar"))
			}
		}
		return m
	})
}

func TestKeysOfOneChangeAreThatChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, x := mappings(3).Draw(t, "base"), mappings(3).Draw(t, "changed")
		equal := func(ours, theirs *document.Map) {
			merged, conflicts := merge.Keys(document.MapOf(document.Pair{Key: "m", Value: b}),
				document.MapOf(document.Pair{Key: "m", Value: ours}), document.MapOf(document.Pair{Key: "m", Value: theirs}))
			require.Empty(t, conflicts)
			m, _ := merged.Get("m")
			require.True(t, document.Equal(x, m))
		}
		equal(b, x)
		equal(x, b)
		equal(x, x)
	})
}

func TestKeysConflictOnBothSides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, o, s := mappings(3).Draw(t, "base"), mappings(3).Draw(t, "ours"), mappings(3).Draw(t, "theirs")
		merged, conflicts := merge.Keys(b, o, s, "labels")
		_, mirrored := merge.Keys(b, s, o, "labels")
		require.ElementsMatch(t, conflicts, mirrored)
		if len(conflicts) > 0 {
			return
		}
		for key := range merged.All() {
			_, inOurs := o.Get(key)
			_, inTheirs := s.Get(key)
			require.True(t, inOurs || inTheirs, "%q is of neither side", key)
		}
		for key, v := range o.All() {
			was, _ := b.Get(key)
			if other, there := s.Get(key); there && document.Equal(was, other) {
				got, _ := merged.Get(key)
				require.True(t, document.Equal(v, got), "what ours alone changed is lost")
			}
		}
	})
}

func TestADocumentOfManyKeysIsMergedAtOnce(t *testing.T) {
	t.Parallel()
	base, ours, theirs := document.MapOf(), document.MapOf(), document.MapOf()
	for i := range 50_000 {
		key := string(rune('A'+i%26)) + string(rune(0x4e00+i/26))
		base.Set(key, "0")
		ours.Set(key, "1")
		theirs.Set(key, "2")
		ours.Set("o"+key, "")
		theirs.Set("t"+key, "")
	}
	merged, conflicts := merge.Keys(base, ours, theirs)
	require.Equal(t, 150_000, merged.Len())
	require.Len(t, conflicts, 1000, "more are not told")
}
