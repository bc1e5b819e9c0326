package projections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
	"svc/eventstore"
)

// checkpoint is how far a generation has read one log. It is written in the
// transaction of the events it covers.
type checkpoint struct {
	Identity string `json:"identity"` // of the log; differs when the log was made anew
	Seq      uint64 `json:"seq"`
	EventID  string `json:"eventId,omitempty"` // of the event at Seq; empty when that one was purged unread
	Ahead    int    `json:"ahead,omitempty"`   // how many projections have applied the event after Seq already
}

func readCheckpoint(txn *badger.Txn, g *generation, log domain.Log) (c checkpoint, err error) {
	b, ok, err := get(txn, g.checkpointKey(log))
	if err != nil || !ok {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("decode checkpoint of %s: %w", log, err)
	}
	return c, nil
}

func (c checkpoint) write(txn *badger.Txn, key []byte) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return txn.Set(key, b)
}

// staleError says why a generation does not belong to the log it is to follow.
// The answer to it is a rebuild.
type staleError struct {
	gen *generation
	why string
}

func (e *staleError) Error() string { return "projections: read models are stale: " + e.why }

// compare returns why c cannot be continued on the log that info describes, or
// "" when it can.
func (c checkpoint) compare(ctx context.Context, store eventstore.Store, log domain.Log, info eventstore.Info) (why string, err error) {
	switch {
	case c == checkpoint{}:
		return "", nil
	case c.Identity != info.Identity:
		return fmt.Sprintf("%s is another log: %s, not %s", log, info.Identity, c.Identity), nil
	case c.Seq > info.Last:
		return fmt.Sprintf("checkpoint %d is ahead of %s, which ends at %d", c.Seq, log, info.Last), nil
	case c.EventID == "":
		return "", nil
	}
	ev, ok, err := store.Read(ctx, log, c.Seq)
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s at checkpoint %d: %w", log, c.Seq, err)
	case ok && ev.ID != c.EventID:
		return fmt.Sprintf("event %d of %s is %s, not %s", c.Seq, log, ev.ID, c.EventID), nil
	case !ok && log == domain.State:
		return "", &Fault{Kind: FaultGap, Log: log, From: c.Seq, To: c.Seq, Message: "the event at the checkpoint is missing"}
	}
	return "", nil
}

// live is the stored record of which generation serves.
type live struct {
	Generation  uint32 `json:"generation"`
	Fingerprint string `json:"fingerprint"`
}

func readLive(txn *badger.Txn) (l live, ok bool, err error) {
	b, ok, err := get(txn, []byte(liveKey))
	if err != nil || !ok {
		return l, false, err
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return l, false, errors.Join(errors.New("decode live generation"), err)
	}
	return l, true, nil
}

func (l live) write(txn *badger.Txn) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return txn.Set([]byte(liveKey), b)
}
