package projections

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"svc/domain"
)

// What the history stores with every change of content is encoded and decoded without reflection. The bytes are those of
// encoding/json, of which earlier versions have stored the same.

// encode returns what encoding/json makes of c.
func (c *Change) encode() ([]byte, error) {
	o := domain.NewObjectEncoder(make([]byte, 0, 320))
	o.Int("seq", int64(c.Seq))
	o.Text("workspaceId", c.Workspace)
	o.Text("at", c.At)
	o.Text("by", c.By)
	o.Text("type", c.Type)
	o.Text("summary", c.Summary)
	o.TextIfAny("correlationId", c.CorrelationID)
	o.IfTrue("content", c.Content)
	o.TextsIfAny("parts", c.Parts)
	o.IfTrue("many", c.Many)
	o.IfTrue("rollback", c.Rollback)
	return o.End()
}

// encode adds the members of r.
func (r *Ref) encode(o *domain.ObjectEncoder) {
	o.TextIfAny("h", r.Hash)
	o.IfTrue("a", r.Apart)
	o.TextIfAny("i", r.ID)
	o.IfTrue("p", r.Public)
	if len(r.Sealed) > 0 {
		o.Any("s", r.Sealed)
	}
	if len(r.HiddenPaths) > 0 {
		o.Any("u", r.HiddenPaths)
	}
}

// appendJSON appends what encoding/json makes of r.
func (r *Ref) appendJSON(to []byte) ([]byte, error) {
	o := domain.NewObjectEncoder(to)
	r.encode(&o)
	return o.End()
}

// decode sets r, which is empty, from what is stored.
func (r *Ref) decode(body []byte) error {
	return domain.VisitMembers(body, func(key, value []byte) error {
		switch string(key) {
		case "h":
			return domain.DecodeText(&r.Hash, value)
		case "a":
			return domain.DecodeBool(&r.Apart, value)
		case "i":
			return domain.DecodeText(&r.ID, value)
		case "p":
			return domain.DecodeBool(&r.Public, value)
		case "s":
			return json.Unmarshal(value, &r.Sealed)
		case "u":
			return json.Unmarshal(value, &r.HiddenPaths)
		}
		return nil
	})
}

// encode returns what encoding/json makes of c.
func (c manifestChange) encode() ([]byte, error) {
	b := append(make([]byte, 0, 256*len(c)+2), '{')
	for i, path := range slices.Sorted(maps.Keys(c)) {
		if i > 0 {
			b = append(b, ',')
		}
		ref := c[path]
		o := domain.NewObjectEncoder(append(domain.AppendText(b, path), ':'))
		ref.Ref.encode(&o)
		if ref.Was != nil {
			o.Open("w")
			ref.Was.encode(&o)
			o.Close()
		}
		o.IntIfAny("b", int64(ref.Before))
		var err error
		if b, err = o.End(); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// encode returns what encoding/json makes of m.
func (m Manifest) encode() ([]byte, error) {
	c := make(manifestChange, len(m))
	for path, ref := range m {
		c[path] = refChange{Ref: ref}
	}
	return c.encode()
}

// decode sets in m what a stored manifest has, or what a stored change put there.
func (m Manifest) decode(body []byte) error {
	return domain.VisitMembers(body, func(key, value []byte) error {
		path := string(key)
		if bytes.IndexByte(key, '\\') >= 0 {
			if err := json.Unmarshal(slices.Concat([]byte{'"'}, key, []byte{'"'}), &path); err != nil {
				return err
			}
		}
		var ref Ref
		err := ref.decode(value)
		m[path] = ref
		return err
	})
}
