package fulltext_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/knowledge"
	"svc/projections/fulltext"
)

var update = flag.Bool("update", false, "write the golden files")

// memory is an index in memory.
type memory map[string]string

func (m memory) Get(key []byte) ([]byte, bool, error) {
	v, ok := m[string(key)]
	return []byte(v), ok, nil
}

func (m memory) Set(key, value []byte) error {
	m[string(key)] = string(value)
	return nil
}

func (m memory) Delete(key []byte) error {
	delete(m, string(key))
	return nil
}

func (m memory) Iterate(prefix, from []byte, _ bool, visit func(key, value []byte) (bool, error)) error {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !strings.HasPrefix(key, string(prefix)) || bytes.Compare([]byte(key), from) < 0 {
			continue
		}
		if more, err := visit([]byte(key), []byte(m[key])); err != nil || !more {
			return err
		}
	}
	return nil
}

// document divides a text into chunks of 200 characters.
func document(id, title, language, text string) fulltext.Document {
	chunks, _ := knowledge.Chunking{Size: 200}.Divide(knowledge.Normalise(text), language, nil)
	return fulltext.Document{ID: id, Title: title, Chunks: chunks}
}

// indexOf returns an index of documents, written in order.
func indexOf(t testing.TB, documents ...fulltext.Document) memory {
	t.Helper()
	m := memory{}
	for i, d := range documents {
		require.NoError(t, fulltext.Put(m, "kb", uint64(i+1), d))
	}
	return m
}

