package projections

import (
	"encoding/binary"
	"errors"

	"svc/domain"
	"svc/domain/topic"
	"svc/domain/user"
	"svc/domain/workspace"
)

// Topics is the read model of the topics that users have joined. It leaves out those of
// deleted workspaces and of deleted accounts: these are marked, not removed one by one,
// because one event must not change too much.
//
//	u{user}\0{workspace}\0{topic}  nothing
//	v{user}                        sequence of the last event about the user
//	d{user}                        nothing: the account is deleted
//	x{workspace}                   nothing: the workspace is deleted
type Topics struct{}

// Name implements Projection.
func (Topics) Name() string { return "topics.2" }

// Log implements Projection.
func (Topics) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (t Topics) Apply(tx Tx, ev domain.Recorded) error {
	switch e := ev.Data.(type) {
	case topic.Created:
		var err error
		for _, id := range e.UserIDs {
			err = errors.Join(err, t.join(tx, ev, e.Topic, id))
		}
		return err
	case topic.Joined:
		return t.join(tx, ev, e.Topic, e.User.ID)
	case user.Deleted:
		return errors.Join(tx.Set(topicKey('d', e.UserID), nil), tx.Set(topicKey('v', e.UserID), seqKey(ev.Seq)))
	case workspace.Deleted:
		return tx.Set(topicKey('x', ev.Stream.ID), nil)
	case workspace.Undeleted:
		return tx.Delete(topicKey('x', ev.Stream.ID))
	}
	return nil
}

func (Topics) join(tx Tx, ev domain.Recorded, name, userID string) error {
	workspaceID := ev.Stream.Scope
	return errors.Join(
		tx.Set(scopedKey('u', userID, []byte(workspaceID+"\x00"+name)), nil),
		tx.Set(topicKey('v', userID), seqKey(ev.Seq)),
	)
}

func topicKey(space byte, id string) []byte { return append([]byte{space}, id...) }

// Version changes whenever the topics of a user change in any workspace; 0 if the user has never
// joined one.
func (t Topics) Version(r Reader, userID string) (uint64, error) {
	value, ok, err := r.Get(t, topicKey('v', userID))
	if err != nil || !ok || len(value) != 8 {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), nil
}

// Of returns the topics of a workspace that a user has joined, in the order of their
// names.
func (t Topics) Of(r Reader, workspaceID, userID string) (names []string, err error) {
	gone, err := t.hasMark(r, 'd', userID)
	if err != nil || gone {
		return nil, err
	}
	if gone, err = t.hasMark(r, 'x', workspaceID); err != nil || gone {
		return nil, err
	}
	return t.list(r, scopedKey('u', userID, []byte(workspaceID+"\x00")))
}

// IsMember reports whether a user has joined a topic of a workspace.
func (t Topics) IsMember(r Reader, workspaceID, name, userID string) (bool, error) {
	gone, err := t.hasMark(r, 'x', workspaceID)
	if err != nil || gone {
		return false, err
	}
	_, joined, err := r.Get(t, scopedKey('u', userID, []byte(workspaceID+"\x00"+name)))
	return joined, err
}

func (t Topics) hasMark(r Reader, mark byte, id string) (bool, error) {
	_, there, err := r.Get(t, topicKey(mark, id))
	return there, err
}

// list returns the keys with a prefix, without the prefix.
func (t Topics) list(r Reader, prefix []byte) (rest []string, err error) {
	err = r.Iterate(t, Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		rest = append(rest, string(key[len(prefix):]))
		return true, nil
	})
	return rest, err
}
