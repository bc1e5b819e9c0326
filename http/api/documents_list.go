package api

import (
	"net/http"
	"slices"
	"strings"

	"svc/domain/access"
	"svc/domain/document"
	"svc/http/gateway"
	"svc/projections"
)

// listDocuments handles GET of a folder. Permissions come before paging, so that
// pages are full and the count is right.
func listDocuments(d Deps, f folder) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		page, sort := q.Page(20, 100), q.Sort("slug", "createdAt", "updatedAt")
		search, labels := strings.ToLower(q.Text("search")), q.List("labels")
		if err := q.Err(); err != nil {
			return nil, err
		}
		id, rights := workspaceID(r), gateway.GrantFrom(r.Context()).Rights
		var shown []*document.Map
		total := 0
		err := d.ReadModel.View(func(rd projections.Reader) error {
			items, err := f.readable(rd, rights, id)
			if err != nil {
				return err
			}
			if len(items) == 0 && !rights.Could("read", f.name) {
				return rights.Refusal("read", f.name)
			}
			if search != "" || len(labels) > 0 {
				items, err = matching(rd, id, items, search, labels)
			}
			if err != nil {
				return err
			}
			orderItems(items, sort)
			total = len(items)
			from := min(page.Offset(), total)
			shown, err = listedItems(rd, id, items[from:min(from+page.Limit, total)])
			return err
		})
		if err != nil {
			return nil, err
		}
		return gateway.List(r, shown, total, page), nil
	}
}

// readable returns the documents of a folder that the caller may read.
func (f folder) readable(rd projections.Reader, rights *access.Rights, id string) (items []projections.Item, err error) {
	may := rights.Filter("read", f.name)
	if f.name == "pages" { // their own shares may say more than rules do
		may = func(o access.Object) bool { return rights.Allows("read", f.name, o) }
	}
	err = projections.Content{}.List(rd, id, f.name+"/", func(item projections.Item) (bool, error) {
		if may(objectAt(rd, id, f.name, item)) {
			items = append(items, item)
		}
		return true, nil
	})
	return items, err
}

// matching keeps the documents that a search finds.
func matching(rd projections.Reader, id string, items []projections.Item, search string, labels []string) (found []projections.Item, err error) {
	for _, item := range items {
		meta, err := projections.Content{}.Meta(rd, id, item.Hash)
		if err != nil {
			return nil, err
		}
		texts := []string{item.Slug()}
		for _, key := range []string{"name", "description"} {
			v, _ := meta.About.Get(key)
			text, _ := document.AsLocalized(v)
			texts = append(texts, text.Texts()...)
		}
		if strings.Contains(strings.ToLower(strings.Join(texts, "\n")), search) && labelled(meta.About, labels) {
			found = append(found, item)
		}
	}
	return found, nil
}

// labelled reports whether a document has one of the labels; of none, any has.
func labelled(about *document.Map, labels []string) bool {
	v, _ := about.Get("labels")
	own, _ := v.([]any)
	return len(labels) == 0 || slices.ContainsFunc(own, func(label any) bool {
		text, _ := label.(string)
		return slices.Contains(labels, text)
	})
}

// orderItems sorts what came in the order of slugs.
func orderItems(items []projections.Item, by gateway.Sort) {
	compare := func(a, b projections.Item) int {
		switch by.Field {
		case "slug":
			return strings.Compare(a.Path, b.Path)
		case "createdAt":
			return int(min(max(int64(a.Created)-int64(b.Created), -1), 1))
		}
		return int(min(max(int64(a.Updated)-int64(b.Updated), -1), 1))
	}
	slices.SortStableFunc(items, func(a, b projections.Item) int {
		if by.Down {
			a, b = b, a
		}
		return compare(a, b)
	})
}

func listedItems(rd projections.Reader, id string, items []projections.Item) ([]*document.Map, error) {
	rec, _, err := projections.Workspaces{}.Record(rd, id)
	if err != nil {
		return nil, err
	}
	shown := make([]*document.Map, len(items))
	for i, item := range items {
		if shown[i], err = listedDocument(rd, id, rec.Meta.Slug, item); err != nil {
			return nil, err
		}
	}
	return shown, nil
}
