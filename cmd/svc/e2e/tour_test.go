//go:build e2e && tour

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/llm/fakemodel"
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
	s, _, repo, _ := startPlatform(t)
	s.person(t, "Ada")
	admin := s.admin(t)
	id := admin.sample(t)
	w := "/v2/workspaces/" + id
	admin.do(t, http.StatusOK, "PATCH", w, map[string]any{"labels": []string{"core"}})
	admin.do(t, http.StatusCreated, "POST", w+"/versions", map[string]any{"name": "v1.0.0", "description": "The first one", "repository": "main"})
	admin.do(t, http.StatusCreated, "POST", w+"/automations", "slug: remind\nname: Remind\ndo:\n  - emit: {event: expense.waiting}\n")
	admin.do(t, http.StatusCreated, "POST", w+"/subscriptions", map[string]any{"url": webhookSink(t).url, "types": []string{"expense.*"}, "description": "Accounting"})
	admin.uploadFile(t, id, "rules.txt", []byte("Expenses above 1000 wait for an approval.\n"))

	admin.do(t, http.StatusCreated, "PUT", w+"/blocks/Receipt", "description: Shows what was paid\nblocks:\n  - slug: RichText\n    content: Paid. Thank you.\n")
	b := admin.open(t)
	b.resize(1120, 700)
	show := func(name, path string, shown ...string) {
		t.Helper()
		b.visit(path)
		b.await(`!document.querySelector('[aria-busy=true]')`, name+" is there")
		for _, text := range shown {
			b.seeText(text)
		}
		for _, scheme := range []string{"light", "dark"} {
			b.prefer(scheme)
			b.awaitLayout()
			b.savePicture(filepath.Join(dir, name+"-"+scheme+".webp"))
		}
	}
	for _, screen := range []struct{ name, path string }{
		{"workspaces", "workspaces"}, {"home", "w/" + id}, {"automations", "w/" + id + "/automations/submit"},
		{"graph", "w/" + id + "/automations/submit?tab=graph"}, {"map", "w/" + id + "/map"}, {"pages", "w/" + id + "/pages/index"}, {"blocks", "w/" + id + "/blocks/Receipt"},
		{"apps", "w/" + id + "/apps?tab=catalogue"}, {"files", "w/" + id + "/files"}, {"config", "w/" + id + "/config"}, {"activity", "w/" + id + "/activity"},
		{"data", "w/" + id + "/data/expenses"}, {"waits", "w/" + id + "/waits"}, {"observability", "w/" + id + "/observability"}, {"webhooks", "w/" + id + "/webhooks"},
		{"versioning", "w/" + id + "/versioning"}, {"history", "w/" + id + "/history"}, {"security", "w/" + id + "/security?tab=rules"}, {"settings", "w/" + id + "/settings"},
		{"profile", "profile"}, {"bulk", "platform/bulk?plan&kind=push&repository=main&groups=base&name=v1.1.0"}, {"users", "platform/users"}, {"readiness", "platform/readiness"},
		{"platform-settings", "platform/settings"}, {"keys", "platform/keys"}, {"cleanup", "platform/cleanup"}, {"platform-history", "platform/history"},
	} {
		show(screen.name, screen.path)
	}

	// A base with vectors, and an agent that cites it.
	fake := admin.model(t, id)
	admin.do(t, http.StatusCreated, "POST", w+"/knowledgeBases", map[string]any{"name": "Expense rules", "description": "What is paid, and what is not", "embedding": map[string]any{"model": "own/" + fakemodel.EmbeddingModel}})
	for name, text := range map[string]string{
		"travel.md": "# Travel\n\nTrains are paid in second class. Flights need an approval before they are booked.\n\n## Hotels\n\nA hotel costs up to 150 a night.",
		"meals.md":  "# Meals\n\nMeals with guests are paid with the names of all guests. A meal on a journey costs up to 40.",
		"limits.md": "# Limits\n\nExpenses above 1000 wait for an approval. Receipts of hotels and trains are kept for ten years.",
	} {
		admin.do(t, http.StatusCreated, "POST", w+"/knowledgeBases/expense-rules/documents?wait=30", map[string]any{"name": name, "text": text, "tags": []string{"rules"}})
	}
	admin.do(t, http.StatusCreated, "POST", w+"/agents", map[string]any{
		"name": "Expense helper", "instructions": "You answer questions about expenses.", "knowledge": []any{map[string]any{"base": "expense-rules", "when": "always"}},
		"tools": []any{map[string]any{"automation": "remind"}},
	})
	admin.do(t, http.StatusOK, "POST", w+"/agents/expense-helper/publish", nil)
	fake.Script(fakemodel.Reply{Text: "A hotel may cost up to **150 a night** [1]. Keep the receipt."})
	conversation := admin.do(t, http.StatusOK, "POST", w+"/agents/expense-helper/messages", map[string]any{"text": "What may a hotel cost?"})["conversationId"].(string)
	show("knowledge", "w/"+id+"/knowledge/expense-rules?tab=search&q=hotel+trains", "Travel")
	show("agents", "w/"+id+"/agents/expense-helper?conversation="+conversation, "What may a hotel cost?")

	// Both sides changed the same: the operation that ended so, and its conflict.
	slug := admin.do(t, http.StatusOK, "GET", w, nil)["slug"].(string)
	editRemote(repo, slug+"/automations/submit.yml", "Submit an expense", "Hand in an expense")
	admin.rename(t, id, "submit", "Send an expense")
	require.Equal(t, http.StatusConflict, admin.ask(t, "POST", w+"/pull", map[string]any{"repository": "main"}).StatusCode)
	show("operation", "w/"+id+"/operations/"+admin.list(t, w+"/operations?limit=1")[0]["id"].(string))
	show("conflicts", "w/"+id+"/conflicts", "submit.yml")
	b = s.open(t) // somebody else
	b.resize(1120, 700)
	show("sign-in", "sign-in")
}
