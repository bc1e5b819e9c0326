package projections_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/app"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/workspace"
	"svc/projections"
)

// newFeedEntry is a document as an event carries it.
func newFeedEntry(path, body string) workspace.Entry {
	return workspace.Entry{Path: path, Hash: workspace.HashOf([]byte(body)), Body: json.RawMessage(body)}
}

// problemsOf lists the problems of a workspace as "severity object field: message".
func problemsOf(t *testing.T, h *fixture, id string) []string {
	t.Helper()
	all := []string{}
	require.NoError(t, h.View(func(r projections.Reader) error {
		return projections.Problems{}.List(r, id, func(p projections.Problem) bool {
			severity := "error"
			if p.Warning {
				severity = "warning"
			}
			all = append(all, severity+" "+p.Object+" "+p.Field+" "+p.Kind+": "+p.Message)
			return true
		})
	}))
	return all
}

func settingsOf(t *testing.T, index string) workspace.Settings {
	t.Helper()
	doc := &document.Map{}
	require.NoError(t, json.Unmarshal([]byte(index), doc))
	s, err := workspace.FromIndex(doc)
	require.NoError(t, err)
	return s
}

// What a change fixes or breaks elsewhere shows at once.
func TestProblemsFollowTheChange(t *testing.T) {
	t.Parallel()
	h := newFixture(t, projections.Problems{})
	r := newRecorder(t, h)
	shop := workspace.Stream("shop")
	const (
		noCall   = `warning automations/order do[0].charg call: there is no instruction and no automation "charg"`
		noSecret = `warning automations/order do[1].fetch.headers.k secret: the secret "pay" has no value`
		noEvent  = `warning automations/order when.events[0] event: no automation, page or app of this workspace emits "paid"; if it is sent from outside, declare it in events.types`
		order    = `{"slug":"order","name":"Order","when":{"events":["paid"]},"do":[{"charg":{}},{"fetch":{"url":"https://a.example","headers":{"k":"{{secret.pay}}"}}}]}`
	)
	saved := func(slug, body string) domain.Event {
		return workspace.AutomationCreated{Entry: newFeedEntry("automations/"+slug, body)}
	}
	change := func(t *testing.T, ev domain.Event, want ...string) {
		t.Helper()
		r.state(shop, ev)
		require.Equal(t, append([]string{}, want...), problemsOf(t, h, "shop"))
	}
	change(t, workspace.Created{Workspace: snapshot("shop", "Shop")})
	change(t, saved("order", order), noCall, noSecret, noEvent)
	change(t, saved("charg", `{"slug":"charg","name":"C","do":[]}`), noSecret, noEvent)
	change(t, workspace.SecretsUpdated{Created: []string{"pay"}, Values: map[string]workspace.Secret{"pay": {}}}, noEvent)
	change(t, saved("till", `{"slug":"till","name":"T","do":[{"emit":{"event":"paid"}}]}`))
	change(t, workspace.AutomationUpdated{Entry: newFeedEntry("automations/till", `{"slug":"till","name":"T","do":[{"emit":{"event":"{{which}}"}}]}`)})
	change(t, workspace.AutomationDeleted{Slug: "till"}, noEvent)
	change(t, workspace.PageCreated{Entry: newFeedEntry("pages/home", `{"slug":"home","name":"H","onInit":"paid","automation":"gone"}`)},
		`warning pages/home automation call: there is no instruction and no automation "gone"`)
	change(t, workspace.PageDeleted{Slug: "home"}, noEvent)
	declared := workspace.Snapshot{ID: "shop", Settings: settingsOf(t, `{"name":"Shop","events":{"types":{"paid":{}}},"secrets":{"schema":{"other":{"type":"string"}}},"config":{"value":{"k":"{{secret.third}}"}}}`)}
	change(t, workspace.Updated{Workspace: declared},
		`warning index config.value.k secret: the secret "third" has no value`, `warning index secrets.schema.other secret: the secret "other" has no value`)
	change(t, workspace.Updated{Workspace: snapshot("shop", "Shop")}, noEvent)
	change(t, workspace.SecretsUpdated{Deleted: []string{"pay"}}, noSecret, noEvent)
	change(t, workspace.AutomationUpdated{Entry: workspace.Entry{Path: "automations/c2", From: "automations/charg", Hash: "h", Body: []byte(`{"slug":"c2","name":"C","do":[]}`)}},
		noCall, noSecret, noEvent)
	change(t, workspace.AutomationDeleted{Slug: "order"})

	t.Run("app instances", func(t *testing.T) {
		use := `{"slug":"use","name":"U","when":{"events":["Mail.sent"]},"do":[{"Mail.send":{}}]}`
		change(t, saved("use", use),
			`warning automations/use do[0]["Mail.send"] call: there is no instruction and no automation "Mail.send"`,
			`warning automations/use when.events[0] event: no automation, page or app of this workspace emits "Mail.sent"; if it is sent from outside, declare it in events.types`)
		instance := newFeedEntry("imports/Mail", `{"slug":"Mail","appSlug":"mail","config":{"key":"{{secret.pay}}","size":"big"}}`)
		instance.App = "mail"
		noKey := `warning imports/Mail config.key secret: the secret "pay" has no value`
		// Who reads problems knows what apps offer, and leaves this one out if it exists.
		perhaps := `warning automations/use do[0]["Mail.send"] instanceCall: the app instance "Mail" has no automation "send" that can be called from here`
		change(t, workspace.Installed{Entry: instance}, perhaps, noKey)
		post := workspace.Stream("post")
		r.state(post, workspace.Created{Workspace: workspace.Snapshot{ID: "post", Settings: settingsOf(t, `{"name":"Post","config":{"schema":{"size":{"type":"number"},"key":{"type":"string"}}}}`)}})
		r.state(post, workspace.AutomationCreated{Entry: newFeedEntry("automations/a", `{"slug":"a","name":"A","when":{"events":["x"]},"do":[]}`)})
		require.Len(t, problemsOf(t, h, "post"), 1)
		r.state(app.Stream("mail"), app.Published{App: app.App{Slug: "mail", WorkspaceID: "post", Versions: []app.Version{{Name: "1", Revision: 1 << 40}}}})
		found := problemsOf(t, h, "shop")
		require.Len(t, found, 3)
		wrong := found[2]
		require.Contains(t, wrong, "error imports/Mail config.size : ")
		r.state(post, workspace.Configured{Workspace: workspace.Snapshot{ID: "post", Settings: settingsOf(t, `{"name":"Post","config":{"schema":{"size":{"type":"string"},"key":{"type":"string"}}}}`)}})
		require.Contains(t, problemsOf(t, h, "shop"), wrong, "it is not published yet")
		r.state(app.Stream("mail"), app.Published{App: app.App{Slug: "mail", WorkspaceID: "post", Versions: []app.Version{{Name: "2", Revision: 1 << 40}}}})
		require.Equal(t, []string{perhaps, noKey}, problemsOf(t, h, "shop"))
		require.Empty(t, problemsOf(t, h, "post"), "who installs the app may emit what it listens to")
		r.state(app.Stream("mail"), app.Deleted{AppSlug: "mail"})
		require.Contains(t, problemsOf(t, h, "shop"), `warning imports/Mail appSlug : the app "mail" is not published any more; the instance runs the version that it has`)
		require.Len(t, problemsOf(t, h, "post"), 1)
		change(t, workspace.Uninstalled{Slug: "Mail"},
			`warning automations/use do[0]["Mail.send"] call: there is no instruction and no automation "Mail.send"`,
			`warning automations/use when.events[0] event: no automation, page or app of this workspace emits "Mail.sent"; if it is sent from outside, declare it in events.types`)
		change(t, workspace.AutomationDeleted{Slug: "use"})
	})
	t.Run("repositories", func(t *testing.T) {
		step := func(p operation.Progress) {
			p.RepositoryID = "origin"
			r.state(operation.Stream("shop", "op_1"), p)
		}
		step(operation.Progress{Step: operation.ErrorStep, State: operation.StepFailed, Failure: &operation.Failure{Message: "no route to host", Details: map[string]any{"reason": "remote_unreachable"}}})
		require.Equal(t, []string{"error repositories/origin  : the repository could not be reached: no route to host"}, problemsOf(t, h, "shop"))
		step(operation.Progress{Step: operation.Checkout, State: operation.StepStarted})
		require.Len(t, problemsOf(t, h, "shop"), 1)
		step(operation.Progress{Step: operation.Checkout, State: operation.StepDone})
		require.Empty(t, problemsOf(t, h, "shop"))
	})
	t.Run("faults of an import show", func(t *testing.T) {
		change(t, workspace.Imported{Switch: workspace.Switch{Entries: []workspace.Entry{
			newFeedEntry("automations/bad", `{"slug":"bad","name":"B","when":{"schedules":["99 * * * *"]},"do":[{"emit":{}}]}`),
		}}},
			`error automations/bad when.schedules[0] : minute "99": expected a value from 0 to 59`,
			`error automations/bad do[0].emit.event : is required`)
		change(t, workspace.Restored{Switch: workspace.Switch{Deleted: []string{"automations/bad"}}})
	})
	requireTrue(t, h.Models)
}

