package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/file"
	"svc/http/gateway"
	"svc/projections"
)

// showFile is a file as the caller sees it.
func showFile(d Deps, r *http.Request, f projections.File) (shownFile, error) {
	shown := shownFile{
		ID: f.ID, Name: f.State.Name, URL: fileURL(d, f.State), Mimetype: f.Mimetype, Size: f.Size, WorkspaceID: f.WorkspaceID, Path: f.Path,
		Public: f.Public, Metadata: f.Metadata, ExpiresAfter: f.ExpiresAfter, Checksum: f.Checksum,
		CreatedAt: f.CreatedAt, CreatedBy: f.CreatedBy, UpdatedAt: f.UpdatedAt, UpdatedBy: f.UpdatedBy,
	}
	if shown.Metadata == nil {
		shown.Metadata = map[string]any{}
	}
	if !f.ExpiresAt.IsZero() {
		shown.ExpiresAt = f.ExpiresAt.UTC().Format(domain.Timestamp)
	}
	var err error
	if gateway.GrantFrom(r.Context()).Rights.Allows("update", "files", fileObject(f.State), "shareToken") {
		shown.ShareToken, err = d.Files.Links.ShareToken(r.Context(), f.State)
	}
	return shown, err
}

// fileAfter is the answer to a write: the file as a read would show it now.
func fileAfter(d Deps, r *http.Request, s file.State) (shownFile, error) {
	settle(r.Context(), d.ReadModel)
	f := projections.File{State: s}
	_ = d.ReadModel.View(func(rd projections.Reader) error { // the write has happened: without its times then
		if found, ok, err := (projections.Files{}).Get(rd, s.WorkspaceID, s.ID, d.Now()); err == nil && ok {
			f = found
		}
		return nil
	})
	return showFile(d, r, f)
}

// fileURL is where a file is downloaded.
func fileURL(d Deps, s file.State) string {
	base := strings.TrimRight(d.Files.URL, "/")
	if base == "" {
		base = "/v2"
	}
	return base + "/files/" + url.PathEscape(s.WorkspaceID) + "/" + s.ID + "." + url.PathEscape(s.Name)
}

// listFiles handles GET …/files. Permissions come before paging, so that pages
// are full and the count is right.
func listFiles(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		page, sort := q.Page(20, 100), q.Sort("name", "size", "mimetype", "createdAt", "updatedAt")
		if err := q.Err(); err != nil {
			return nil, err
		}
		wanted, err := readFileQuery(r)
		if err != nil {
			return nil, err
		}
		readable := gateway.GrantFrom(r.Context()).Rights.Filter("read", "files")
		var found []projections.File
		err = d.ReadModel.View(func(rd projections.Reader) error {
			return projections.Files{}.List(rd, workspaceID(r), d.Now(), func(f projections.File) bool {
				if readable(fileObject(f.State)) && wanted.matches(f) {
					found = append(found, f)
				}
				return true
			})
		})
		if err != nil {
			return nil, err
		}
		orderFiles(found, sort)
		from := min(page.Offset(), len(found))
		shown := []shownFile{}
		for _, f := range found[from:min(from+page.Limit, len(found))] {
			item, err := showFile(d, r, f)
			if err != nil {
				return nil, err
			}
			shown = append(shown, item)
		}
		return gateway.List(r, shown, len(found), page), nil
	}
}

// fileQuery is what fields must be: values of JSON, or texts that stand for
// whatever value is written so.
type fileQuery []fieldQuery

type fieldQuery struct {
	field string
	value any
	text  bool
}

// fileFields are what files can be asked for by, besides those of their metadata.
var fileFields = []string{
	"id", "name", "mimetype", "size", "public", "checksum", "expiresAt", "expiresAfter", "createdAt", "createdBy", "updatedAt", "updatedBy",
}

// readFileQuery reads the conditions of a list: {field}=value, or query, a JSON
// object of them.
func readFileQuery(r *http.Request) (wanted fileQuery, err error) {
	for name, texts := range r.URL.Query() {
		switch name {
		case "page", "limit", "sort":
		case "query":
			var whole map[string]any
			if len(texts) != 1 || json.Unmarshal([]byte(texts[0]), &whole) != nil {
				return nil, badFileQuery("query", "must be a JSON object of field and value")
			}
			for field, value := range whole {
				wanted = append(wanted, fieldQuery{field, value, false})
			}
		default:
			if len(texts) != 1 {
				return nil, badFileQuery(name, "was given twice")
			}
			wanted = append(wanted, fieldQuery{name, texts[0], true})
		}
	}
	for _, w := range wanted {
		if !slices.Contains(fileFields, w.field) && !strings.HasPrefix(w.field, "metadata.") {
			return nil, badFileQuery(w.field, "is no field of a file")
		}
	}
	return wanted, nil
}

func badFileQuery(parameter, message string) error {
	parameter = shortened(parameter)
	return domain.Refuse(domain.CodeInvalidParameter, "%s %s", parameter, message).With("parameter", parameter)
}

// matches reports whether a file is what was asked for.
func (q fileQuery) matches(f projections.File) bool {
	for _, w := range q {
		have, ok := fieldOfFile(f, w.field)
		if !ok || w.text && queryText(have) != w.value || !w.text && !domain.Same(have, w.value) {
			return false
		}
	}
	return true
}

// queryText is a value as a query has it: a text as it is, others as JSON.
func queryText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	body, _ := json.Marshal(value) // it was JSON before
	return string(body)
}

// fieldOfFile returns a field by its dotted path; ok is false when the file has
// none.
func fieldOfFile(f projections.File, path string) (value any, ok bool) {
	switch path {
	case "createdAt":
		return f.CreatedAt, true
	case "updatedAt":
		return f.UpdatedAt, true
	case "updatedBy":
		return f.UpdatedBy, true
	case "expiresAfter":
		return f.ExpiresAfter, f.ExpiresAfter != 0
	}
	first, rest, deeper := strings.Cut(path, ".")
	value, ok = fileObject(f.State).Field(first)
	for ok && deeper {
		var fields map[string]any
		if fields, ok = value.(map[string]any); ok {
			first, rest, deeper = strings.Cut(rest, ".")
			value, ok = fields[first]
		}
	}
	return value, ok
}

// orderFiles sorts what came the newest first.
func orderFiles(found []projections.File, by gateway.Sort) {
	slices.SortStableFunc(found, func(a, b projections.File) int {
		if by.Down {
			a, b = b, a
		}
		switch by.Field {
		case "name":
			return strings.Compare(strings.ToLower(a.State.Name), strings.ToLower(b.State.Name))
		case "mimetype":
			return strings.Compare(a.Mimetype, b.Mimetype)
		case "size":
			return int(min(1, max(-1, a.Size-b.Size)))
		case "createdAt":
			return strings.Compare(a.CreatedAt, b.CreatedAt)
		}
		return strings.Compare(a.UpdatedAt, b.UpdatedAt)
	})
}
