package handler

import (
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"

	"svc/commands"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/http/gateway"
)

// RequestDocument is a document as a client sent it: JSON, or the YAML that people write.
type RequestDocument struct {
	Doc    *document.Map
	Text   []byte
	Source *yamltext.Source // where its fields stand; nil unless it is YAML
}

// BodyLimits bound a body that is a document.
var BodyLimits = document.Limits{Depth: 64, Nodes: 200_000}

// ReadDocument reads a body that is a document, in the order it was written.
func ReadDocument(r *http.Request) (RequestDocument, error) {
	body, err := gateway.ReadBody(r)
	if err != nil {
		return RequestDocument{}, err
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Header.Get("Content-Type") == "" {
		media, err = "application/json", nil
	}
	if charset := params["charset"]; err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") || r.Header.Get("Content-Encoding") != "" {
		return RequestDocument{}, gateway.RefuseStatus(http.StatusUnsupportedMediaType, "the body must be application/json or application/yaml in UTF-8")
	}
	switch media {
	case "application/json":
		return readJSON(body)
	case "application/yaml", "application/x-yaml", "text/yaml":
		return ReadYAML("the body", body)
	}
	return RequestDocument{}, gateway.RefuseStatus(http.StatusUnsupportedMediaType, "the body must be application/json or application/yaml in UTF-8")
}

func readJSON(body []byte) (RequestDocument, error) {
	if len(body) == 0 {
		body = []byte("{}")
	}
	if err := gateway.CheckJSON(body); err != nil {
		return RequestDocument{}, err
	}
	v, err := document.ReadJSON(body, BodyLimits)
	if err != nil {
		return RequestDocument{}, refuseUnreadable(err, "the body", "JSON")
	}
	doc, ok := v.(*document.Map)
	if !ok {
		return RequestDocument{}, domain.Refuse(domain.CodeInvalidRequest, "the body must be an object")
	}
	return RequestDocument{Doc: doc, Text: body}, nil
}

// ReadYAML reads a document from its text, as its file has it. A refusal calls the text by its name.
func ReadYAML(name string, text []byte) (RequestDocument, error) {
	doc, err := yamltext.ReadMap(text, BodyLimits)
	if err != nil {
		return RequestDocument{}, refuseUnreadable(err, name, "YAML")
	}
	source, err := yamltext.Locate(text, BodyLimits)
	if err != nil {
		return RequestDocument{}, refuseUnreadable(err, name, "YAML")
	}
	return RequestDocument{Doc: doc, Text: text, Source: source}, nil
}

// refuseUnreadable is the refusal of a text that is no document, with where.
func refuseUnreadable(err error, name, language string) error {
	refusal := domain.Refuse(domain.CodeInvalidRequest, "%s cannot be read as %s: %v", name, language, err)
	if fault, ok := errors.AsType[*document.Fault](err); ok && fault.Line > 0 {
		refusal.With("errors", []LocatedFault{{Field: "", Message: fault.Message, Line: fault.Line, Column: fault.Column}}).With("line", fault.Line)
		if fault.Column > 0 {
			refusal.With("column", fault.Column)
		}
	}
	return refusal
}

