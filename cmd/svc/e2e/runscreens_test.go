//go:build e2e

package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The states that every screen has, for those of what runs: activity, data and waits. Without the
// right to it a screen names it and is not in the menu; a lock stands above it; an earlier moment
// changes nothing; and all of it is there in French.
func TestStatesOfWhatRuns(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, eve := s.person(t, "Ada"), s.person(t, "Eve")
	id := ada.sample(t)
	w := "/v2/workspaces/" + id
	ada.do(t, http.StatusOK, "PUT", w+"/security", map[string]any{"authorizations": map[string]any{
		"roles": map[string]any{"guest": map[string]any{}}, "rules": []any{
			map[string]any{"role": "guest", "action": []any{"read"}, "subject": []any{"workspaces"}},
			map[string]any{"role": "guest", "action": []any{"read"}, "subject": []any{"events"}, "inverted": true},
		},
	}})
	ada.share(t, id, eve, map[string]any{"role": "guest"})
	screens := []struct{ name, path, right string }{
		{"activity", "w/" + id + "/activity", "read events"}, {"data", "w/" + id + "/data/expenses", "read collections"}, {"waits", "w/" + id + "/waits", "read events"},
	}
	sheets := map[string]*sheet{}
	for _, screen := range screens {
		sheets[screen.name] = newSheet(t, screen.name+"-states")
	}

	guest := eve.open(t)
	for _, screen := range screens {
		guest.visit(screen.path)
		guest.seeText(screen.right)
		sheets[screen.name].capture(guest, "forbidden")
	}
	for _, name := range []string{"Activity", "Data", "Waits"} {
		require.False(t, guest.has("link", name), name)
	}
	for _, asked := range guest.requests("") {
		require.NotEqual(t, int64(http.StatusForbidden), asked.status, "%s %s", asked.method, asked.path)
	}

	b := ada.open(t)
	ada.do(t, http.StatusOK, "POST", w+"/writeLock", map[string]any{"reason": "Release freeze"})
	for _, screen := range screens {
		b.visit(screen.path)
		b.seeText("Release freeze")
		b.await(firstRow)
		sheets[screen.name].capture(b, "locked")
	}
	ada.do(t, http.StatusOK, "DELETE", w+"/writeLock", nil)

	moment := time.Now().UTC().Format(time.RFC3339)
	for _, screen := range screens {
		b.visit(screen.path + "?at=" + moment)
		b.seeText("Nothing can be changed here.")
		b.await(firstRow)
		sheets[screen.name].capture(b, "past")
		switch screen.name {
		case "activity":
			b.visit(screen.path + "?at=2020-01-02T03:04:05Z")
			b.see("button", "Past period")
			b.see("heading", "Nothing happened yet")
		case "data":
			b.seeText("they are shown as they are now")
			b.press("n")
			require.False(t, b.has("heading", "New row"))
			require.Equal(t, "true", eval[string](b, `[...document.querySelectorAll('main button')].find((one) => one.textContent.includes('New row')).getAttribute('aria-disabled')`))
		case "waits":
			b.seeText("they are shown as they are now")
			require.Equal(t, "true", eval[string](b, `[...document.querySelectorAll('main [role=row] button')].find((one) => one.textContent.includes('Answer')).getAttribute('aria-disabled')`))
		}
	}

	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	for _, screen := range screens {
		b.visit(screen.path)
		b.await(`document.documentElement.lang === 'fr'`)
		b.await(firstRow)
		sheets[screen.name].capture(b, "French")
		eval[bool](b, `(() => { `+firstRow+`.focus(); return true })()`)
		b.press("Enter")
		b.await(`document.querySelector('dialog[open], main aside h2')`)
		sheets[screen.name].capture(b, "French, open")
	}
}
