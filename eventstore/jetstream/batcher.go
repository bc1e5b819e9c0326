package jetstream

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"svc/domain"
	"svc/eventstore"
)

// batcher sends atomic appends to STATE that wait at the same moment as one batch of the broker: each batch is a file
// store of its own there, which costs more than its messages. When the batch is refused, because one of them met a
// conflict, each is sent by itself.
type batcher struct {
	publish func(ctx context.Context, log domain.Log, commits []eventstore.Commit, msgs []*nats.Msg) ([]uint64, error)

	mu      sync.Mutex
	waiting []*waitingAppend
	sends   bool // a goroutine sends what waits
}

// waitingAppend is an append that waits until it was sent.
type waitingAppend struct {
	commits []eventstore.Commit
	msgs    []*nats.Msg

	sent chan struct{} // closed when the outcome is known
	seqs []uint64
	err  error
}

// maxShared is how many messages one batch has of several appends.
const maxShared = 64

// append sends an append with those that wait, too. One whose turn has come is sent although ctx ends.
func (b *batcher) append(ctx context.Context, commits []eventstore.Commit, msgs []*nats.Msg) ([]uint64, error) {
	w := &waitingAppend{commits: commits, msgs: msgs, sent: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	if !b.sends {
		b.sends = true
		go b.send(context.WithoutCancel(ctx))
	}
	b.mu.Unlock()
	<-w.sent
	return w.seqs, w.err
}

// send sends what waits until nothing does.
func (b *batcher) send(ctx context.Context) {
	for {
		part := b.take()
		if part == nil {
			return
		}
		var commits []eventstore.Commit
		var msgs []*nats.Msg
		for _, w := range part {
			commits, msgs = append(commits, w.commits...), append(msgs, w.msgs...)
		}
		seqs, err := b.publish(ctx, domain.State, commits, msgs)
		for _, w := range part {
			switch {
			case err == nil:
				w.seqs, seqs = seqs[:len(w.msgs):len(w.msgs)], seqs[len(w.msgs):]
			case len(part) == 1 || errors.Is(err, eventstore.ErrUnavailable):
				w.err = err
			default:
				forgetBatch(w.msgs)
				w.seqs, w.err = b.publish(ctx, domain.State, w.commits, w.msgs)
			}
			close(w.sent)
		}
	}
}

// take takes what is sent next; nil: nothing waits, and nobody sends any more. A batch has one append of each aggregate:
// the broker compares what a message expects with what is stored, and not with the messages before it in its batch.
func (b *batcher) take() (part []*waitingAppend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size, rest, met := 0, []*waitingAppend(nil), map[domain.StreamID]bool{}
	for _, w := range b.waiting {
		isMet := slices.ContainsFunc(w.commits, func(c eventstore.Commit) bool { return met[c.Stream] })
		if len(part) > 0 && (isMet || size+len(w.msgs) > maxShared) {
			rest = append(rest, w)
			continue
		}
		for _, c := range w.commits {
			met[c.Stream] = true
		}
		part, size = append(part, w), size+len(w.msgs)
	}
	b.waiting, b.sends = rest, len(part) > 0
	return part
}

// forgetBatch removes what a batch that was refused has written into messages.
func forgetBatch(msgs []*nats.Msg) {
	for _, m := range msgs {
		for _, name := range []string{headerBatch, headerBatchSeq, headerBatchSize, headerBatchCommit} {
			delete(m.Header, name)
		}
	}
}
