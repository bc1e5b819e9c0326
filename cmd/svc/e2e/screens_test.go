//go:build e2e

package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// markup is what somebody might write where a name or a text is asked for.
const markup = `<img src=x onerror=alert(1)><b class=injected>"'&amp;{{x}}`

// sample imports the sample workspace and uses it, so that every screen has something to
// show: runs, a wait, rows, errors. It returns the id of the workspace.
func (p *person) sample(t *testing.T) string {
	t.Helper()
	res, err := http.Get(p.s.base + "/console/sample.zip")
	require.NoError(t, err)
	defer res.Body.Close()
	archive, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	id := p.do(t, http.StatusCreated, "POST", "/v2/workspaces/import", archive)["workspace"].(map[string]any)["id"].(string)
	w := "/v2/workspaces/" + id
	p.do(t, http.StatusOK, "POST", w+"/test/submit?record=true", map[string]any{"payload": map[string]any{"body": map[string]any{"what": "Pens", "amount": 12}}})
	p.do(t, http.StatusOK, "POST", w+"/test/submit?record=true", map[string]any{"payload": map[string]any{"body": map[string]any{"what": "Chair", "amount": 1200}}})
	p.do(t, http.StatusBadRequest, "POST", w+"/test/submit?record=true", map[string]any{"payload": map[string]any{"body": map[string]any{}}})
	require.Eventually(t, func() bool { return len(p.list(t, w+"/waits")) == 1 }, patience, 20*time.Millisecond, "the sample waits")
	return id
}

// allScreens lists the addresses of the screens that the menu shows, and of things in them.
func (b *tab) allScreens(id string) (paths []string) {
	b.t.Helper()
	b.visit("w/" + id)
	b.see("link", "Home")
	for _, path := range eval[[]string](b, `[...new Set([...document.querySelectorAll('nav a[href]')].map((a) => a.pathname.replace('/console/', '')))]`) {
		if path != "" {
			paths = append(paths, path)
		}
	}
	for screen, object := range map[string]string{"automations": "submit", "data": "expenses", "pages": "index"} {
		if slices.Contains(paths, "w/"+id+"/"+screen) {
			paths = append(paths, "w/"+id+"/"+screen+"/"+object)
		}
	}
	require.Contains(b.t, paths, "w/"+id)
	for _, view := range []string{"map?view=list", "config?tab=secrets", "config?tab=secrets&new", "config?view=yaml", "security?tab=rules", "security?tab=rules&view=yaml", "security?tab=keys", "security?tab=keys&new", "security?tab=explain", "pages?new", "tests?new", "observability?own", "apps?tab=publish", "apps?tab=catalogue&app=Collection", "apps?tab=catalogue", "settings?view=yaml", "webhooks?new"} {
		if screen, _, _ := strings.Cut(view, "?"); slices.Contains(paths, "w/"+id+"/"+screen) {
			paths = append(paths, "w/"+id+"/"+view)
		}
	}
	for _, view := range []string{"versioning?tab=versions", "versioning?tab=operations", "versioning?tab=repositories", "versioning?tab=repositories&new", "versioning?tab=archive", "versioning?push", "conflicts"} {
		paths = append(paths, "w/"+id+"/"+view)
	}
	paths = append(paths, "workspaces", "profile", "profile?tab=tokens", "profile?tab=sessions", "profile?tab=secondStep", "profile?tab=password", "profile?tab=account")
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Check 7: every screen works at 360 px and at 400 % zoom: nothing to scroll sideways, no text
// cut off, the focus never covered. The menu is a drawer that gives the focus back.
func TestEveryScreenIsNarrow(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.sample(t)
	b := ada.open(t)
	paths := b.allScreens(id)

	b.resize(360, 740)
	b.visit("w/" + id)
	b.click("button", "Open the menu")
	b.see("link", "Home")
	b.await(`document.querySelector('dialog[open]')?.contains(document.activeElement)`, "the focus in the drawer")
	b.press("Escape")
	b.awaitFocus("button", "Open the menu")

	for _, path := range paths {
		b.resize(360, 740)
		b.visit(path)
		b.checkLayout("360 px: " + path)
		b.resize(320, 256) // 1280 x 1024 at 400 %
		b.checkLayout("400 %: " + path)
		b.walkFocus()
	}
}

// words is what a page says: texts, and what is said instead of or besides them.
const words = `[...new Set([
	...(() => { const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) if (walker.currentNode.parentElement.checkVisibility() && !walker.currentNode.parentElement.closest('code, pre, kbd, .mono, time')) texts.push(walker.currentNode.data);
		return texts })(),
	...[...document.querySelectorAll('[aria-label], [title], [placeholder], [alt]')].flatMap((e) => ['aria-label', 'title', 'placeholder', 'alt'].map((a) => e.getAttribute(a) ?? '')),
	document.title,
].map((text) => text.trim().replace(/\s+/g, ' ')).filter((text) => /\p{L}{2}/u.test(text)))]`

// sameInBoth are texts that are not translated: names and their initials, units, and what a number is put into.
var sameInBoth = regexp.MustCompile(`^(svc|svc · svc|Pages · svc|Agents · svc|Tests · svc|CC|Custom Code|Palette \(Ctrl K\)|Esc|JSON|YAML|API|UTC|shop\.example\.com|Webhooks · svc|Ada Doe|AD|ES|min|\d+ documents?|[\d.,:\s]+(ms|s|h|d|kB|MB)|.*@example\.org|\W+)$`)

// frenchTexts are all texts of the French messages. What is the same in English is meant to be.
func frenchTexts(t *testing.T) (texts []string) {
	t.Helper()
	root := filepath.Join("..", "..", "..", "http", "console", "web", "src", "messages", "fr")
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		source, err := os.ReadFile(file)
		for _, found := range regexp.MustCompile("'((?:[^'\\\\\n]|\\\\.)*)'").FindAllStringSubmatch(string(source), -1) {
			texts = append(texts, strings.ReplaceAll(found[1], `\'`, `'`))
		}
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, texts)
	return texts
}

