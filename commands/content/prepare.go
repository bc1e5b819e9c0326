package content

import (
	"context"
	"slices"
	"strings"

	"svc/commands/archive"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/slug"
	"svc/domain/workspace"
)

// maxInline is how large a document may be to be carried by its event.
const maxInline = 256 << 10

// maxText is how large the file of a document may be.
const maxText = 1 << 20

// prepare checks a document and makes it ready to be saved. before is what it
// replaces, nil for nothing.
func (c *Content) prepare(ctx context.Context, workspaceID string, kind *document.Kind, doc *document.Map, before *workspace.Item) (workspace.Entry, error) {
	if err := checkSlug(kind, doc.Text("slug")); err != nil {
		return workspace.Entry{}, err
	}
	faults, parsed := c.Check(kind, doc)
	if err := refusal(tolerant(kind, faults)); err != nil {
		return workspace.Entry{}, err
	}
	if kind != document.Import {
		e, err := c.entry(kind, doc, parsed)
		if err == nil {
			err = c.setApart(ctx, &e)
		}
		return e, err
	}
	app, before, err := c.installable(ctx, workspaceID, doc, before)
	if err != nil {
		return workspace.Entry{}, err
	}
	doc, sealed, err := c.seal(ctx, workspaceID, doc, app, before)
	if err != nil {
		return workspace.Entry{}, err
	}
	e, err := c.entry(kind, doc, nil)
	if err == nil {
		err = c.setApart(ctx, &e)
	}
	e.Sealed, e.Events = sealed, Prefixed(app.Events, doc.Text("slug")+".")
	return e, err
}

func checkSlug(kind *document.Kind, s string) error {
	if !kind.HasSlug(s) {
		return domain.Invalid(domain.FieldError{Field: "slug", Message: "letters, digits, blanks, _ and - in parts joined by /, at most 128 characters, and none of the words that the platform uses itself"})
	}
	return nil
}

// chooseSlug returns the slug of a new document: its own, or one that its name
// suggests.
func chooseSlug(s workspace.State, kind *document.Kind, doc *document.Map) string {
	if given, ok := doc.Get("slug"); ok && given != nil {
		text, _ := given.(string)
		return text
	}
	if kind == document.Import {
		return doc.Text("appSlug")
	}
	name, _ := doc.Get("name")
	return slug.FromName(name, func(candidate string) bool {
		for path := range s.Items {
			if strings.EqualFold(path, kind.Folder+"/"+candidate) {
				return true
			}
		}
		return false
	})
}

// entry makes an entry of a document that was checked. parsed is an automation as
// it was understood then; nil: it is to be read again. One that is too large for an
// event has to be set apart before it is saved.
func (c *Content) entry(kind *document.Kind, doc *document.Map, parsed *automation.Automation) (workspace.Entry, error) {
	place := archive.Place{Kind: kind, Slug: doc.Text("slug")}
	doc = kind.Canonical(doc)
	text, err := archive.Text(place, doc)
	if err != nil {
		return workspace.Entry{}, err
	}
	if len(text) > maxText {
		return workspace.Entry{}, tooLong(place, len(text))
	}
	body, err := document.JSON(doc)
	if err != nil {
		return workspace.Entry{}, err
	}
	e := workspace.Entry{Path: place.String(), Hash: workspace.HashOf(body), Checksum: archive.Checksum(text), Body: body}
	if kind == document.Automation && parsed == nil {
		parsed, _ = automation.Parse(doc, c.Rules())
	}
	compute(&e, kind, doc, parsed)
	if len(body) <= maxInline {
		return e, nil
	}
	e.About, e.Apart = workspace.Describe(e.Path, doc), true
	if kind == document.Automation {
		review := input.Review(doc).Bounded()
		e.Review = &review
	}
	return e, nil
}

// setApart puts what is too large for an event where it is found by its hash. It
// is done last: what is refused before leaves nothing behind.
func (c *Content) setApart(ctx context.Context, e *workspace.Entry) error {
	if !e.Apart || e.Body == nil {
		return nil
	}
	_, err := c.Blobs.Put(ctx, e.Body)
	e.Body = nil
	return err
}

func tooLong(place archive.Place, length int) error {
	return domain.Refuse(domain.CodeValidation, "%s is larger than %d bytes", place, maxText).
		Reason("limit_exceeded").With("length", length).With("limit", maxText)
}

// compute adds what follows from a document.
func compute(e *workspace.Entry, kind *document.Kind, doc *document.Map, parsed *automation.Automation) {
	switch kind {
	case document.Automation:
		if parsed == nil {
			return
		}
		if parsed.When.Endpoint != nil {
			e.Endpoint = parsed.When.Endpoint.String()
		}
		e.Events = eventsOf(parsed.Events())
	case document.Page:
		e.Public, _ = boolOf(doc, "public")
		emit, listen := shape.PageEvents(doc)
		e.Events = document.MapOf(document.Pair{Key: "emit", Value: document.StringList(emit)}, document.Pair{Key: "listen", Value: document.StringList(listen)})
	case document.Import:
		e.App = doc.Text("appSlug")
	}
}

func boolOf(doc *document.Map, key string) (value, ok bool) {
	v, _ := doc.Get(key)
	value, ok = v.(bool)
	return value, ok
}

func eventsOf(ev automation.Events) *document.Map {
	auto := make([]any, 0, len(ev.Autocomplete))
	for _, a := range ev.Autocomplete {
		auto = append(auto, document.MapOf(document.Pair{Key: "event", Value: a.Event}, document.Pair{Key: "autocomplete", Value: document.ValueOf(a.Autocomplete)}))
	}
	return document.MapOf(
		document.Pair{Key: "emit", Value: document.StringList(ev.Emit)}, document.Pair{Key: "listen", Value: document.StringList(ev.Listen)},
		document.Pair{Key: "autocomplete", Value: auto},
	)
}

// Fault is something wrong with a document. A warning does not keep it from
// being saved.
type Fault struct {
	Field   string
	Message string
	Code    domain.Code
	Unknown bool // a field that documents do not have
	Warning bool
}

// Check returns what is wrong with a document of any kind, and the schedules of
// an automation.
func (c *Content) Check(kind *document.Kind, doc *document.Map) (faults []Fault, parsed *automation.Automation) {
	if kind != document.Automation {
		for _, f := range shape.Check(kind, doc) {
			faults = append(faults, Fault{Field: f.Field, Message: f.Message, Code: f.Code, Unknown: f.Unknown})
		}
		return faults, nil
	}
	parsed, found := automation.Parse(doc, c.Rules())
	for _, f := range append(found, input.Faults(parsed, found)...) {
		faults = append(faults, Fault{Field: f.Field, Message: f.Message, Code: f.Code, Warning: f.Warning})
	}
	return faults, parsed
}

// tolerant leaves out what a change of an app instance did not bring: fields that
// an import kept.
func tolerant(kind *document.Kind, faults []Fault) []Fault {
	return slices.DeleteFunc(faults, func(f Fault) bool { return kind == document.Import && f.Unknown })
}

// refusal is the error of faults: of the shape before that of a value.
func refusal(faults []Fault) error {
	var wrong []shape.Fault
	for _, f := range faults {
		if !f.Warning {
			wrong = append(wrong, shape.Fault{Field: f.Field, Message: f.Message, Code: f.Code})
		}
	}
	return shape.Refusal(wrong)
}