// find returns the ids of what a query finds.
func find(t testing.TB, r fulltext.Reader, query string, options ...func(*fulltext.Query)) (ids []string) {
	t.Helper()
	ids = []string{}
	for _, h := range search(t, r, query, options...).Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func search(t testing.TB, r fulltext.Reader, query string, options ...func(*fulltext.Query)) fulltext.Result {
	t.Helper()
	q := fulltext.Query{Parsed: fulltext.Parse(query), Limit: 10, Passages: 3, Highlight: true}
	for _, o := range options {
		o(&q)
	}
	result, err := fulltext.Search(t.Context(), r, "kb", q)
	require.NoError(t, err)
	return result
}

func TestAQueryFindsWhatItSays(t *testing.T) {
	t.Parallel()
	m := indexOf(t,
		document("a", "Horses", "fr", "Le cheval est dans le pré. Un élève le regarde."),
		document("b", "Invoices", "en", "The invoice was paid by the customer. A car was bought."),
		document("c", "Cars", "en", "An auto needs oil. Error code XK-42 means that there is none. Inventory follows."),
		document("d", "日本の案内", "cjk", "東京は日本の首都です。"),
		document("e", "", "und", "Ο σέρβερ κρατά όλα τα γεγονότα"),
	)
	synonyms := func(q *fulltext.Query) { q.Synonyms = [][]string{{"vehicle", "car"}, {"pastureland", "le pré"}} }
	fuzzy := func(q *fulltext.Query) { q.Fuzzy = true }
	for _, c := range []struct {
		query   string
		want    []string
		options []func(*fulltext.Query)
	}{
		{"chevaux", []string{"a"}, nil},
		{"eleve", []string{"a"}, nil},
		{"CHEVAL!", []string{"a"}, nil},
		{"invoices", []string{"b"}, nil},
		{"horses", []string{"a"}, nil},
		{`"was paid"`, []string{"b"}, nil},
		{`"paid was"`, []string{}, nil},
		{`"unclosed paid`, []string{"b"}, nil},
		{"+car -invoice", []string{"c"}, nil},
		{"+car +oil", []string{"c"}, nil},
		{"invoice -customer", []string{}, nil},
		{"inv*", []string{"b", "c"}, nil},
		{"i*", []string{}, nil},
		{"xk-42", []string{"c"}, nil},
		{"日本", []string{"d"}, nil},
		{"本日", []string{}, nil},
		{"γεγονοτα", []string{"e"}, nil},
		{"vehicle", []string{"c", "b"}, []func(*fulltext.Query){synonyms}},
		{"pastureland", []string{"a"}, []func(*fulltext.Query){synonyms}},
		{"custemer", []string{}, nil},
		{"custemer", []string{"b"}, []func(*fulltext.Query){fuzzy}},
		{"csutomer", []string{"b"}, []func(*fulltext.Query){fuzzy}},
		{"( ) & ~^ \"\" + -", []string{}, nil},
	} {
		require.ElementsMatch(t, c.want, find(t, m, c.query, c.options...), "%s", c.query)
	}
	require.Empty(t, find(t, memory{}, "anything"))
}

// A prefix stands for all words that begin with it, and a misspelt word for all that are near, however many they are.
func TestPrefixesAndMisspeltWordsStandForAllWords(t *testing.T) {
	t.Parallel()
	const count = 700
	m := memory{}
	batch := fulltext.NewBatch(m, "kb", 1)
	for i := range count {
		require.NoError(t, batch.Put(document(fmt.Sprintf("d%03d", i), "", "en", fmt.Sprintf("inventory%03d of all", i))))
	}
	require.NoError(t, batch.Put(document("other", "", "en", "something else of all")))
	require.NoError(t, batch.Flush())
	counted := 0
	each := func(q *fulltext.Query) { q.Each = func(string) error { counted++; return nil } }
	require.Equal(t, count, search(t, m, "in*", each).Total)
	require.Equal(t, count, counted)
	require.Equal(t, count, search(t, m, "+inv* all").Total)
	require.Equal(t, []string{"other"}, find(t, m, "all -in*"))
	require.Equal(t, []string{"d699"}, find(t, m, "+inventory69* +inventory699"))
	require.Equal(t, "<mark>inventory699</mark> of all", search(t, m, "inventory69* -else").Hits[9].Passages[0].HTML)
	misspelt := search(t, m, "inventory350", func(q *fulltext.Query) { q.Fuzzy = true })
	require.Greater(t, misspelt.Total, 210, "all that differ in two digits")
}

// Words of titles and headings are found by their beginning, and although they are misspelt, as they are written.
func TestPrefixesOfTitlesAndHeadings(t *testing.T) {
	t.Parallel()
	m := indexOf(t, headed("a", "Inventory of Société Générale", "Policies"), headed("b", "", ""))
	for _, query := range []string{"inventory*", "invent*", "societe*", "policies*", "polic*", "+inventory* nothing"} {
		require.Equal(t, []string{"a"}, find(t, m, query), query)
	}
	require.Equal(t, []string{"b"}, find(t, m, "nothing -policies*"))
	require.Equal(t, "<mark>Inventory</mark> of Société Générale", search(t, m, "inventory*").Hits[0].TitleHTML)
	fuzzy := func(q *fulltext.Query) { q.Fuzzy = true }
	require.Equal(t, []string{"a"}, find(t, m, "inventori", fuzzy))
	require.Equal(t, []string{"a"}, find(t, m, "polixies", fuzzy))
}

// headed is a document of one passage below a heading.
func headed(id, title, heading string) fulltext.Document {
	return fulltext.Document{ID: id, Title: title, Chunks: []knowledge.Chunk{{Text: "Nothing else.", Headings: []string{heading}, Language: "en"}}}
}

// What counts nothing is not looked at.
func TestTitlesAndHeadingsMayNotCount(t *testing.T) {
	t.Parallel()
	m := indexOf(t, headed("a", "Inventory", ""), headed("b", "", "Inventory"), document("c", "", "en", "The inventory list."))
	boosts := func(title, headings float64) func(q *fulltext.Query) {
		return func(q *fulltext.Query) { q.Boosts = &fulltext.Boosts{Title: title, Headings: headings} }
	}
	for _, query := range []string{"inventory", "inventory*", "inv*"} {
		require.ElementsMatch(t, []string{"a", "b", "c"}, find(t, m, query), query)
		require.ElementsMatch(t, []string{"b", "c"}, find(t, m, query, boosts(0, 1)), query)
		require.ElementsMatch(t, []string{"a", "c"}, find(t, m, query, boosts(1, 0)), query)
		require.Equal(t, "a", find(t, m, query, boosts(9, 1))[0], query)
	}
	phrases := indexOf(t, document("a", "The red door", "en", "A red car and a door."), document("b", "", "en", "The red door."))
	require.ElementsMatch(t, []string{"a", "b"}, find(t, phrases, `"red door"`))
	require.Equal(t, []string{"b"}, find(t, phrases, `"red door"`, boosts(0, 0)))
}

// leaving is an index whose reader leaves after so many reads.
type leaving struct {
	memory
	reads int
	leave func()
}

func (l *leaving) count() {
	if l.reads--; l.reads == 0 {
		l.leave()
	}
}

func (l *leaving) Get(key []byte) ([]byte, bool, error) {
	l.count()
	return l.memory.Get(key)
}

func (l *leaving) Iterate(prefix, from []byte, keysOnly bool, visit func(key, value []byte) (bool, error)) error {
	return l.memory.Iterate(prefix, from, keysOnly, func(key, value []byte) (bool, error) {
		l.count()
		return visit(key, value)
	})
}

// A query ends when nobody waits for it any more, wherever it is.
func TestAQueryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := memory{}
	batch := fulltext.NewBatch(m, "kb", 1)
	for i := range 300 { // several blocks
		require.NoError(t, batch.Put(document(fmt.Sprintf("d%03d", i), "", "en", fmt.Sprintf("the card %d is paid", i))))
	}
	require.NoError(t, batch.Flush())
	for _, query := range []string{"card", "ca*", `"card 7 is"`, "kard"} {
		for _, reads := range []int{2, 3, 4} {
			for name, ask := range map[string]func(context.Context, fulltext.Reader) error{
				"search": func(ctx context.Context, r fulltext.Reader) error {
					_, err := fulltext.Search(ctx, r, "kb", fulltext.Query{Parsed: fulltext.Parse(query), Limit: 10, Fuzzy: true})
					return err
				},
				"bound": func(ctx context.Context, r fulltext.Reader) error {
					_, err := fulltext.Bound(ctx, r, "kb", fulltext.Query{Parsed: fulltext.Parse("+" + query), Fuzzy: true})
					return err
				},
			} {
				ctx, cancel := context.WithCancel(t.Context())
				require.ErrorIs(t, ask(ctx, &leaving{m, reads, cancel}), context.Canceled, "%s %s, %d", name, query, reads)
			}
		}
	}
}

