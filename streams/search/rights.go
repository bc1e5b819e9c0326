package search

import (
	"slices"

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

// Object returns a document as rules see it.
func Object(workspaceID, base string, s kbdocument.State) access.Object {
	fields := access.Fields(Fields(base, projections.KBDocument{State: s}))
	fields["workspaceId"], fields["createdBy"] = workspaceID, s.CreatedBy
	return fields
}

// CheckBase refuses a caller whose rules all name other bases: they are not to meet an empty list.
func CheckBase(rights *access.Rights, action, base string) error {
	alternatives, bounded := rights.Needs(action, Subject)
	if !bounded {
		return nil
	}
	fits := func(needs []access.Need) bool {
		return !slices.ContainsFunc(needs, func(n access.Need) bool { return n.Path == "knowledgeBase" && !slices.Contains(n.Any, base) })
	}
	if len(alternatives) > 0 && !slices.ContainsFunc(alternatives, fits) {
		return rights.Refusal(action, Subject)
	}
	return nil
}
