package kbdocument_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/kbdocument"
)

var (
	noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	faq  = kbdocument.Base{ID: "kb_1", Slug: "faq"}
)

func hash(c string) *kbdocument.Content {
	return &kbdocument.Content{Mimetype: "text/plain", Size: 1, Hash: strings.Repeat(c, 64)}
}

func put(content *kbdocument.Content) kbdocument.Put {
	return kbdocument.Put{ID: "doc_1", Base: faq, Origin: kbdocument.Origin{Source: kbdocument.Text, Key: "k"}, Name: "n", Content: content, Kept: 2, Now: noon}
}

// do decides and folds commands, in order, and returns the events of the last.
func do(t *testing.T, s kbdocument.State, cmds ...kbdocument.Command) (kbdocument.State, []domain.Event) {
	t.Helper()
	var last []domain.Event
	for _, cmd := range cmds {
		events, err := kbdocument.Decider.Decide(s, cmd)
		require.NoError(t, err)
		s, last = kbdocument.Decider.Fold(s, events...), events
	}
	return s, last
}

func TestAContentIsProcessedOnce(t *testing.T) {
	s, _ := do(t, kbdocument.State{}, put(hash("a")))
	require.Equal(t, kbdocument.Pending, s.Status())
	_, again := do(t, s, put(hash("a")))
	require.Empty(t, again, "the same content is not processed again")

	s, _ = do(t, s, kbdocument.Begin{Base: faq, Generation: 1, Now: noon})
	require.Equal(t, kbdocument.Processing, s.Status())
	extract := &kbdocument.Extract{Revision: 1, Text: strings.Repeat("1", 64), Count: 3}
	ready, events := do(t, s, kbdocument.Finish{Base: faq, Generation: 1, Attempt: 1, Extract: extract, Now: noon.Add(time.Second)})
	require.Equal(t, kbdocument.Ready, ready.Status())
	require.Equal(t, int64(1000), events[0].(kbdocument.ReadyEvent).Duration)

	_, late := do(t, ready, kbdocument.Finish{Base: faq, Generation: 1, Attempt: 1, Extract: extract, Now: noon})
	require.Empty(t, late, "a result counts once")
	next, _ := do(t, ready, put(hash("b")))
	require.Equal(t, 2, next.Revision)
	require.Equal(t, extract, next.Extract, "the former text is searched until the new one is ready")
	_, _, ok := next.FindText(2)
	require.False(t, ok)
	_, late = do(t, next, kbdocument.Finish{Base: faq, Generation: 1, Attempt: 1, Extract: extract, Now: noon})
	require.Empty(t, late, "a result of an earlier job does not count")
	next, _ = do(t, next, kbdocument.Begin{Base: faq, Generation: 2, Now: noon}, kbdocument.Fail{Base: faq, Generation: 2, Attempt: 1, Fault: kbdocument.Fault{Reason: "corrupt"}, Now: noon})
	require.Equal(t, kbdocument.Failed, next.Status())
	require.Equal(t, extract, next.Extract)
	read, _ := do(t, next, put(hash("c")), kbdocument.Begin{Base: faq, Generation: 3, Now: noon}, kbdocument.Finish{
		Base: faq, Generation: 3, Attempt: 1, Extract: &kbdocument.Extract{Revision: 3, Text: strings.Repeat("3", 64), Size: 7}, Now: noon,
	})
	text, size, ok := read.FindText(3)
	require.Equal(t, []any{strings.Repeat("3", 64), int64(7), true}, []any{text, size, ok})
	_, _, ok = read.FindText(2)
	require.False(t, ok, "it was never read")
	_, _, ok = read.FindText(1)
	require.False(t, ok, "it is not kept")
	read, _ = do(t, read, put(hash("d")), kbdocument.Begin{Base: faq, Generation: 4, Now: noon}, kbdocument.Finish{
		Base: faq, Generation: 4, Attempt: 1, Extract: &kbdocument.Extract{Revision: 4, Text: strings.Repeat("4", 64)}, Now: noon,
	})
	text, _, _ = read.FindText(3)
	require.Equal(t, strings.Repeat("3", 64), text, "texts of former revisions can be read")
	next, _ = do(t, next, put(hash("c")))
	require.Len(t, next.Revisions, 2, "others are not kept")
}

func TestAContentThatWasProcessedIsReadyAtOnce(t *testing.T) {
	processed := put(hash("a"))
	processed.Result = &kbdocument.Result{Extract: kbdocument.Extract{Text: strings.Repeat("1", 64), Count: 3}, VectorSet: "m@3", Took: time.Second}
	s, events := do(t, kbdocument.State{}, processed)
	require.Len(t, events, 2)
	ready := events[1].(kbdocument.ReadyEvent)
	require.Equal(t, int64(1000), ready.Duration)
	require.Equal(t, 3, ready.Chunks)
	require.Equal(t, kbdocument.Ready, s.Status())
	require.Equal(t, 1, s.Extract.Revision)
	require.Equal(t, "m@3", s.Embedding.Set)

	_, events = do(t, s, processed)
	require.Empty(t, events, "the same content is not processed again")
	processed.Content = hash("b")
	s, events = do(t, s, processed)
	require.Len(t, events, 2)
	require.Equal(t, 2, s.Extract.Revision)
	require.Nil(t, s.Job)
}