func TestQueriesThatFindNothingAreKnown(t *testing.T) {
	t.Parallel()
	require.True(t, fulltext.Parse("").IsEmpty())
	require.True(t, fulltext.Parse(" ?! ").IsEmpty())
	require.True(t, fulltext.Parse("-a -\"b c\"").OnlyExcludes())
	require.False(t, fulltext.Parse("-a b").OnlyExcludes())
	require.True(t, fulltext.Parse(" * ").All)
	require.True(t, fulltext.Parse(strings.Repeat("word ", 65)).Cut)
	require.False(t, fulltext.Parse(strings.Repeat("word ", 64)).Cut)
}

func TestRightsAndFiltersComeBeforeRanking(t *testing.T) {
	t.Parallel()
	m := memory{}
	for i := range 50 {
		require.NoError(t, fulltext.Put(m, "kb", uint64(i+1), document(fmt.Sprintf("d%02d", i), "", "en", strings.Repeat("word ", 50-i)+"filler")))
	}
	var counted []string
	result := search(t, m, "word", func(q *fulltext.Query) {
		q.Match = func(id string) (bool, error) { return id >= "d40", nil }
		q.Each = func(id string) error { counted = append(counted, id); return nil }
		q.Limit = 5
	})
	require.Equal(t, 10, result.Total)
	require.Len(t, result.Hits, 5)
	require.Len(t, counted, 10)
	all := find(t, m, "word", func(q *fulltext.Query) { q.Limit = 50 })
	require.Len(t, all, 50)
	var pages []string
	for page := range 8 {
		pages = append(pages, find(t, m, "word", func(q *fulltext.Query) { q.From, q.Limit = 7*page, 7 })...)
	}
	require.Equal(t, all, pages)
}

// three are the documents of the golden scores.
func three() []fulltext.Document {
	return []fulltext.Document{
		document("a", "Guide", "en", "Payments are made by card. "+strings.Repeat("Nothing more is said about it here. ", 20)),
		document("b", "", "en", "# Refund\n\nA payment is refunded within a week, and so are payments by card. Cards are refunded."),
		document("c", "Refunds", "en", "Refunds of payments."),
	}
}

func TestScoresAreTheGoldenOnesAfterAnyOrderOfWrites(t *testing.T) {
	t.Parallel()
	const golden = "testdata/scores.json"
	for i, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2, 1, 0, 0}, {2, 0, 1, 2}} {
		m := memory{}
		require.NoError(t, fulltext.Put(m, "kb", 1, document("gone", "Payments", "fr", "payments card refund")))
		for seq, d := range order {
			require.NoError(t, fulltext.Put(m, "kb", uint64(seq+2), three()[d]))
		}
		require.NoError(t, fulltext.Remove(m, "kb", 20, "gone"))
		scores := map[string]map[string]float64{}
		for _, query := range []string{"refund payment", "card", `"by card"`, "pay*", "guide", "+refund -week", "refu*"} {
			scores[query] = map[string]float64{}
			for _, h := range search(t, m, query).Hits {
				scores[query][h.ID] = h.Score
			}
		}
		encoded, err := json.MarshalIndent(scores, "", " ")
		require.NoError(t, err)
		encoded = append(encoded, '\n')
		if *update && i == 0 {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(golden, encoded, 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), string(encoded), "order %v", order)
	}
}

