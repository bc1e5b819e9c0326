package api

import (
	"net/http"
	"net/url"
	"strings"

	"svc/commands/apps"
	"svc/commands/content"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// shownOfInstance are the fields of an app instance that the service sets.
var shownOfInstance = []string{"appName", "photo", "automations", "events", "blocks", "missing"}

// listInstances handles GET /v2/workspaces/{workspaceId}/apps.
func listInstances(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		page, err := pageIfAsked(r)
		if err != nil {
			return nil, err
		}
		id, total := workspaceID(r), 0
		var found []*document.Map
		err = d.ReadModel.View(func(rd projections.Reader) error {
			return projections.Content{}.List(rd, id, instanceFolder, func(item projections.Item) (bool, error) {
				if total++; total <= page.Offset() || len(found) == page.Limit {
					return true, nil // of another page: what its app adds is not read
				}
				doc, err := d.instanceDetail(r.Context(), rd, id, item)
				found = append(found, doc)
				return true, err
			})
		})
		if err != nil {
			return nil, err
		}
		return gateway.List(r, found, total, page), nil
	}
}

// readInstance reads the body of an app instance, or of a change of one.
func readInstance(r *http.Request) (sent, error) {
	if err := mayChangeInstances(gateway.GrantFrom(r.Context()).Rights); err != nil {
		return sent{}, err
	}
	in, err := readDocument(r)
	if err != nil {
		return in, err
	}
	in.doc = withoutReadOnly(in.doc, shownOfInstance...)
	return in, nil
}

// mayChangeInstances asks for the right to change what is installed: a rule for
// some fields of the workspace must name this one.
func mayChangeInstances(rights *access.Rights) error {
	return rights.Check("update", "workspaces", nil, "imports")
}

// instanceFaults returns what is wrong with an app instance; of a change, only
// what it names, and null removes an optional field.
func instanceFaults(doc *document.Map, whole bool) error {
	if whole {
		return shape.Refusal(shape.Check(document.Import, doc))
	}
	checked := document.MapOf(document.Pair{Key: "appSlug", Value: "unchanged"})
	for key, v := range doc.All() {
		if v != nil || key == "appSlug" {
			checked.Set(key, v)
		}
	}
	return shape.Refusal(shape.Check(document.Import, checked))
}

// mayInstall hides apps that the caller may not read, as reading them does.
func mayInstall(d Deps, r *http.Request, appSlug string) error {
	may, err := judgeOf(d, r).MayInstall(r.Context(), appSlug)
	if err == nil && !may {
		err = apps.NotFound(appSlug)
	}
	return err
}

// installApp handles POST /v2/workspaces/{workspaceId}/apps.
func installApp(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in, err := readInstance(r)
		if err != nil {
			return nil, err
		}
		dry, err := dryRun(r)
		if err != nil {
			return nil, err
		}
		id := workspaceID(r)
		err = instanceFaults(in.doc, true)
		if err == nil {
			err = mayInstall(d, r, in.doc.Text("appSlug"))
		}
		if err == nil && dry {
			err = d.Content.CheckInstall(r.Context(), id, in.doc)
		}
		if dry {
			return in.judged(err)
		}
		if err != nil {
			return nil, in.withLines(err)
		}
		done, err := d.Content.Create(r.Context(), id, "imports", in.doc)
		if err != nil {
			return nil, in.withLines(err)
		}
		settle(r.Context(), d.ReadModel)
		_, slug := workspace.Folder(done.Path)
		body, err := d.instanceAnswer(r, slug)
		if err != nil {
			return nil, err
		}
		location := strings.TrimRight(r.URL.EscapedPath(), "/") + "/" + url.PathEscape(slug)
		return madeAt(body, location), nil
	}
}

// getInstance handles GET /v2/workspaces/{workspaceId}/apps/{slug}.
func getInstance(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		found, err := d.instance(r)
		if err != nil {
			return nil, err
		}
		return found.answer(r)
	}
}

// updateInstance handles PATCH and PUT /v2/workspaces/{workspaceId}/apps/{slug}.
func updateInstance(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in, err := readInstance(r)
		if err != nil {
			return nil, err
		}
		return d.amendInstance(r, in, func(now *document.Map) (*document.Map, error) {
			if in.isPatch(r) {
				return merged(now, in.doc), instanceFaults(in.doc, false)
			}
			return in.doc.Copy(), instanceFaults(in.doc, true)
		})
	}
}

// getInstanceConfig handles GET /v2/workspaces/{workspaceId}/apps/{slug}/config.
func getInstanceConfig(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		found, err := d.instance(r)
		if err != nil {
			return nil, err
		}
		return jsonOf(found.doc.Object("config").Copy(), found.tag)
	}
}

// updateInstanceConfig handles PATCH
// /v2/workspaces/{workspaceId}/apps/{slug}/config.
func updateInstanceConfig(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		if err := mayChangeInstances(gateway.GrantFrom(r.Context()).Rights); err != nil {
			return nil, err
		}
		in, err := readDocument(r)
		if err != nil {
			return nil, err
		}
		return d.amendInstance(r, in, func(now *document.Map) (*document.Map, error) {
			next := now.Copy()
			next.Set("config", merged(now.Object("config"), in.doc))
			return next, nil
		})
	}
}

// amendInstance changes the instance that the path names, or says what would be
// wrong with the change.
func (d Deps) amendInstance(r *http.Request, in sent, change func(*document.Map) (*document.Map, error)) (any, error) {
	dry, err := dryRun(r)
	if err != nil {
		return nil, err
	}
	readable := func(now *document.Map) (*document.Map, error) {
		next, err := change(now)
		if err == nil && (next.Text("appSlug") != now.Text("appSlug") || next.Text("appVersion") != now.Text("appVersion")) {
			err = mayInstall(d, r, next.Text("appSlug"))
		}
		return next, err
	}
	done, err := d.Content.Amend(r.Context(), workspaceID(r), gateway.Var(r, "slug"), content.Amendment{Change: readable, IfMatch: ifMatch(r), DryRun: dry})
	if dry {
		return in.judged(err)
	}
	if err != nil {
		return nil, in.withLines(err)
	}
	settle(r.Context(), d.ReadModel)
	_, slug := workspace.Folder(done.Path)
	return d.instanceAnswer(r, slug)
}

// uninstallApp handles DELETE /v2/workspaces/{workspaceId}/apps/{slug}.
func uninstallApp(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		if err := mayChangeInstances(gateway.GrantFrom(r.Context()).Rights); err != nil {
			return nil, err
		}
		slug := gateway.Var(r, "slug")
		if _, err := d.Content.Remove(r.Context(), workspaceID(r), "imports", slug, ifMatch(r)); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return idAndSlug{slug, slug}, nil
	}
}
