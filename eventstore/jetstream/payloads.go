package jetstream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// Payloads keeps payload and output of executions apart from their events, so that they can
// be erased without rewriting the log.
type Payloads struct{ conn *connection }

// Put stores the payload of one event.
func (p *Payloads) Put(ctx context.Context, workspace, eventID string, body []byte) error {
	if err := p.conn.Writable(); err != nil {
		return err
	}
	m := &nats.Msg{Subject: payloadSubject(workspace, eventID), Data: body}
	return p.conn.writeDurably(ctx, streamPayloads, func() (uint64, error) { return p.conn.sendOne(ctx, m) })
}

// Get returns the payload of one event; ok is false when there is none.
func (p *Payloads) Get(ctx context.Context, workspace, eventID string) (body []byte, ok bool, err error) {
	m, ok, err := p.conn.getMessage(ctx, streamPayloads, getRequest{LastFor: payloadSubject(workspace, eventID)})
	return m.data, ok, err
}

func payloadSubject(workspace, eventID string) string {
	return payloadsRoot + token(workspace) + "." + token(eventID)
}

// Extent is a number of messages, their size, and the sequence before which all of them are.
type Extent struct{ Count, Bytes, Below uint64 }

// Before measures the payloads of a workspace, or of all when it is empty, that are older than a time.
func (p *Payloads) Before(ctx context.Context, workspaceID string, at time.Time) (e Extent, err error) {
	subject := payloadsRoot + workspaceToken(workspaceID) + ".>"
	if e.Below, err = p.conn.firstSince(ctx, streamPayloads, subject, at); err != nil {
		return e, err
	}
	for next, more := uint64(1), true; more; {
		var msgs []storedMessage
		if msgs, more, err = p.conn.getMessages(ctx, streamPayloads, subject, next, loadBatch); err != nil {
			return e, err
		}
		for _, m := range msgs {
			if m.seq >= e.Below {
				return e, nil
			}
			e.Count, e.Bytes, next = e.Count+1, e.Bytes+uint64(len(m.data)), m.seq+1
		}
	}
	return e, nil
}

// Purge erases the payloads of a workspace, or of all when it is empty, before a sequence.
func (p *Payloads) Purge(ctx context.Context, workspaceID string, below uint64) error {
	return p.conn.purge(ctx, streamPayloads, payloadsRoot+workspaceToken(workspaceID)+".>", below)
}

// Strip erases the payloads of a workspace, or of all when it is empty, that are older than a time. On a dry run it only
// counts.
func (p *Payloads) Strip(ctx context.Context, workspaceID string, before time.Time, dry bool) (count, bytes uint64, err error) {
	found, err := p.Before(ctx, workspaceID, before)
	if err != nil || dry {
		return found.Count, found.Bytes, err
	}
	if err := p.Purge(ctx, workspaceID, found.Below); err != nil {
		return 0, 0, err
	}
	return found.Count, found.Bytes, nil
}