func TestBothWordsComeFirstAndTheShorterOfEquals(t *testing.T) {
	t.Parallel()
	m := indexOf(t,
		document("one", "", "en", "apple tree in the garden"),
		document("both", "", "en", "apple juice in the garden"),
		document("longer", "", "en", "apple tree in the garden of a house by the sea with many flowers"),
	)
	require.Equal(t, []string{"both", "one", "longer"}, find(t, m, "apple juice"))
}

// A removed or replaced document leaves nothing, and the cost of a change does not depend on others.
func TestNothingIsLeftOfARemovedDocument(t *testing.T) {
	t.Parallel()
	m := indexOf(t, three()...)
	require.NoError(t, fulltext.Put(m, "kb", 4, document("b", "Other", "de", "Ganz andere Worte.")))
	require.Empty(t, find(t, m, "week"))
	require.Equal(t, []string{"b"}, find(t, m, "wort"))
	for i, id := range []string{"a", "b", "c", "unknown"} {
		require.NoError(t, fulltext.Remove(m, "kb", uint64(10+i), id))
	}
	require.Len(t, m, 1, "the sums are left: numbers are not used again")
	chunks, total, err := fulltext.Chunks(m, "kb", "a", 0, 10)
	require.NoError(t, err)
	require.Empty(t, chunks)
	require.Zero(t, total)
}

// Whatever the history of an index is, its digest is that of its documents.
func TestTheDigestOfAnIndexIsThatOfItsDocuments(t *testing.T) {
	t.Parallel()
	m := indexOf(t, append(three(), document("gone", "", "fr", "Un cheval"), three()[1])...)
	require.NoError(t, fulltext.Remove(m, "kb", 20, "gone"))
	want := fulltext.Digest{}
	for _, d := range three() {
		want = want.Plus(fulltext.DigestOf(d))
	}
	have, err := fulltext.DigestIndex(m, "kb")
	require.NoError(t, err)
	require.Equal(t, want, have)
	key, title, ok, err := fulltext.Keys(m, "kb", "c")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"", "Refunds"}, []string{key, title})
	var ids []string
	require.NoError(t, fulltext.Documents(m, "kb", "b", func(id string) bool { ids = append(ids, id); return true }))
	require.Equal(t, []string{"b", "c"}, ids)
}

func TestChunksAreStored(t *testing.T) {
	t.Parallel()
	d := three()[0]
	m := indexOf(t, d)
	require.Greater(t, len(d.Chunks), 3)
	chunks, total, err := fulltext.Chunks(m, "kb", "a", 1, 2)
	require.NoError(t, err)
	require.Equal(t, len(d.Chunks), total)
	require.Equal(t, d.Chunks[1:3], chunks)
}

// A change of which only the first keys were kept is repeated with the same outcome.
func TestAChangeCanBeRepeated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := memory{}
		for i, d := range three() {
			require.NoError(t, fulltext.Put(m, "kb", uint64(i+1), d))
		}
		remove := rapid.Bool().Draw(t, "remove")
		apply := func(to memory) {
			if remove {
				require.NoError(t, fulltext.Remove(to, "kb", 7, "a"))
				return
			}
			require.NoError(t, fulltext.Put(to, "kb", 7, document("a", "New", "en", strings.Repeat("A card is new here. ", 30))))
		}
		whole := maps.Clone(m)
		apply(whole)
		var changed []string
		for key := range whole {
			if m[key] != whole[key] {
				changed = append(changed, key)
			}
		}
		for key := range m {
			if _, ok := whole[key]; !ok {
				changed = append(changed, key)
			}
		}
		slices.Sort(changed)
		for _, key := range changed[:rapid.IntRange(0, len(changed)).Draw(t, "kept")] {
			if value, ok := whole[key]; ok {
				m[key] = value
			} else {
				delete(m, key)
			}
		}
		apply(m)
		require.Equal(t, whole, m)
	})
}

