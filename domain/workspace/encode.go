package workspace

import (
	"encoding/json"
	"slices"

	"svc/domain"
	"svc/domain/document"
)

// entryRoom is what an entry takes as JSON besides its document, about.
const entryRoom = 512

// AppendJSON implements domain.SelfEncoder for the events that are an entry: every document that is saved is one.
func (e Entry) AppendJSON(to []byte) ([]byte, error) {
	o := domain.NewObjectEncoder(slices.Grow(to, entryRoom+len(e.Body)))
	e.encode(&o)
	return o.End()
}

// DecodeJSON decodes what AppendJSON encoded, and returns false for other JSON.
func (e *Entry) DecodeJSON(body []byte) bool {
	return nil == domain.VisitMembers(body, e.decodeMember)
}

// AppendJSON implements domain.SelfEncoder.
func (e AgentPublished) AppendJSON(to []byte) ([]byte, error) {
	return e.Entry.appendNumbered(to, e.Number)
}

// AppendJSON implements domain.SelfEncoder.
func (e AgentUnpublished) AppendJSON(to []byte) ([]byte, error) {
	return e.Entry.appendNumbered(to, e.Number)
}

func (e Entry) appendNumbered(to []byte, number int) ([]byte, error) {
	o := domain.NewObjectEncoder(slices.Grow(to, entryRoom+len(e.Body)))
	o.Int("number", int64(number))
	e.encode(&o)
	return o.End()
}

func (e *Entry) encode(o *domain.ObjectEncoder) {
	o.Text("path", e.Path)
	o.TextIfAny("from", e.From)
	o.Text("hash", e.Hash)
	o.Text("checksum", e.Checksum)
	if len(e.Body) > 0 {
		o.JSON("body", e.Body)
	}
	encodeMap(o, "about", e.About)
	o.IfTrue("apart", e.Apart)
	if e.Review != nil {
		o.Any("review", e.Review)
	}
	o.TextIfAny("id", e.ID)
	o.IfTrue("public", e.Public)
	o.TextIfAny("frozen", e.Frozen)
	o.IfTrue("published", e.Published)
	o.TextIfAny("endpoint", e.Endpoint)
	o.TextIfAny("app", e.App)
	encodeMap(o, "events", e.Events)
	if len(e.Sealed) > 0 {
		o.Any("sealed", e.Sealed)
	}
	if len(e.HiddenPaths) > 0 {
		o.Any("untold", e.HiddenPaths)
	}
}

// encodeMap adds a mapping that is not nil.
func encodeMap(o *domain.ObjectEncoder, name string, m *document.Map) {
	if m == nil {
		return
	}
	body, err := m.MarshalJSON()
	if err != nil {
		o.Any(name, m) // fails too
		return
	}
	o.JSON(name, body)
}

func (e *Entry) decodeMember(key, value []byte) error {
	switch string(key) {
	case "path":
		return domain.DecodeText(&e.Path, value)
	case "from":
		return domain.DecodeText(&e.From, value)
	case "hash":
		return domain.DecodeText(&e.Hash, value)
	case "checksum":
		return domain.DecodeText(&e.Checksum, value)
	case "body":
		if string(value) == "null" {
			return domain.ErrUnknownMember // encoding/json makes a body of it
		}
		return domain.DecodeRaw(&e.Body, value)
	case "about":
		return decodeMap(&e.About, value)
	case "apart":
		return domain.DecodeBool(&e.Apart, value)
	case "id":
		return domain.DecodeText(&e.ID, value)
	case "public":
		return domain.DecodeBool(&e.Public, value)
	case "frozen":
		return domain.DecodeText(&e.Frozen, value)
	case "published":
		return domain.DecodeBool(&e.Published, value)
	case "endpoint":
		return domain.DecodeText(&e.Endpoint, value)
	case "app":
		return domain.DecodeText(&e.App, value)
	case "events":
		return decodeMap(&e.Events, value)
	case "sealed":
		if e.Sealed == nil {
			return json.Unmarshal(value, &e.Sealed)
		}
	case "untold":
		if e.HiddenPaths == nil {
			return json.Unmarshal(value, &e.HiddenPaths)
		}
	case "review":
		if e.Review == nil {
			return json.Unmarshal(value, &e.Review)
		}
	}
	return domain.ErrUnknownMember
}

// decodeMap sets *to, which is nil, from an object. It leaves what is not surely one to encoding/json.
func decodeMap(to **document.Map, value []byte) error {
	if *to != nil || value[0] != '{' || !domain.IsEncoded(value) {
		return domain.ErrUnknownMember
	}
	*to = &document.Map{}
	return (*to).UnmarshalJSON(value)
}

// AppendJSON implements domain.SelfEncoder.
func (p documentPayload) AppendJSON(to []byte) ([]byte, error) {
	bodies := [...]struct {
		name string
		body json.RawMessage
	}{
		{"automation", p.Automation}, {"page", p.Page}, {"knowledgeBase", p.KnowledgeBase},
		{"agent", p.Agent}, {"test", p.Test}, {"appInstance", p.AppInstance},
	}
	room := entryRoom
	for _, b := range bodies {
		room += len(b.body)
	}
	o := domain.NewObjectEncoder(slices.Grow(to, room))
	o.Text("slug", p.Slug)
	for _, b := range bodies {
		if len(b.body) > 0 {
			o.JSON(b.name, b.body)
		}
	}
	encodeMap(&o, "events", p.Events)
	o.TextIfAny("oldSlug", p.OldSlug)
	o.IfTrue("truncated", p.Truncated)
	return o.End()
}
