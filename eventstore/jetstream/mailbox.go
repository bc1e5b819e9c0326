package jetstream

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// mailbox receives the answers to all questions that have several, or whose asking must
// not wait for them, with one subscription: one for each question costs the broker more
// than the question.
type mailbox struct {
	prefix string

	mu     sync.Mutex
	number uint64
	slots  map[string]*slot
}

// slot is for the answers to one question.
type slot struct {
	box     *mailbox
	name    string
	letters chan *nats.Msg
}

// newMailbox lets answers come over a connection, for as long as that lasts.
func newMailbox(nc *nats.Conn) (*mailbox, error) {
	b := &mailbox{prefix: nc.NewInbox() + ".", slots: map[string]*slot{}}
	sub, err := nc.Subscribe(b.prefix+">", b.sort)
	if err != nil {
		return nil, err
	}
	return b, sub.SetPendingLimits(-1, -1) // each has its room already
}

// sort puts an answer where it belongs. One that nobody waits for any more is dropped.
func (b *mailbox) sort(m *nats.Msg) {
	name, _, _ := strings.Cut(strings.TrimPrefix(m.Subject, b.prefix), ".")
	b.mu.Lock()
	s := b.slots[name]
	b.mu.Unlock()
	if s == nil {
		return
	}
	select {
	case s.letters <- m:
	default: // more than were asked for
	}
}

// rent returns a slot for so many answers. It is to be given back.
func (b *mailbox) rent(answers int) *slot {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.number++
	s := &slot{box: b, name: strconv.FormatUint(b.number, 36), letters: make(chan *nats.Msg, answers)}
	b.slots[s.name] = s
	return s
}

func (s *slot) giveBack() {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	delete(s.box.slots, s.name)
}

// reply is where answers to a part of the question are to go.
func (s *slot) reply(part string) string { return s.box.prefix + s.name + "." + part }

// next waits for an answer.
func (s *slot) next(ctx context.Context) (*nats.Msg, error) {
	select {
	case m := <-s.letters:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
