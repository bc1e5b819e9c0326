package search

import (
	"slices"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/kbdocument"
	"svc/projections"
)

// Subject is what rules call documents of knowledge bases.
const Subject = "documents"

// Fields returns the fields of a document that rules and filters may name.
func Fields(base string, d projections.KBDocument) map[string]any {
	tags := []any{}
	for _, tag := range d.ShownTags() {
		tags = append(tags, tag)
	}
	fields := map[string]any{
		"id": d.ID, "knowledgeBase": base, "name": d.State.Name, "title": d.ShownTitle(), "source": string(d.Source), "tags": tags,
		"language": d.ShownLanguage(), "mimetype": d.ShownMimetype(), "size": d.Content().Size, "metadata": d.Metadata,
		"createdAt": d.CreatedAt, "updatedAt": d.UpdatedAt,
	}
	for name, text := range map[string]string{"key": d.Key, "url": d.URL, "sourceId": d.SourceID} {
		if text != "" {
			fields[name] = text
		}
	}
	return fields
}

// Base is a knowledge base as rights know it.
type Base struct {
	workspaceID, slug string
	shares            []access.Share // as they are about its documents
}

// NewBase returns what rights need to know of a base.
func NewBase(rd projections.Reader, workspaceID string, item projections.Item) Base {
	return Base{workspaceID, item.Slug(), access.DocumentShares(projections.Content{}.AllShares(rd, workspaceID, item))}
}

// Object returns a document of the base as rules see it.
func (b Base) Object(s kbdocument.State) access.Object {
	fields := access.Fields(Fields(b.slug, projections.KBDocument{State: s}))
	fields["workspaceId"], fields["createdBy"] = b.workspaceID, s.CreatedBy
	return access.Shared{Object: fields, Shares: b.shares}
}

// Check refuses a caller whose rules all name other bases, and with whom this one is not shared: they are not to meet an
// empty list.
func (b Base) Check(rights *access.Rights, action string) error {
	some := access.Shared{Object: access.Fields{"workspaceId": b.workspaceID, "knowledgeBase": b.slug}, Shares: b.shares}
	switch {
	case rights.Allows(action, Subject, some):
		return nil
	case !rights.Could(action, Subject) && rights.Allows("read", Subject, some): // they know that the base is there
		return domain.Refuse(domain.CodePermissionDenied, "you lack permission to %s %s", action, Subject).With("action", action).With("subject", Subject)
	case !rights.Could(action, Subject):
		return rights.Refusal(action, Subject)
	}
	alternatives, bounded := rights.Needs(action, Subject)
	if !bounded {
		return nil
	}
	fits := func(needs []access.Need) bool {
		return !slices.ContainsFunc(needs, func(n access.Need) bool { return n.Path == "knowledgeBase" && !slices.Contains(n.Any, b.slug) })
	}
	if len(alternatives) > 0 && !slices.ContainsFunc(alternatives, fits) {
		return rights.Refusal(action, Subject)
	}
	return nil
}

// AllowsAll reports whether the caller may do this to every document of the base, whatever is in it, so that none has to be
// checked. Where it is false, all may be allowed still.
func (b Base) AllowsAll(rights *access.Rights, action string) bool {
	if rights.Always(action, Subject) {
		return true
	}
	if len(b.shares) > 0 { // a share may come with a role that is denied something
		return false
	}
	allowed, sure := rights.DecideForAll(action, Subject, access.PartialObject{"workspaceId": b.workspaceID, "knowledgeBase": b.slug})
	return allowed && sure
}