// However a workspace came to be what it is, its problems are those of its content.
func TestProblemsAreThoseOfTheContent(t *testing.T) {
	t.Parallel()
	h := newFixture(t, projections.Problems{})
	r := newRecorder(t, h)
	rnd := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c", "d"}
	pick := func() string { return names[rnd.IntN(len(names))] }
	live := workspace.Stream("live")
	r.state(live, workspace.Created{Workspace: snapshot("live", "Live")})
	content, secrets := map[string]string{}, map[string]bool{}
	for n := range 60 {
		slug := pick()
		path := "automations/" + slug
		_, known := content[path]
		switch rnd.IntN(6) {
		case 0:
			if known {
				delete(content, path)
				r.state(live, workspace.AutomationDeleted{Slug: slug})
			}
		case 1:
			secrets[slug] = !secrets[slug]
			if secrets[slug] {
				r.state(live, workspace.SecretsUpdated{Values: map[string]workspace.Secret{slug: {}}})
			} else {
				r.state(live, workspace.SecretsUpdated{Deleted: []string{slug}})
			}
		case 2:
			to := "automations/" + pick()
			if _, taken := content[to]; known && !taken {
				body := content[path]
				content[to] = body
				delete(content, path)
				e := newFeedEntry(to, body)
				e.From = path
				r.state(live, workspace.AutomationUpdated{Entry: e})
			}
		default:
			emit := []string{"e." + pick(), pick(), "e.{{x}}", "{{x}}"}[rnd.IntN(4)]
			body := fmt.Sprintf(`{"name":"N","when":{"events":["e.%s","%s","e.*"]},"do":[{"%s":{"k":"{{secret.%s}}"}},{"emit":{"event":"%s"}}]}`, pick(), pick(), pick(), pick(), emit)
			content[path] = body
			r.state(live, workspace.AutomationUpdated{Entry: newFeedEntry(path, body)})
		}
		if n%5 > 0 {
			continue
		}
		id := fmt.Sprintf("fresh%d", n)
		made := workspace.Created{Workspace: snapshot(id, "Fresh")}
		for path, body := range content {
			made.Entries = append(made.Entries, newFeedEntry(path, body))
		}
		r.state(workspace.Stream(id), made)
		for name, has := range secrets {
			if has {
				r.state(workspace.Stream(id), workspace.SecretsUpdated{Values: map[string]workspace.Secret{name: {}}})
			}
		}
		require.Equal(t, problemsOf(t, h, id), problemsOf(t, h, "live"), "after %d changes", n)
	}
	requireTrue(t, h.Models)
}

