package api

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"

	"svc/commands"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
	"svc/http/gateway"
	"svc/projections"
)

// sent is a document as a client sent it: JSON, or the YAML that people write.
type sent struct {
	doc    *document.Map
	text   []byte
	source *yamltext.Source // where its fields stand; nil unless it is YAML
}

// bodyLimits bound a body that is a document.
var bodyLimits = document.Limits{Depth: 64, Nodes: 200_000}

// readDocument reads a body that is a document, in the order it was written.
func readDocument(r *http.Request) (sent, error) {
	body, err := gateway.ReadBody(r)
	if err != nil {
		return sent{}, err
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Header.Get("Content-Type") == "" {
		media, err = "application/json", nil
	}
	if charset := params["charset"]; err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") || r.Header.Get("Content-Encoding") != "" {
		return sent{}, gateway.RefuseStatus(http.StatusUnsupportedMediaType, "the body must be application/json or application/yaml in UTF-8")
	}
	switch media {
	case "application/json":
		return readJSON(body)
	case "application/yaml", "application/x-yaml", "text/yaml":
		return readYAML(body)
	}
	return sent{}, gateway.RefuseStatus(http.StatusUnsupportedMediaType, "the body must be application/json or application/yaml in UTF-8")
}

func readJSON(body []byte) (sent, error) {
	if len(body) == 0 {
		body = []byte("{}")
	}
	if err := gateway.CheckJSON(body); err != nil {
		return sent{}, err
	}
	v, err := document.ReadJSON(body, bodyLimits)
	if err != nil {
		return sent{}, notReadable(err, "JSON")
	}
	doc, ok := v.(*document.Map)
	if !ok {
		return sent{}, domain.Refuse(domain.CodeInvalidRequest, "the body must be an object")
	}
	return sent{doc: doc, text: body}, nil
}

func readYAML(body []byte) (sent, error) {
	doc, err := yamltext.ReadMap(body, bodyLimits)
	if err != nil {
		return sent{}, notReadable(err, "YAML")
	}
	source, err := yamltext.Locate(body, bodyLimits)
	if err != nil {
		return sent{}, notReadable(err, "YAML")
	}
	return sent{doc: doc, text: body, source: source}, nil
}

// notReadable is the refusal of a text that is no document, with where.
func notReadable(err error, language string) error {
	refusal := domain.Refuse(domain.CodeInvalidRequest, "the body cannot be read as %s: %v", language, err)
	if fault, ok := errors.AsType[*document.Fault](err); ok && fault.Line > 0 {
		refusal.With("errors", []located{{Field: "", Message: fault.Message, Line: fault.Line, Column: fault.Column}}).With("line", fault.Line)
		if fault.Column > 0 {
			refusal.With("column", fault.Column)
		}
	}
	return refusal
}

// located is a fault with its place in the text.
type located struct {
	Field   string `json:"field"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
}

// place returns where a field stands, if that is known.
func (s sent) place(field, message string) located {
	at := located{Field: field, Message: message}
	if s.source != nil {
		p := s.source.Place(field)
		at.Line, at.Column = p.Line, p.Column
	}
	return at
}

// withLines adds to a refusal of a document where its faults stand.
func (s sent) withLines(err error) error {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok || s.source == nil {
		return err
	}
	faults, ok := refusal.Details["errors"].([]domain.FieldError)
	if !ok {
		return err
	}
	placed := make([]located, len(faults))
	for i, f := range faults {
		placed[i] = s.place(f.Field, f.Message)
	}
	return refusal.With("errors", placed)
}

// wantsYAML reports whether the client asks for the text of a file.
func wantsYAML(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		media, _, _ := mime.ParseMediaType(part)
		switch media {
		case "application/yaml", "application/x-yaml", "text/yaml":
			return true
		case "application/json", "*/*", "application/*":
			return false
		}
	}
	return false
}

// inYAML is a document as its file has it, under the same tag.
func inYAML(text []byte, tag string) any {
	return gateway.Content{Type: "application/yaml; charset=utf-8", Body: text, Header: http.Header{"Etag": {`"` + tag + `"`}}}
}

// tagged is a stored body with the tag of the state it shows.
type tagged struct {
	json []byte
	tag  string
}

// Encoded implements gateway.Encoded.
func (t tagged) Encoded() []byte { return t.json }

// ETag implements gateway.Tagged.
func (t tagged) ETag() string { return t.tag }

// tagOf is the tag of a revision, without quotes.
func tagOf(revision uint64) string { return strings.Trim(commands.ETag(revision), `"`) }

// withoutReadOnly takes out what the service sets: it may be sent back, and
// changes nothing.
func withoutReadOnly(doc *document.Map, more ...string) *document.Map {
	doc = doc.Copy()
	for _, key := range append(slices.Clone(readOnlyFields), more...) {
		doc.Delete(key)
	}
	return doc
}

var readOnlyFields = []string{"id", "createdAt", "createdBy", "updatedAt", "updatedBy", "checksum", "permissions"}

// audited adds who made a document, and who changed it last.
func audited(rd projections.Reader, workspaceID string, item projections.Item, doc *document.Map) error {
	created, err := projections.Content{}.Audit(rd, workspaceID, item.Created)
	if err != nil {
		return err
	}
	updated, err := projections.Content{}.Audit(rd, workspaceID, item.Updated)
	if err != nil {
		return err
	}
	for _, p := range []document.Pair{
		{Key: "createdAt", Value: created.At}, {Key: "createdBy", Value: created.By},
		{Key: "updatedAt", Value: updated.At}, {Key: "updatedBy", Value: updated.By},
	} {
		doc.Set(p.Key, p.Value)
	}
	return nil
}

// listedDocument returns a document as lists show it.
func listedDocument(rd projections.Reader, workspaceID, workspaceSlug string, item projections.Item) (*document.Map, error) {
	meta, err := projections.Content{}.Meta(rd, workspaceID, item.Hash)
	if err != nil {
		return nil, err
	}
	return completed(rd, workspaceID, workspaceSlug, item, meta.About.Copy(), meta)
}

// completed adds to a document what the service says about it.
func completed(rd projections.Reader, workspaceID, workspaceSlug string, item projections.Item, doc *document.Map, meta projections.DocumentMeta) (*document.Map, error) {
	if item.ID != "" {
		doc.Set("id", item.ID)
		doc.Set("workspaceId", workspaceID)
		doc.Set("workspaceSlug", workspaceSlug)
		doc.Set("public", item.Public)
	}
	if meta.Events != nil {
		doc.Set("events", meta.Events)
	}
	doc.Set("checksum", meta.Checksum)
	return doc, audited(rd, workspaceID, item, doc)
}

// jsonOf is a document with its tag.
func jsonOf(doc *document.Map, tag string) (tagged, error) {
	body, err := json.Marshal(doc)
	return tagged{body, tag}, err
}