func TestOnlyOurMarksAreInHTML(t *testing.T) {
	t.Parallel()
	m := indexOf(t, document("a", "<b>Script</b> & more", "en", "Some <script>alert('x')</script> and <mark>this</mark> "+strings.Repeat("filler ", 100)+"script"))
	hit := search(t, m, "script").Hits[0]
	require.Equal(t, "&lt;b&gt;<mark>Script</mark>&lt;/b&gt; &amp; more", hit.TitleHTML)
	require.Equal(t, "Some &lt;<mark>script</mark>&gt;alert(&#39;x&#39;)&lt;/<mark>script</mark>&gt; and &lt;mark&gt;this&lt;/mark&gt;", strings.SplitN(hit.Passages[0].HTML, " filler filler", 2)[0])
	require.NotContains(t, strings.NewReplacer("<mark>", "", "</mark>", "").Replace(hit.Passages[0].HTML), "<")
}

func TestADocumentIsFoundWithItsBestPassages(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("Nothing is here to be found. ", 7) + "\n\n" + strings.Repeat("One needle is in this hay. ", 7) + "\n\n" + strings.Repeat("Needle needle. ", 13)
	m := indexOf(t, document("a", "", "en", text), document("b", "", "en", "A needle."))
	result := search(t, m, "needle")
	require.Equal(t, 2, result.Total)
	for _, h := range result.Hits {
		require.LessOrEqual(t, len(h.Passages), 3)
		require.InDelta(t, h.Score, h.Passages[0].Score, 0)
		require.True(t, slices.IsSortedFunc(h.Passages, func(a, b fulltext.Passage) int { return int(1e6 * (b.Score - a.Score)) }))
	}
	chunks := search(t, m, "needle", func(q *fulltext.Query) { q.ByChunk = true })
	require.Equal(t, 2, chunks.Total)
	require.Greater(t, len(chunks.Hits), 2)
	for _, h := range chunks.Hits {
		require.Len(t, h.Passages, 1)
	}
}

// Whatever a query is, it has an answer.
func FuzzSearch(f *testing.F) {
	m := indexOf(f, three()...)
	for _, q := range []string{`"a`, "+-x", "pay* -\"by card\"", "*", "* a", "日本*", "\x00\xff"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		result, err := fulltext.Search(t.Context(), m, "kb", fulltext.Query{Parsed: fulltext.Parse(query), Limit: 10, Fuzzy: true, Highlight: true})
		require.NoError(t, err)
		require.LessOrEqual(t, len(result.Hits), result.Total)
	})
}

// Whatever a text is, it is indexed, and nothing is left when it is removed.
func FuzzPut(f *testing.F) {
	f.Add("Le cheval", 5)
	f.Add("日本\u0301 ÅÅ\u200d", 2)
	f.Fuzz(func(t *testing.T, text string, language int) {
		m := memory{}
		languages := knowledge.Languages
		d := document("a", text, languages[uint(language)%uint(len(languages))], text)
		require.NoError(t, fulltext.Put(m, "kb", 1, d))
		require.NoError(t, fulltext.Remove(m, "kb", 2, "a"))
		require.LessOrEqual(t, len(m), 1)
	})
}

// A batch leaves the same index as its changes one by one.
func TestABatchIsItsChanges(t *testing.T) {
	single, together := memory{}, memory{}
	apply := func(seq uint64, documents ...fulltext.Document) {
		batch := fulltext.NewBatch(together, "kb", seq)
		for _, d := range documents {
			require.NoError(t, fulltext.Put(single, "kb", seq, d))
			require.NoError(t, batch.Put(d))
		}
		require.NoError(t, batch.Flush())
		require.Equal(t, single, together)
	}
	var many []fulltext.Document
	for i := range 200 { // several blocks
		many = append(many, document(fmt.Sprintf("d%03d", i), "Cards", "en", strings.Repeat(fmt.Sprintf("the card %d is paid ", i), 30)))
	}
	apply(1, many...)
	apply(2, document("d001", "Refunds", "en", "refunds take days"), fulltext.Document{ID: "d002"}, document("new", "", "de", "ganz neu"))
	again := maps.Clone(together)
	apply(3, document("d003", "", "en", "first"), document("d003", "", "en", "second"), fulltext.Document{ID: "d003"}, fulltext.Document{ID: "nobody"})
	require.NotEqual(t, again, together)
	require.Empty(t, find(t, together, "second"))
	require.Equal(t, []string{"new"}, find(t, together, "neu"))
}
