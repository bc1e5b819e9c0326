package api

import (
	"encoding/json"
	"maps"
	"slices"

	"svc/commands/content"
	"svc/domain/access"
	"svc/domain/workspace"
	"svc/projections"
)

// unreadObject is a document as rules see it, which is read when a rule asks for
// what it says: most do not. It is good as long as its reader.
type unreadObject struct {
	rd         projections.Reader
	id, folder string
	item       projections.Item
	object     access.Object // nil: not read yet
}

// Field implements access.Object.
func (o *unreadObject) Field(name string) (any, bool) {
	switch name {
	case "slug":
		return o.item.Slug(), true
	case "workspaceId":
		return o.id, true
	case "runningWorkspaceId":
		if o.folder == "automations" {
			return o.id, true
		}
	}
	if o.object == nil {
		o.object = objectAt(o.rd, o.id, o.folder, o.item)
	}
	return o.object.Field(name)
}

// withPast adds the documents that a workspace had to the fields of it, for those
// who may read them.
func withPast(body []byte, rd projections.Reader, rights *access.Rights, id string, refs map[string]content.Ref) (_ []byte, err error) {
	paths := slices.Sorted(maps.Keys(refs))
	for _, folder := range []string{"automations", "pages", "imports"} {
		body = append(append(body, `,"`+folder+`":`...), '{')
		first := true
		for _, path := range paths {
			in, slug := workspace.Folder(path)
			ref := refs[path]
			item := projections.Item{Path: path, Hash: ref.Hash, ID: ref.ID, Public: ref.Public}
			if in != folder || !mayReadDocument(rd, rights, id, folder, item) {
				continue
			}
			if !first {
				body = append(body, ',')
			}
			if body, err = appendPast(body, rd, id, slug, ref.Hash); err != nil {
				return body, err
			}
			first = false
		}
		body = append(body, '}')
	}
	return body, nil
}

// appendPast adds one document, as lists show it.
func appendPast(body []byte, rd projections.Reader, id, slug, hash string) ([]byte, error) {
	meta, err := projections.Content{}.RawMeta(rd, id, hash)
	if err != nil {
		return body, err
	}
	key, err := json.Marshal(slug)
	if err != nil {
		return body, err
	}
	body = append(append(body, key...), ':')
	body = append(body, meta.About[:len(meta.About)-1]...)
	if len(meta.About) > len("{}") {
		body = append(body, ',')
	}
	if meta.Events != nil {
		body = append(append(append(body, `"events":`...), meta.Events...), ',')
	}
	return append(append(body, `"checksum":"`+meta.Checksum...), `"}`...), nil
}
