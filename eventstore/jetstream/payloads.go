package jetstream

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"svc/eventstore"
)

// Payloads keeps payload and output of executions apart from their events, so that they can
// be erased without rewriting the log.
//
// Those of the events of one pack are one message under the sequence of the pack: lines of an event
// id, a space and the payload. Others are a message each under the id of their event.
type Payloads struct{ conn *connection }

func (p *Payloads) put(ctx context.Context, m *nats.Msg) error {
	if err := p.conn.Writable(); err != nil {
		return err
	}
	return p.conn.writeDurably(ctx, streamPayloads, func() (uint64, error) { return p.conn.sendOne(ctx, m) })
}

// payload is that of one event.
type payload struct {
	workspace, eventID string
	body               []byte
}

// payloadsOf returns the payloads of commits.
func payloadsOf(commits []eventstore.Commit) (all []payload) {
	for _, c := range commits {
		for _, f := range c.Facts {
			if f.Apart != nil {
				all = append(all, payload{c.Stream.Scope, f.ID, f.Apart})
			}
		}
	}
	return all
}

// payloadAttempts is how often storing payloads is tried, for about a second.
const payloadAttempts = 10

// storeInBackground stores payloads as store does. kept is closed when that is done; it is nil when there are none.
func (p *Payloads) storeInBackground(all []payload, seq uint64) (kept chan struct{}) {
	if len(all) == 0 {
		return nil
	}
	kept = make(chan struct{})
	go func() {
		defer close(kept)
		ctx, cancel := context.WithTimeout(context.Background(), p.conn.opts.MaxWait)
		defer cancel()
		p.store(ctx, all, seq)
	}()
	return kept
}

// store stores payloads: as one message if seq, the last one of the pack of their events, is not 0 and there is
// room. A failure is logged only: nothing depends on payloads, and they expire anyway.
func (p *Payloads) store(ctx context.Context, all []payload, seq uint64) {
	var group *nats.Msg
	var msgs []*nats.Msg
	count := 0
	for _, one := range all {
		if seq == 0 || group != nil && len(group.Data)+len(one.eventID)+len(one.body)+2 > maxBody || bytes.IndexByte(one.body, '\n') >= 0 {
			msgs = append(msgs, &nats.Msg{Subject: payloadSubject(one.workspace, one.eventID), Data: one.body})
			continue
		}
		if group == nil {
			group = &nats.Msg{Subject: payloadSubject(one.workspace, strconv.FormatUint(seq, 10)), Header: nats.Header{}}
			msgs = append(msgs, group)
		}
		group.Data = append(append(append(append(group.Data, one.eventID...), ' '), one.body...), '\n')
		count++
	}
	if group != nil {
		group.Header[headerPack] = []string{strconv.Itoa(count)}
	}
	for _, m := range msgs {
		if err := p.conn.retry(ctx, payloadAttempts, func() error { return p.put(ctx, m) }); err != nil {
			p.conn.opts.Log.ErrorContext(ctx, "payloads of executions were not stored", "subject", m.Subject, "err", err)
		}
	}
}

// Get returns the payload of the event with an id and a sequence; ok is false when there is none.
func (p *Payloads) Get(ctx context.Context, workspace, eventID string, seq uint64) (body []byte, ok bool, err error) {
	n := numbering{p.conn.packBase.Load()}
	group := payloadSubject(workspace, strconv.FormatUint(n.last(n.message(seq)), 10))
	m, ok, err := p.conn.getMessage(ctx, streamPayloads, getRequest{LastFor: group})
	if err != nil {
		return nil, false, err
	}
	if ok {
		for line := range bytes.Lines(m.data) {
			if body, found := bytes.CutPrefix(line, []byte(eventID+" ")); found {
				return bytes.TrimSuffix(body, lineBreak), true, nil
			}
		}
	}
	m, ok, err = p.conn.getMessage(ctx, streamPayloads, getRequest{LastFor: payloadSubject(workspace, eventID)})
	return m.data, ok, err
}

func payloadSubject(workspace, eventID string) string {
	return payloadsRoot + token(workspace) + "." + token(eventID)
}

// payloadCount returns how many payloads a message has.
func (m storedMessage) payloadCount() uint64 {
	if counts := m.header[headerPack]; len(counts) > 0 {
		n, _ := strconv.ParseUint(counts[0], 10, 64) // our own
		return n
	}
	return 1
}

// Extent is a number of payloads, their size, and the sequence before which all of them are.
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
			e.Count, e.Bytes, next = e.Count+m.payloadCount(), e.Bytes+uint64(len(m.data)), m.seq+1
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
