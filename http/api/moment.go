package api

import (
	"net/http"
	"strconv"
	"time"

	"svc/commands/archive"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// moment is a point in the history of a workspace.
type moment struct {
	seq uint64
}

// momentOf reads the moment that a read asks for: version, at or atSeq. past is
// false when it asks for now.
func momentOf(d Deps, r *http.Request) (m moment, past bool, err error) {
	q := gateway.NewQuery(r)
	version, at, seq := q.Text("version"), q.Time("at"), q.Text("atSeq")
	if err := q.Err(); err != nil {
		return m, false, err
	}
	given := 0
	for _, is := range []bool{version != "", !at.IsZero(), seq != ""} {
		if is {
			given++
		}
	}
	switch {
	case given == 0 || version == "current":
		return m, false, nil
	case given > 1:
		return m, false, domain.Refuse(domain.CodeInvalidParameter, "give one of version, at and atSeq").With("parameter", "atSeq")
	case version != "":
		m.seq, err = versionSeq(d, r, version)
		return m, true, err
	case seq != "":
		n, err := parseSeq("atSeq", seq)
		m, err := d.momentAt(r, n, err)
		return m, true, err
	}
	m, err = d.momentBy(r, at)
	return m, true, err
}

// parseSeq reads a token, or a content revision.
func parseSeq(name, text string) (uint64, error) {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	p, err := domain.ParsePosition(text)
	if err != nil || p.State == 0 {
		return 0, domain.Refuse(domain.CodeInvalidParameter, "%s must be a sequence token or a content revision", name).With("parameter", name)
	}
	return p.State, nil
}

// momentAt is the moment at a sequence.
func (d Deps) momentAt(r *http.Request, seq uint64, err error) (moment, error) {
	if err != nil {
		return moment{}, err
	}
	err = d.ReadModel.View(func(rd projections.Reader) error { return existed(rd, workspaceID(r), seq) })
	return moment{seq}, err
}

// momentBy is the moment at a time.
func (d Deps) momentBy(r *http.Request, at time.Time) (m moment, err error) {
	id := workspaceID(r)
	err = d.ReadModel.View(func(rd projections.Reader) (err error) {
		if m.seq, err = (projections.History{}).SeqAt(rd, id, at); err != nil {
			return err
		}
		return existed(rd, id, m.seq)
	})
	return m, err
}

// existed refuses a moment before a workspace was created.
func existed(rd projections.Reader, id string, seq uint64) error {
	found := false
	err := projections.History{}.List(rd, id, seq+1, func(c projections.Change) bool {
		found = c.Content
		return !found
	})
	if err == nil && !found {
		err = domain.Refuse(domain.CodeNotFound, "the workspace did not exist at that time").With("resource", "workspace").With("id", id)
	}
	return err
}

// inlineDocument returns the document of an item whose body is not kept apart.
func inlineDocument(rd projections.Reader, id string, item projections.Item) (*document.Map, error) {
	body, ok, err := projections.Content{}.Body(rd, id, item.Hash)
	if err != nil || !ok {
		return nil, err
	}
	doc := document.MapOf()
	return doc, doc.UnmarshalJSON(body)
}

// mayReadDocument reports whether somebody may read a document.
func mayReadDocument(rd projections.Reader, rights *access.Rights, id, folder string, item projections.Item) bool {
	if rights == nil || folder == "imports" {
		return rights != nil && rights.Allows("read", subjectOf(folder), nil)
	}
	object := access.Object(&unreadObject{rd: rd, id: id, folder: folder, item: item})
	if folder == "pages" {
		object = access.Shared{Object: object, Shares: sharesOf(rd, id, item)}
	}
	return rights.Allows("read", subjectOf(folder), object)
}

// subjectOf is what rules call the documents of a folder. App instances are part
// of their workspace.
func subjectOf(folder string) string {
	if folder == "imports" {
		return "workspaces"
	}
	return folder
}

// objectAt is a document as rules see it.
func objectAt(rd projections.Reader, id, folder string, item projections.Item) access.Object {
	if folder == "imports" {
		return nil
	}
	fields := access.Fields{"id": item.Slug(), "slug": item.Slug(), "workspaceId": id}
	if meta, err := (projections.Content{}).Meta(rd, id, item.Hash); err == nil && meta.About != nil {
		for key, v := range meta.About.All() {
			fields[key] = document.Plain(v)
		}
	}
	if folder == "automations" {
		fields["runningWorkspaceId"] = id
		return fields
	}
	fields["id"], fields["public"] = item.ID, item.Public
	return access.Shared{Object: fields, Shares: sharesOf(rd, id, item)}
}

// sharesOf are all shares of a page.
func sharesOf(rd projections.Reader, id string, item projections.Item) []access.Share {
	shares, err := projections.Content{}.Shares(rd, id, item.ID)
	if err != nil {
		shares = nil // who is shared with is not known: nobody
	}
	if item.Public {
		shares = append([]access.Share{workspace.Everyone()}, shares...)
	}
	return shares
}

// dryRun reads whether nothing is to be changed.
func dryRun(r *http.Request) (bool, error) {
	q := gateway.NewQuery(r)
	dry := q.Flag("dryRun")
	return dry, q.Err()
}

// verdict is the answer to a dry run of a document.
type verdict struct {
	Errors    []located  `json:"errors"`
	Warnings  []located  `json:"warnings"`
	Schedules []schedule `json:"schedules,omitempty"`
}

// schedule is a cron of an automation and when it fires next.
type schedule struct {
	Cron string   `json:"cron"`
	Next []string `json:"next"`
}

// checked is the answer to a dry run that found nothing.
func checked() verdict { return verdict{Errors: []located{}, Warnings: []located{}} }

// workspaceAt is a workspace as it was.
func workspaceAt(d Deps, r *http.Request, m moment) (any, error) {
	id := workspaceID(r)
	refs, err := d.Library.At(r.Context(), id, m.seq)
	if err != nil {
		return nil, err
	}
	index, err := d.Library.Document(r.Context(), id, refs["index"])
	if err != nil {
		return nil, err
	}
	index = withoutSecrets(index)
	if wantsYAML(r) {
		text, err := archive.Text(archive.Place{Kind: document.Index}, index)
		return inYAML(text, strconv.FormatUint(m.seq, 36)), err
	}
	doc := document.MapOf(document.Pair{Key: "id", Value: id})
	for key, v := range index.All() {
		doc.Set(key, v)
	}
	var body []byte
	err = d.ReadModel.View(func(rd projections.Reader) error {
		if err := pastDynamics(rd, id, m.seq, doc); err != nil {
			return err
		}
		if body, err = document.JSON(doc); err != nil {
			return err
		}
		body, err = withPast(body[:len(body)-1], rd, gateway.GrantFrom(r.Context()).Rights, id, refs)
		return err
	})
	return tagged{append(body, '}'), strconv.FormatUint(m.seq, 36)}, err
}
