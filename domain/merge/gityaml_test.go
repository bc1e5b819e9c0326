package merge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/document"
)

// triples is how many files are merged by git and here. Each costs a process.
const triples = 600

// Files as the platform writes them, changed as people and programs do: whatever
// git merges is merged to the same bytes.
func TestCanonicalFilesAreMergedAsByGit(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]*document.Kind{"index": document.Index, "automations": document.Automation, "pages": document.Page} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, a := newGit(t), author{rand.New(rand.NewPCG(7, uint64(len(name))))}
			clean := 0
			for range triples / 3 {
				base := a.document()
				texts := [3]string{}
				for i, doc := range []*document.Map{base, a.edited(base, 1+a.IntN(3)), a.edited(base, 1+a.IntN(3))} {
					text, err := kind.Text(doc)
					require.NoError(t, err)
					texts[i] = string(text)
				}
				if g.same(t, texts[0], texts[1], texts[2]) {
					clean++
				}
			}
			require.Greater(t, clean, triples/3/4, "hardly anything was merged")
			require.Less(t, clean, triples/3, "nothing collided")
		})
	}
}

// author writes documents and changes them.
type author struct{ *rand.Rand }

func (a author) word() string {
	return strings.Fields("set emit wait run call name value event order mail user total {{body.amount}} a: yes 12 #x")[a.IntN(16)]
}

func (a author) document() *document.Map {
	m := document.MapOf(document.Pair{Key: "slug", Value: "charge"}, document.Pair{Key: "name", Value: a.word()})
	for _, key := range []string{"description", "labels", "when", "config", "do", "blocks", "output", "extra"} {
		switch {
		case a.IntN(4) == 0:
		case key == "labels":
			m.Set(key, []any{a.word(), a.word(), a.word()})
		case key == "do" || key == "blocks":
			m.Set(key, a.list(2))
		case key == "description":
			m.Set(key, a.lines())
		default:
			m.Set(key, a.mapping(2))
		}
	}
	return m
}

func (a author) lines() string {
	var b strings.Builder
	for range 1 + a.IntN(6) {
		b.WriteString(a.word() + " " + a.word() + "\n")
	}
	return b.String()
}

func (a author) list(depth int) []any {
	var list []any
	for range a.IntN(6) {
		list = append(list, document.MapOf(document.Pair{Key: a.word(), Value: a.value(depth)}))
	}
	return list
}

func (a author) mapping(depth int) *document.Map {
	m := document.MapOf()
	for range a.IntN(5) {
		m.Set(a.word(), a.value(depth))
	}
	return m
}

func (a author) value(depth int) any {
	switch n := a.IntN(6); {
	case n == 0 && depth > 0:
		return a.list(depth - 1)
	case n <= 2 && depth > 0:
		return a.mapping(depth - 1)
	case n == 3:
		return a.lines()
	case n == 4:
		return float64(a.IntN(3))
	default:
		return a.word()
	}
}

// edited returns m with n changes, anywhere in it.
func (a author) edited(m *document.Map, n int) *document.Map {
	m = m.Copy()
	for range n {
		keys := m.Keys()
		if len(keys) < 2 || a.IntN(8) == 0 {
			m.Set(fmt.Sprintf("new%d", a.IntN(3)), a.value(2))
			continue
		}
		key := keys[1+a.IntN(len(keys)-1)] // the slug stays
		v, _ := m.Get(key)
		if a.IntN(10) == 0 {
			m.Delete(key)
			continue
		}
		m.Set(key, a.changed(v))
	}
	return m
}

func (a author) changed(v any) any {
	switch v := v.(type) {
	case *document.Map:
		return a.edited(v, 1)
	case []any:
		at := a.IntN(len(v) + 1)
		switch {
		case at == len(v) || a.IntN(3) == 0:
			return append(append(v[:at:at], a.changed("")), v[at:]...)
		case a.IntN(3) == 0:
			return append(v[:at:at], v[at+1:]...)
		}
		return append(append(v[:at:at], a.changed(v[at])), v[at+1:]...)
	case string:
		if strings.Contains(v, "\n") && a.IntN(2) == 0 {
			return v + a.lines()
		}
	}
	return a.word()
}
