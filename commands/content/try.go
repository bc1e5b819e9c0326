package content

import (
	"context"
	"errors"

	"svc/commands/archive"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/workspace"
)

// Try returns what saving a document would be refused for, or warned of, and
// saves nothing. slug is that of the document it would replace, "" for a new one.
// An automation is returned as it was understood.
func (c *Content) Try(ctx context.Context, workspaceID, folder, slug string, doc *document.Map) ([]Fault, *automation.Automation, error) {
	now, err := c.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return nil, nil, err
	}
	kind, path := kinds[folder], folder+"/"+slug
	item, exists := now.State.Items[path]
	if slug != "" && !exists {
		_, err := workspace.Decider.Decide(now.State, workspace.Remove{Path: path})
		return nil, nil, named(err, workspaceID)
	}
	doc = doc.Copy()
	switch {
	case slug == "":
		doc.Set("slug", chooseSlug(now.State, kind, doc))
	case doc.Text("slug") == "":
		doc.Set("slug", slug)
	}
	faults, parsed := c.Check(kind, doc)
	if err := checkSlug(kind, doc.Text("slug")); err != nil {
		return merged(faults, err), parsed, nil
	}
	e := workspace.Entry{Path: folder + "/" + doc.Text("slug"), Public: item.Public}
	if slug != "" && e.Path != path {
		e.From = path
	}
	compute(&e, kind, doc, parsed)
	e.Public = item.Public
	_, err = workspace.Decider.Decide(now.State, workspace.Save{Entry: e, Create: slug == ""})
	if err == nil {
		err = fits(kind, doc)
	}
	if code := domain.CodeOf(err); err != nil && code != domain.CodeAlreadyExists && code != domain.CodeValidation {
		return nil, nil, named(err, workspaceID)
	}
	return merged(faults, err), parsed, nil
}

// fits refuses a document whose file would be too long.
func fits(kind *document.Kind, doc *document.Map) error {
	place := archive.Place{Kind: kind, Slug: doc.Text("slug")}
	text, err := archive.Text(place, kind.Canonical(doc))
	if err == nil && len(text) > maxText {
		err = tooLong(place, len(text))
	}
	return err
}

// merged adds a refusal to the faults of a document, unless they say so already.
func merged(faults []Fault, err error) []Fault {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return faults
	}
	field, _ := refusal.Details["field"].(string)
	if list, ok := refusal.Details["errors"].([]domain.FieldError); ok {
		field = list[0].Field
	}
	for _, f := range faults {
		if f.Field == field && !f.Warning {
			return faults
		}
	}
	return append(faults, Fault{Field: field, Message: refusal.Message, Code: refusal.Code})
}