// An import of more documents than fit into one transaction is applied all the same.
func TestProblemsOfAnImportOfThousands(t *testing.T) {
	t.Parallel()
	h := newFixture(t, projections.Problems{})
	r := newRecorder(t, h)
	big := workspace.Stream("big")
	r.state(big, workspace.Created{Workspace: snapshot("big", "Big")})
	const parts, each = 20, 200
	for p := range parts {
		entries := make([]workspace.Entry, each)
		for i := range entries {
			n := p*each + i
			entries[i] = newFeedEntry(fmt.Sprintf("automations/a%d", n), fmt.Sprintf(
				`{"slug":"a%d","name":"A","when":{"events":["never.sent.%d"]},"do":[{"a%d":{}},{"nowhere%d":{"k":"{{secret.s%d}}"}},{"emit":{"event":"some.event.%d"}}]}`, n, n, n+1, n, n, n))
		}
		r.state(big, workspace.Staged{Name: "one", Entries: entries})
	}
	require.Empty(t, problemsOf(t, h, "big"))
	r.state(big, workspace.Imported{Switch: workspace.Switch{Stage: "one"}})
	require.Len(t, problemsOf(t, h, "big"), 3*parts*each+1)
	r.state(big, workspace.AutomationCreated{Entry: newFeedEntry("automations/nowhere7", `{"slug":"nowhere7","name":"N","do":[]}`)})
	require.Len(t, problemsOf(t, h, "big"), 3*parts*each)
	requireTrue(t, h.Models)
}
