//go:build e2e && tour

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pictures of docs/console.md: every screen with the sample workspace, light and dark. SVC_TOUR_DIR is where those
// go that are kept.
func TestTour(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SVC_TOUR_DIR")
	if dir == "" {
		dir = filepath.Join(outputDir(), "tour")
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	s, _, _, _ := startPlatform(t)
	s.person(t, "Ada")
	admin := s.admin(t)
	id := admin.sample(t)
	w := "/v2/workspaces/" + id
	admin.do(t, http.StatusOK, "PATCH", w, map[string]any{"labels": []string{"core"}})
	admin.do(t, http.StatusCreated, "POST", w+"/versions", map[string]any{"name": "v1.0.0", "description": "The first one", "repository": "main"})
	admin.do(t, http.StatusCreated, "POST", w+"/automations", "slug: remind\nname: Remind\ndo:\n  - emit: {event: expense.waiting}\n")
	admin.do(t, http.StatusCreated, "POST", w+"/subscriptions", map[string]any{"url": webhookSink(t).url, "types": []string{"expense.*"}, "description": "Accounting"})
	admin.uploadFile(t, id, "rules.txt", []byte("Expenses above 1000 wait for an approval.\n"))

	b := admin.open(t)
	b.resize(1120, 700)
	for _, screen := range []struct{ name, path string }{
		{"workspaces", "workspaces"}, {"home", "w/" + id}, {"automations", "w/" + id + "/automations/submit"}, {"pages", "w/" + id + "/pages/index"},
		{"apps", "w/" + id + "/apps?tab=catalogue"}, {"files", "w/" + id + "/files"}, {"config", "w/" + id + "/config"}, {"activity", "w/" + id + "/activity"},
		{"data", "w/" + id + "/data/expenses"}, {"waits", "w/" + id + "/waits"}, {"observability", "w/" + id + "/observability"}, {"webhooks", "w/" + id + "/webhooks"},
		{"versioning", "w/" + id + "/versioning"}, {"history", "w/" + id + "/history"}, {"security", "w/" + id + "/security?tab=rules"}, {"settings", "w/" + id + "/settings"},
		{"profile", "profile"}, {"bulk", "platform/bulk?plan&kind=push&repository=main&groups=base&name=v1.1.0"}, {"users", "platform/users"}, {"keys", "platform/keys"},
	} {
		b.visit(screen.path)
		b.await(`!document.querySelector('[aria-busy=true]')`, screen.name+" is there")
		for _, scheme := range []string{"light", "dark"} {
			b.prefer(scheme)
			b.savePicture(filepath.Join(dir, screen.name+"-"+scheme+".webp"))
		}
	}
}