// LocatedFault is a fault with its place in the text.
type LocatedFault struct {
	Field   string `json:"field"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
}

// FaultList returns faults as a list of a document.
func FaultList(faults []LocatedFault) []any {
	list := make([]any, len(faults))
	for i, f := range faults {
		m := document.MapOf(document.Pair{Key: "field", Value: f.Field}, document.Pair{Key: "message", Value: f.Message})
		if f.Line != 0 {
			m.Set("line", float64(f.Line))
		}
		if f.Column != 0 {
			m.Set("column", float64(f.Column))
		}
		list[i] = m
	}
	return list
}

// Locate returns where a field stands, if that is known.
func (s RequestDocument) Locate(field, message string) LocatedFault {
	at := LocatedFault{Field: field, Message: message}
	if s.Source != nil {
		p := s.Source.Position(field)
		at.Line, at.Column = p.Line, p.Column
	}
	return at
}

// WithLines adds to a refusal of a document where its faults stand.
func (s RequestDocument) WithLines(err error) error {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok || s.Source == nil {
		return err
	}
	faults, ok := refusal.Details["errors"].([]domain.FieldError)
	if !ok {
		return err
	}
	placed := make([]LocatedFault, len(faults))
	for i, f := range faults {
		placed[i] = s.Locate(f.Field, f.Message)
	}
	return refusal.With("errors", placed)
}

// WantsYAML reports whether the client asks for the text of a file.
func WantsYAML(r *http.Request) bool {
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

// YAMLResponse is a document as its file has it, under the same tag.
func YAMLResponse(text []byte, tag string) any {
	return gateway.Content{Type: "application/yaml; charset=utf-8", Body: text, Header: http.Header{"Etag": {`"` + tag + `"`}}}
}

// TaggedJSON is a stored body with the tag of the state it shows.
type TaggedJSON struct {
	JSON []byte
	Tag  string
}

// Encoded implements gateway.Encoded.
func (t TaggedJSON) Encoded() []byte { return t.JSON }

// ETag implements gateway.Tagged.
func (t TaggedJSON) ETag() string { return t.Tag }

// RevisionTag is the tag of a revision, without quotes.
func RevisionTag(revision uint64) string { return strings.Trim(commands.ETag(revision), `"`) }

// WithoutReadOnly takes out what the service sets: it may be sent back, and
// changes nothing.
func WithoutReadOnly(doc *document.Map, more ...string) *document.Map {
	doc = doc.Copy()
	for _, key := range append(slices.Clone(readOnlyFields), more...) {
		doc.Delete(key)
	}
	return doc
}

var readOnlyFields = []string{"id", "createdAt", "createdBy", "updatedAt", "updatedBy", "checksum", "permissions"}

// ToTaggedJSON is a document with its tag.
func ToTaggedJSON(doc *document.Map, tag string) (TaggedJSON, error) {
	body, err := document.SafeJSON(doc)
	return TaggedJSON{body, tag}, err
}

// IsPatch reports whether a body names only the fields that change.
func (s RequestDocument) IsPatch(r *http.Request) bool {
	return r.Method == http.MethodPatch && s.Source == nil
}

// JSONOrYAML is a document in the form that the client asks for.
func JSONOrYAML(r *http.Request, whole TaggedJSON, text []byte) any {
	if !WantsYAML(r) {
		return whole
	}
	return YAMLResponse(text, whole.Tag)
}

// PartResponse is a part of a document as the client wants it.
func PartResponse(r *http.Request, part *document.Map, tag string) (any, error) {
	whole, err := ToTaggedJSON(part, tag)
	if err != nil {
		return nil, err
	}
	text, err := document.YAML(part)
	return JSONOrYAML(r, whole, text), err
}

// MergePatch returns an object with the members that a change names; null removes one.
func MergePatch(doc, change *document.Map) *document.Map {
	next := doc.Copy()
	for key, v := range change.All() {
		if v == nil {
			next.Delete(key)
			continue
		}
		next.Set(key, v)
	}
	return next
}

// DryRunResponse is the answer to a dry run of a document.
type DryRunResponse struct {
	Errors    []LocatedFault     `json:"errors"`
	Warnings  []LocatedFault     `json:"warnings"`
	Schedules []ScheduleResponse `json:"schedules,omitempty"`
}

// ScheduleResponse is a cron of an automation and when it fires next.
type ScheduleResponse struct {
	Cron string   `json:"cron"`
	Next []string `json:"next"`
}

// NewDryRunResponse is the answer to a dry run that found nothing.
func NewDryRunResponse() DryRunResponse {
	return DryRunResponse{Errors: []LocatedFault{}, Warnings: []LocatedFault{}}
}

// DryRunFaults is the answer to a dry run that found these faults.
func (s RequestDocument) DryRunFaults(faults []shape.Fault) DryRunResponse {
	v := NewDryRunResponse()
	for _, f := range faults {
		v.Errors = append(v.Errors, s.Locate(f.Field, f.Message))
	}
	return v
}

// DryRunError is the answer to a dry run. That something is wrong with the document is
// what was asked for, not a failure of the request.
func (s RequestDocument) DryRunError(err error) (any, error) {
	verdict := NewDryRunResponse()
	if err == nil {
		return verdict, nil
	}
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return nil, err
	}
	faults, ok := refusal.Details["errors"].([]domain.FieldError)
	switch {
	case ok:
	case refusal.Code == domain.CodeAlreadyExists:
		field, _ := refusal.Details["field"].(string)
		faults = []domain.FieldError{{Field: field, Message: refusal.Message}}
	case refusal.Code == domain.CodeNotFound && refusal.Details["resource"] == "app":
		faults = []domain.FieldError{{Field: "appSlug", Message: refusal.Message}}
	default:
		return nil, err
	}
	for _, f := range faults {
		verdict.Errors = append(verdict.Errors, s.Locate(f.Field, f.Message))
	}
	return verdict, nil
}
