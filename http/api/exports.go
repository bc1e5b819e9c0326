package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"svc/commands/content"
	"svc/domain"
	"svc/http/gateway"
	"svc/projections"
)

// current is the name of what no version has been made of yet.
const current = "current"

// exportWorkspace handles GET /v2/workspaces/{workspaceId}/export.
func exportWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) { return exported(d, r, current) }
}

// exportVersion handles GET and POST
// /v2/workspaces/{workspaceId}/versions/{name}/export.
func exportVersion(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) { return exported(d, r, gateway.Var(r, "name")) }
}

func exported(d Deps, r *http.Request, version string) (any, error) {
	id := workspaceID(r)
	rec, err := recordOf(d, id)
	if err != nil {
		return nil, err
	}
	seq := rec.Seq
	if version != current {
		if seq, err = versionSeq(d, r, version); err != nil {
			return nil, err
		}
	}
	tree, err := d.Content.Export(r.Context(), id, seq, readableIn(d, gateway.GrantFrom(r.Context()).Rights, id))
	if err != nil {
		return nil, err
	}
	return attachment(id+"-"+version+".zip", tree.WriteZip)
}

// manyAsked is the body of POST /v2/workspaces/export.
type manyAsked struct {
	Workspaces *struct {
		Query      map[string]any `json:"query"`
		Pagination *struct {
			Page  int  `json:"page"`
			Limit *int `json:"limit"`
		} `json:"pagination"`
	} `json:"workspaces"`
	IncludeApps bool `json:"includeApps"`
}

// exportMany handles POST /v2/workspaces/export.
func exportMany(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in manyAsked
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		list, err := d.asked(r, in)
		if err != nil {
			return nil, err
		}
		var more func(string) (content.Exported, bool, error)
		if in.IncludeApps {
			more = func(slug string) (content.Exported, bool, error) { return d.workspaceOf(r, slug) }
		}
		bulk, err := d.Content.ExportMany(r.Context(), list, more)
		if err != nil {
			return nil, err
		}
		return attachment("workspaces.zip", bulk.WriteZip)
	}
}

// asked lists the workspaces that an export asks for, of those that the caller
// may read, with the apps they publish.
func (d Deps) asked(r *http.Request, in manyAsked) (list []content.Exported, err error) {
	query, from, most := workspaceQuery{}, 0, d.Content.Limits().Workspaces+1
	if w := in.Workspaces; w != nil {
		if query, err = queryOf(d, w.Query); err != nil {
			return nil, err
		}
		if p := w.Pagination; p != nil {
			if most = 20; p.Limit != nil {
				most = *p.Limit
			}
			if most < 1 || most > d.Content.Limits().Workspaces || p.Page < 0 || p.Page > maxExportPage {
				return nil, domain.Invalid(domain.FieldError{Field: "workspaces.pagination", Message: "page begins with 0, limit goes from 1 to 2000"})
			}
			from = p.Page * most
		}
	}
	err = d.ReadModel.View(func(rd projections.Reader) error {
		found, err := matchingWorkspaces(d, r, rd, query)
		from = min(from, len(found))
		for _, w := range found[from:min(from+most, len(found))] {
			one, err := d.withApp(r, rd, w.ID)
			if err != nil {
				return err
			}
			list = append(list, one)
		}
		return err
	})
	return list, err
}

// maxExportPage keeps what comes before a page far from overflow.
const maxExportPage = 1_000_000

// filters are the members of a query, which are those of GET /v2/workspaces.
var filters = []string{"search", "name", "ids", "slug", "labels", "email", "owned", "dirty"}

// queryOf reads the filters of a body as those of an address.
func queryOf(d Deps, members map[string]any) (workspaceQuery, error) {
	values := url.Values{}
	for _, name := range filters {
		switch v := members[name].(type) {
		case nil:
		case string:
			values.Set(name, v)
		case bool:
			values.Set(name, strconv.FormatBool(v))
		case []any:
			var texts []string
			for _, item := range v {
				text, ok := item.(string)
				if !ok {
					return workspaceQuery{}, refuseField("workspaces.query."+name, "must be a list of texts")
				}
				texts = append(texts, text)
			}
			values.Set(name, strings.Join(texts, ","))
		default:
			return workspaceQuery{}, refuseField("workspaces.query."+name, "must be a text, a boolean or a list of texts")
		}
		delete(members, name)
	}
	for name := range members {
		return workspaceQuery{}, refuseField("workspaces.query."+name, "unknown field; known are "+strings.Join(filters, ", "))
	}
	return readWorkspaceQuery(d, gateway.NewQuery(&http.Request{URL: &url.URL{RawQuery: values.Encode()}}))
}

// workspaceOf returns the workspace of an app, if the caller may read it.
func (d Deps) workspaceOf(r *http.Request, appSlug string) (found content.Exported, ok bool, err error) {
	err = d.ReadModel.View(func(rd projections.Reader) error {
		app, published, err := projections.Apps{}.Get(rd, appSlug)
		if err != nil || !published || app.IsBuiltIn() {
			return err
		}
		if _, ok, err = d.Access.Readable(gateway.CallerFrom(r.Context()), rd)(app.WorkspaceID); err != nil || !ok {
			return err
		}
		found, err = d.withApp(r, rd, app.WorkspaceID)
		return err
	})
	return found, ok && err == nil, err
}

// withApp is a workspace as it is now and the caller may read it, with the app
// that it publishes.
func (d Deps) withApp(r *http.Request, rd projections.Reader, id string) (one content.Exported, err error) {
	rec, _, err := projections.Workspaces{}.Record(rd, id)
	if err != nil {
		return one, err
	}
	rights, _, err := d.Access.Readable(gateway.CallerFrom(r.Context()), rd)(id)
	if err != nil {
		return one, err
	}
	one = content.Exported{ID: id, Seq: rec.Seq, May: readableIn(d, rights, id)}
	app, published, err := projections.Apps{}.Of(rd, id)
	if err == nil && published {
		one.AppSlug, one.AppName = app.Slug, app.Name.First()
	}
	return one, err
}
