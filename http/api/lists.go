package api

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// workspaceMeta is an item of the list of workspaces.
type workspaceMeta struct {
	ID string `json:"id"`
	workspace.Settings
	Labels    []string `json:"labels"`
	ClientID  string   `json:"clientId"`
	Role      string   `json:"role,omitempty"`
	CreatedAt string   `json:"createdAt"`
	CreatedBy string   `json:"createdBy"`
	UpdatedAt string   `json:"updatedAt"`
	UpdatedBy string   `json:"updatedBy"`
}

// workspaceQuery is what GET /v2/workspaces asks for.
type workspaceQuery struct {
	search string
	name   *regexp.Regexp
	ids    []string
	labels []string
	member string // user id, or nobody's
	owned  bool
}

// listWorkspaces handles GET /v2/workspaces. Permissions come before paging, so
// that pages are full and the count is right.
func listWorkspaces(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		q.Unsupported("slug", "dirty", "deleted")
		page, sort := q.Page(20, 100), q.Sort("name", "createdAt", "updatedAt")
		wanted, err := readWorkspaceQuery(d, q)
		if err != nil {
			return nil, err
		}
		var found []workspaceMeta
		err = d.ReadModel.View(func(rd projections.Reader) error {
			found, err = matchingWorkspaces(d, r, rd, wanted)
			return err
		})
		if err != nil {
			return nil, err
		}
		order(found, sort)
		from := min(page.Offset(), len(found))
		return gateway.List(r, found[from:min(from+page.Limit, len(found))], len(found), page), nil
	}
}

func readWorkspaceQuery(d Deps, q *gateway.Query) (w workspaceQuery, err error) {
	w = workspaceQuery{search: strings.ToLower(q.Text("search")), ids: q.List("ids"), labels: q.List("labels"), owned: q.Flag("owned")}
	name, email := q.Text("name"), q.Text("email")
	if err := q.Err(); err != nil {
		return w, err
	}
	if name != "" {
		if w.name, err = access.Pattern("(?i)" + name); err != nil {
			return w, domain.Refuse(domain.CodeInvalidParameter, "name: %v", err).With("parameter", "name")
		}
	}
	if email == "" {
		return w, nil
	}
	found, err := findUser(d, "", email)
	if domain.CodeOf(err) == domain.CodeNotFound {
		found.ID, err = "nobody", nil
	}
	w.member = found.ID
	return w, err
}

// matchingWorkspaces returns what was asked for of what the caller may read, the
// last updated first.
func matchingWorkspaces(d Deps, r *http.Request, rd projections.Reader, q workspaceQuery) (found []workspaceMeta, err error) {
	readable := d.Access.Readable(gateway.CallerFrom(r.Context()), rd)
	memberOf := map[string]bool{}
	if q.member != "" {
		err = projections.Access{}.Of(rd, q.member, func(id string) bool { memberOf[id] = true; return true })
	}
	if err != nil {
		return nil, err
	}
	listErr := projections.Workspaces{}.List(rd, func(doc projections.Document) bool {
		var item workspaceMeta
		if err = json.Unmarshal(doc.JSON, &item); err != nil {
			return false
		}
		if q.member != "" && !memberOf[item.ID] || !q.matches(item) {
			return true // before the rights: they may cost more
		}
		var rights *access.Rights
		var may bool
		if rights, may, err = readable(item.ID); err != nil {
			return false
		}
		if may && (!q.owned || slices.Contains(rights.Roles(), "owner")) {
			item.ClientID, item.Role = workspace.ClientID(item.ID), rights.Role()
			item.Labels = append([]string{}, item.Labels...)
			found = append(found, item)
		}
		return true
	})
	if err == nil {
		err = listErr
	}
	return found, err
}

func (q workspaceQuery) matches(w workspaceMeta) bool {
	switch {
	case len(q.ids) > 0 && !slices.Contains(q.ids, w.ID),
		q.name != nil && !q.name.MatchString(w.Name),
		q.search != "" && !strings.Contains(strings.ToLower(w.Name+"\n"+w.Description), q.search):
		return false
	}
	return len(q.labels) == 0 || slices.ContainsFunc(q.labels, func(l string) bool { return slices.Contains(w.Labels, l) })
}

// order sorts what came the last updated first.
func order(found []workspaceMeta, by gateway.Sort) {
	field := func(w workspaceMeta) string {
		switch by.Field {
		case "name":
			return strings.ToLower(w.Name)
		case "createdAt":
			return w.CreatedAt
		}
		return w.UpdatedAt
	}
	slices.SortStableFunc(found, func(a, b workspaceMeta) int {
		if by.Down {
			a, b = b, a
		}
		return strings.Compare(field(a), field(b))
	})
}
