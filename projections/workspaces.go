package projections

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"svc/domain"
	"svc/domain/workspace"
)

// Workspaces is the read model of workspaces: one document each, as REST serves
// it, and an index by last update.
//
//	d{id}        header and document
//	u{seq}{id}   nothing; seq is that of the workspace's last event
type Workspaces struct{}

// Document is a stored answer, ready to be served.
type Document struct {
	Revision uint64 // how often it changed; its ETag names it
	JSON     []byte
}

// workspaceDocument is the JSON of a workspace.
type workspaceDocument struct {
	ID string `json:"id"`
	workspace.Settings
	CreatedAt string `json:"createdAt"`
	CreatedBy string `json:"createdBy"`
	UpdatedAt string `json:"updatedAt"`
	UpdatedBy string `json:"updatedBy"`
	Logo      string `json:"logo,omitempty"` // the other name of photo
}

// timestamp is the form of times in documents.
const timestamp = "2006-01-02T15:04:05.000Z"

// Name implements Projection.
func (Workspaces) Name() string { return "workspaces.3" }

// Log implements Projection.
func (Workspaces) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (w Workspaces) Apply(tx Tx, ev domain.Recorded) error {
	switch e := ev.Data.(type) {
	case workspace.Created:
		h := header{created: ev.At.UTC().Format(timestamp), by: ev.Meta.UserID}
		return w.put(tx, ev, e.Workspace, h)
	case workspace.Updated:
		return w.update(tx, ev, e.Workspace)
	}
	return nil
}

func (w Workspaces) update(tx Tx, ev domain.Recorded, s workspace.Snapshot) error {
	old, ok, err := tx.Get(documentKey(s.ID))
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("workspace %s was never created", s.ID)
	}
	h, _, err := parseHeader(old)
	if err != nil {
		return err
	}
	if err := tx.Delete(updateKey(h.seq, s.ID)); err != nil {
		return err
	}
	return w.put(tx, ev, s, h)
}

func (Workspaces) put(tx Tx, ev domain.Recorded, s workspace.Snapshot, h header) error {
	h.seq = ev.Seq
	h.revision++
	body, err := json.Marshal(workspaceDocument{
		ID: s.ID, Settings: s.Settings, CreatedAt: h.created, CreatedBy: h.by,
		UpdatedAt: ev.At.UTC().Format(timestamp), UpdatedBy: ev.Meta.UserID, Logo: s.Settings.Photo,
	})
	if err != nil {
		return err
	}
	if err := tx.Set(documentKey(s.ID), append(h.encode(len(body)), body...)); err != nil {
		return err
	}
	return tx.Set(updateKey(ev.Seq, s.ID), nil)
}

// Get returns the workspace with this id; ok is false when there is none.
func (w Workspaces) Get(r Reader, id string) (doc Document, ok bool, err error) {
	value, ok, err := r.Get(w, documentKey(id))
	if err != nil || !ok {
		return Document{}, false, err
	}
	h, body, err := parseHeader(value)
	return Document{Revision: h.revision, JSON: body}, err == nil, err
}

// List visits all workspaces, the last updated first, until visit returns false.
func (w Workspaces) List(r Reader, visit func(Document) (more bool)) error {
	newestFirst := Span{Prefix: []byte{'u'}, Reverse: true, KeysOnly: true}
	return r.Iterate(w, newestFirst, func(key, _ []byte) (bool, error) {
		doc, ok, err := w.Get(r, string(key[9:]))
		if err != nil || !ok {
			return false, errors.Join(err, fmt.Errorf("workspace %s is in the index, but not there", key[9:]))
		}
		return visit(doc), nil
	})
}

func documentKey(id string) []byte { return append([]byte{'d'}, id...) }

func updateKey(seq uint64, id string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{'u'}, seq), id...)
}

// header is what a stored document carries in front of its JSON: what serving
// it and changing it needs, without decoding it.
type header struct {
	seq      uint64 // of the last event
	revision uint64
	created  string
	by       string
}

// encode returns the header with room for a body.
func (h header) encode(body int) []byte {
	b := make([]byte, 0, 16+2*binary.MaxVarintLen32+len(h.created)+len(h.by)+body)
	b = binary.BigEndian.AppendUint64(b, h.seq)
	b = binary.BigEndian.AppendUint64(b, h.revision)
	for _, field := range []string{h.created, h.by} {
		b = append(binary.AppendUvarint(b, uint64(len(field))), field...)
	}
	return b
}

var errHeader = errors.New("a stored document is damaged")

func parseHeader(b []byte) (h header, body []byte, err error) {
	if len(b) < 16 {
		return h, nil, errHeader
	}
	h.seq, h.revision, b = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), b[16:]
	for _, field := range []*string{&h.created, &h.by} {
		n, size := binary.Uvarint(b)
		if size <= 0 || uint64(len(b)-size) < n {
			return h, nil, errHeader
		}
		*field, b = string(b[size:size+int(n)]), b[size+int(n):]
	}
	return h, b, nil
}