func TestADocumentThatTakesNodesDownFails(t *testing.T) {
	s, _ := do(t, kbdocument.State{}, put(hash("a")))
	begin := kbdocument.Begin{Base: faq, Generation: 1, Now: noon}
	s, _ = do(t, s, begin, kbdocument.Release{Generation: 1, Attempt: 1}, begin, begin)
	require.Equal(t, 1, s.Job.Lost, "a node that stops gives its attempt back")
	_, late := do(t, s, kbdocument.Finish{Base: faq, Generation: 1, Attempt: 2, Extract: &kbdocument.Extract{}, Now: noon})
	require.Empty(t, late, "the node that was taken for lost is too late")
	s, events := do(t, s, begin)
	require.Equal(t, "extraction_crashed", events[0].(kbdocument.FailedEvent).Error.Reason)
	require.Equal(t, kbdocument.Failed, s.Status())
}

func TestAnAddressIsARevisionWhenItHasAnotherContent(t *testing.T) {
	cmd := kbdocument.Put{ID: "doc_1", Base: faq, Origin: kbdocument.Origin{Source: kbdocument.URL, URL: "https://example.com/"}, Name: "n", Now: noon}
	s, _ := do(t, kbdocument.State{}, cmd, kbdocument.Begin{Base: faq, Generation: 1, Now: noon})
	extract := &kbdocument.Extract{Revision: 1, Text: "t"}
	s, _ = do(t, s, kbdocument.Finish{Base: faq, Generation: 1, Attempt: 1, Content: hash("a"), Extract: extract, Now: noon})
	require.Equal(t, 1, s.Revision)
	s, _ = do(t, s, cmd, kbdocument.Begin{Base: faq, Generation: 2, Now: noon}, kbdocument.Finish{Base: faq, Generation: 2, Attempt: 1, Content: hash("a"), Now: noon.Add(time.Hour)})
	require.Equal(t, 1, s.Revision)
	require.Equal(t, noon.Add(time.Hour), s.CheckedAt)
	s, _ = do(t, s, cmd, kbdocument.Begin{Base: faq, Generation: 3, Now: noon}, kbdocument.Finish{Base: faq, Generation: 3, Attempt: 1, Content: hash("b"), Extract: extract, Now: noon})
	require.Equal(t, 2, s.Revision)
	require.Equal(t, 2, s.Extract.Revision)
}

func TestExpiry(t *testing.T) {
	s, _ := do(t, kbdocument.State{}, put(hash("a")))
	past, soon := noon.Add(-time.Second), noon.Add(time.Second)
	_, err := kbdocument.Decider.Decide(s, kbdocument.Edit{Base: faq, Change: kbdocument.Change{ExpiresAt: &past}, Now: noon})
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
	s, _ = do(t, s, kbdocument.Edit{Base: faq, Change: kbdocument.Change{ExpiresAt: &soon}, Now: noon})
	_, early := do(t, s, kbdocument.Expire{Base: faq, Now: noon})
	require.Empty(t, early)
	require.True(t, s.GoneAt(soon))
	s, events := do(t, s, kbdocument.Expire{Base: faq, Now: soon})
	require.Equal(t, kbdocument.ByExpiry, events[0].(kbdocument.Deleted).Cause)
	require.True(t, s.Deleted)
}

func TestAddressesAreNormalised(t *testing.T) {
	for text, want := range map[string]string{
		"HTTPS://Example.COM":                             "https://example.com/",
		"http://example.com:80/a/../b/./c/#x":             "http://example.com/b/c/",
		"https://example.com:8443/%7euser/%c3%a9?b=1&a=2": "https://example.com:8443/~user/%C3%A9?b=1&a=2",
		"https://example.com/?utm_source=x&q=1&gclid=2":   "https://example.com/?q=1",
		"http://[::1]:80/":                                "http://[::1]/",
		"https://example.com/a//b///?q=//":                "https://example.com/a//b///?q=//",
		"https://example.com//a/.//../b/%2E%2e/c/..":      "https://example.com//a/",
		"https://example.com/../../a/.":                   "https://example.com/a/",
		"https://example.com/..":                          "https://example.com/",
		"https://example.com/?q=é&r=a b&s=%c3%a9+c":       "https://example.com/?q=%C3%A9&r=a%20b&s=%C3%A9+c",
		"https://example.com/?q={\"a\"}&r=50%&a[]=1":      "https://example.com/?q=%7B%22a%22%7D&r=50%&a[]=1",
	} {
		got, err := kbdocument.NormaliseURL(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "example.com", "ftp://example.com/", "https://me:secret@example.com/", "https://example.com/" + strings.Repeat("a", 2048)} {
		_, err := kbdocument.NormaliseURL(text)
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err), text)
	}
}

func TestFilters(t *testing.T) {
	fields := map[string]any{"tags": []any{"hr", "de"}, "metadata": map[string]any{"year": 2024.0}, "source": "text"}
	for _, c := range []struct {
		filter map[string]any
		want   bool
	}{
		{map[string]any{"tags": "hr"}, true},
		{map[string]any{"tags": map[string]any{"$nin": []any{"hr"}}}, false},
		{map[string]any{"metadata.year": map[string]any{"$gte": 2024.0}}, true},
		{map[string]any{"$or": []any{map[string]any{"source": "url"}, map[string]any{"tags": "de"}}}, true},
		{map[string]any{}, true},
	} {
		f, err := kbdocument.ParseFilter("filters", c.filter)
		require.NoError(t, err)
		require.Equal(t, c.want, f.Matches(fields), c.filter)
	}
	for path, filter := range map[string]map[string]any{
		"filters.nope":           {"nope": 1},
		"filters.metadata":       {"metadata": 1},
		"filters.$where":         {"$where": "x"},
		"filters.tags":           {"tags": map[string]any{"$where": "x"}},
		"filters.$and[0].hidden": {"$and": []any{map[string]any{"hidden": 1}}},
	} {
		_, err := kbdocument.ParseFilter("filters", filter)
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
		require.Contains(t, err.Error(), path)
	}
}