// Check 8: in French the page says so, and nothing of what it says is what it says in English.
// Names that people chose stay as they are.
func TestEveryScreenIsFrench(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.sample(t)
	b := ada.open(t)
	paths := b.allScreens(id)
	english := map[string][]string{}
	for _, path := range paths {
		b.visit(path)
		b.awaitLayout()
		english[path] = eval[[]string](b, words)
	}
	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	french := frenchTexts(t)
	type untranslated struct{ path, text string }
	var left []untranslated
	var times []string
	for _, path := range paths {
		b.visit(path)
		b.await(`document.documentElement.lang === 'fr'`)
		b.awaitLayout()
		for _, text := range eval[[]string](b, words) {
			if slices.Contains(english[path], text) && !slices.Contains(french, text) && !sameInBoth.MatchString(text) {
				left = append(left, untranslated{path, text})
			}
		}
		for _, shown := range eval[[]string](b, `[...document.querySelectorAll('time')].map((e) => e.title + ' ' + e.textContent)`) {
			if regexp.MustCompile(`\b(ago|now|yesterday|AM|PM|Mon|Tue|Wed|Thu|Sat|Sun)\b`).MatchString(shown) {
				times = append(times, path+": "+shown)
			}
		}
	}
	data := b.givenTexts(ada, id) // after all were seen: other tests publish apps meanwhile
	left = slices.DeleteFunc(left, func(found untranslated) bool {
		return slices.ContainsFunc(data, func(given string) bool {
			return strings.Contains(given, found.text) || strings.Contains(found.text, given)
		})
	})
	require.Empty(t, left, "in French as in English")
	require.Empty(t, times, "in French as in English")
}

// givenTexts are texts in the workspace that people wrote: they are not translated.
func (b *tab) givenTexts(p *person, id string) (texts []string) {
	b.t.Helper()
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) > 2 {
				texts = append(texts, v)
			}
		case []any:
			for _, item := range v {
				collect(item)
			}
		case map[string]any:
			for key, item := range v {
				if len(key) > 2 {
					texts = append(texts, key)
				}
				collect(item)
			}
		}
	}
	w := "/v2/workspaces/" + id
	collect(p.do(b.t, http.StatusOK, "GET", w, nil))
	collect(p.do(b.t, http.StatusOK, "GET", w+"/automations/submit", nil))
	collect(p.do(b.t, http.StatusOK, "GET", w+"/collections/expenses/schema", nil))
	collect(p.do(b.t, http.StatusOK, "GET", w+"/events?limit=200", nil))
	collect(p.do(b.t, http.StatusOK, "GET", "/v2/apps/Collection", nil))
	for _, app := range p.list(b.t, "/v2/apps") {
		collect(app)
	}
	for _, path := range []string{"/runs", "/waits", "/history", "/problems", "/collections/expenses/rows"} {
		for _, item := range p.list(b.t, w+path) {
			collect(item)
		}
	}
	return texts
}

// Check 12: names, payloads and labels with markup are plain text on every screen, and the
// policy has nothing to report.
func TestEveryScreenShowsMarkupAsText(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"firstName": markup, "lastName": markup})
	id := ada.workspace(t, markup, "slug: submit\nname: 'Folder "+strings.ReplaceAll(markup, "'", "''")+"/"+strings.ReplaceAll(markup, "'", "''")+"'\ndescription: '"+strings.ReplaceAll(markup, "'", "''")+"'\ndo:\n  - emit: {event: made, payload: {text: '"+strings.ReplaceAll(markup, "'", "''")+"'}}\n  - wait: {oneOf: [{event: never}], timeout: 3600}\n")
	w := "/v2/workspaces/" + id
	ada.do(t, http.StatusOK, "PATCH", w, map[string]any{"description": markup})
	ada.do(t, http.StatusCreated, "POST", w+"/events", map[string]any{"events": []any{map[string]any{"type": "made", "payload": map[string]any{markup: markup}}}})
	ada.do(t, http.StatusCreated, "POST", w+"/collections/expenses/rows", map[string]any{"what": markup, "amount": 1})
	ada.do(t, http.StatusAccepted, "POST", w+"/test/submit?async=true&record=true", map[string]any{"payload": map[string]any{"body": markup}})
	require.Eventually(t, func() bool { return len(ada.list(t, w+"/waits")) == 1 }, patience, 20*time.Millisecond)
	b := ada.open(t)
	for _, path := range b.allScreens(id) {
		b.visit(path)
		b.awaitLayout()
		require.Equal(t, 0, eval[int](b, `document.querySelectorAll('.injected, img[src="x"]').length`), path)
	}
}
