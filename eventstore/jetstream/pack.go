package jetstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"svc/domain"
	"svc/eventstore"
)

// A pack is a message of ACTIVITY with several events of one workspace: those of one append, and of
// other appends that waited at the same moment. A message costs the broker, the disk and every reader
// about as much as ten events in it. Only a store that is the only writer makes packs, because it
// recognises repeated appends itself (packer). Every store reads them.
//
// It is lines of JSON: one about the pack, then the source of some events and these events, and so on.
//
//	{"workspaceId":…,"createdAt":…}
//	{"source":{…}}
//	{"id":…,"type":…,"schema":…,"payload":…}

// headerPack is how many events a pack has.
const headerPack = "Svc-Events"

// maxEvent is the largest size of an event in a pack: with its source it fits into a message.
const maxEvent = maxBody - 16<<10

// packToken ends the subject of a pack with events of several types. No type has it: see token.
const packToken = "%pack"

// Sequences of events in packs.
const (
	packBits = 8
	maxPack  = domain.MaxGroup
)

// numbering gives the events of a log their sequences. Up to the message base, each message has one
// event, with the sequence of the message. Each later message has room for maxPack sequences: its
// events have the last of them. The sequence of the last event of a message follows from that of the
// message alone.
type numbering struct{ base uint64 }

// messageNumbering is that of a log without packs.
var messageNumbering = numbering{^uint64(0)}

// last returns the sequence of the last event of a message.
func (n numbering) last(message uint64) uint64 {
	if message <= n.base {
		return message
	}
	return n.base + (message-n.base)<<packBits
}

// first returns the lowest sequence that an event of a message can have.
func (n numbering) first(message uint64) uint64 {
	if message == 0 {
		return 0
	}
	return n.last(message-1) + 1
}

// message returns the message that an event with a sequence is in.
func (n numbering) message(seq uint64) uint64 {
	if seq <= n.base {
		return seq
	}
	above := seq - n.base
	return n.base + (above-1)>>packBits + 1
}

// numbering returns the numbering of a log.
func (l *Log) numbering(log domain.Log) numbering {
	if log == domain.State {
		return messageNumbering
	}
	return numbering{l.conn.packBase.Load()}
}

// metadataBase is the base of the numbering of ACTIVITY in the metadata of its stream. Without it no
// store has made packs.
const metadataBase = "svc-packs-after"

// readPackBase reads the base of the numbering from the configuration of ACTIVITY.
func (c *connection) readPackBase(cfg jetstream.StreamConfig) error {
	if cfg.Name != string(domain.Activity) {
		return nil
	}
	base := messageNumbering.base
	if text, ok := cfg.Metadata[metadataBase]; ok {
		var err error
		if base, err = strconv.ParseUint(text, 10, 64); err != nil {
			return fmt.Errorf("metadata %s: %w", metadataBase, err)
		}
	}
	c.packBase.Store(base)
	return nil
}

// withPackBase adds the base of the numbering to the configuration of ACTIVITY: the one that it has, or
// its last message when packs are made from now on.
func (c *connection) withPackBase(cfg jetstream.StreamConfig, have *jetstream.StreamInfo) jetstream.StreamConfig {
	if cfg.Name != string(domain.Activity) {
		return cfg
	}
	base, last := "", uint64(0)
	if have != nil {
		base, last = have.Config.Metadata[metadataBase], have.State.LastSeq
	}
	if base == "" && c.Alone() {
		base = strconv.FormatUint(last, 10)
	}
	if base != "" {
		cfg.Metadata = map[string]string{metadataBase: base}
	}
	return cfg
}

// packed is an append as it is put into a pack, or as several packs when it is larger than one.
type packed struct {
	workspace string
	eventType string   // of all events; "" when they differ
	alone     bool     // it is not mixed with other types
	lines     []byte   // each ends with a line break
	more      [][]byte // lines of packs that were merged
	size      int      // of all lines
	events    int
}

// encodePacked encodes the commits of an append: as one pack, unless they are of several workspaces, or
// larger. There is at least one fact.
func (l *Log) encodePacked(commits []eventstore.Commit) (all []*packed, err error) {
	var p *packed
	var source []byte
	var sourceOf *domain.Meta // that source encodes, and that is the last one in p
	event := make([]byte, 0, eventRoom)
	for i := range commits {
		c := &commits[i]
		isNew := sourceOf == nil || !sameSource(*sourceOf, c.Meta)
		if isNew && len(c.Facts) > 0 {
			if source, err = encodeSource(&c.Meta); err != nil {
				return nil, fmt.Errorf("encode the source: %w", err)
			}
			sourceOf = &c.Meta
		}
		for _, f := range c.Facts {
			name := f.Event.EventType()
			if event, err = l.encodeEvent(event[:0], f); err != nil {
				return nil, err
			}
			if one := (&packed{workspace: c.Stream.Scope, eventType: name, alone: l.conn.opts.Events[name].ErasedByType, size: len(event), events: 1}); p == nil || !p.admits(one, len(source)) {
				p = &packed{workspace: one.workspace, eventType: name, alone: one.alone, lines: make([]byte, 0, packRoom)}
				all, isNew = append(all, p), true
			}
			if isNew {
				p.lines, isNew = append(p.lines, source...), false
			}
			p.lines = append(p.lines, event...)
			p.size = len(p.lines)
			if p.events++; p.eventType != name {
				p.eventType = ""
			}
		}
	}
	return all, nil
}

// packRoom is what a pack of one run takes, about, and eventRoom what one of its events does.
const (
	packRoom  = 2 << 10
	eventRoom = 1 << 10
)

// encodeSource returns the line of a source.
func encodeSource(source *domain.Meta) ([]byte, error) {
	o := domain.NewObjectEncoder(make([]byte, 0, 768))
	o.Open("source")
	source.Encode(&o)
	o.Close()
	line, err := o.End()
	return append(line, '\n'), err
}

// sameSource reports whether two sources are encoded the same.
func sameSource(a, b domain.Meta) bool {
	if a.Actor != b.Actor || (a.HTTP == nil) != (b.HTTP == nil) || a.HTTP != nil && *a.HTTP != *b.HTTP {
		return false
	}
	a.HTTP, b.HTTP = nil, nil
	return a == b
}

// admits reports whether there is room for another pack, with so many bytes besides.
func (p *packed) admits(other *packed, besides int) bool {
	return p.workspace == other.workspace && p.alone == other.alone && (!p.alone || p.eventType == other.eventType) &&
		p.events+other.events <= maxPack && p.size+other.size+besides <= maxBody
}

// merge adds the events of another pack, if there is room.
func (p *packed) merge(other *packed) bool {
	if !p.admits(other, 0) {
		return false
	}
	p.more, p.size, p.events = append(p.more, other.lines), p.size+other.size, p.events+other.events
	if p.eventType != other.eventType {
		p.eventType = ""
	}
	return true
}

// message returns the message of a pack.
func (p *packed) message(id string, at time.Time) *nats.Msg {
	o := domain.NewObjectEncoder(make([]byte, 0, p.size+len(p.workspace)+128))
	o.Text("workspaceId", p.workspace)
	o.Text("createdAt", domain.FormatTime(at))
	body, _ := o.End() // texts
	body = append(append(body, '\n'), p.lines...)
	for _, lines := range p.more {
		body = append(body, lines...)
	}
	m := &nats.Msg{Subject: activityRoot + token(p.workspace) + "." + packToken, Header: nats.Header{}, Data: body}
	m.Header[headerID] = []string{id}
	m.Header[headerPack] = []string{strconv.Itoa(p.events)}
	if p.eventType != "" {
		m.Subject = activityRoot + token(p.workspace) + "." + typeTokens(p.eventType)
		m.Header[headerType] = []string{sanitizeHeader(p.eventType)}
	}
	return m
}

// encodeEvent encodes a fact as an event of a pack, in an empty slice.
func (l *Log) encodeEvent(to []byte, f eventstore.Fact) ([]byte, error) {
	name := f.Event.EventType()
	o := domain.NewObjectEncoder(to)
	o.Text("id", f.ID)
	o.Text("type", name)
	o.Int("schema", int64(max(l.conn.opts.Events[name].Schema, 1)))
	encodeEmission(&o, f)
	if withPayload, ok := f.Event.(domain.PayloadEvent); ok {
		encodeMember(&o, "payload", withPayload.Payload())
		encodeMember(&o, "data", f.Event)
	} else {
		encodeMember(&o, "payload", f.Event)
	}
	body, err := o.End()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	body = append(body, '\n')
	if len(body) > maxEvent {
		return nil, errTooLarge(name, len(body))
	}
	if at := bytes.IndexByte(body, '\n'); at < len(body)-1 { // JSON that somebody else has written
		var one bytes.Buffer
		if err := json.Compact(&one, body); err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		body = append(one.Bytes(), '\n')
	}
	return body, nil
}

// decodePack decodes the events of a pack that are wanted; nil: all of them. Of others it only looks for the
// ends of their lines.
func (l *Log) decodePack(log domain.Log, m storedMessage, wanted map[uint64]bool) ([]domain.Recorded, error) {
	n, err := strconv.Atoi(m.header[headerPack][0])
	if err != nil || n < 1 || n > maxPack {
		return nil, fmt.Errorf("%s %d: %w", log, m.seq, errDamaged)
	}
	events := make([]domain.Recorded, 0, cmp.Or(min(n, len(wanted)), n))
	last := l.numbering(log).last(m.seq)
	ev := domain.Recorded{Log: log, At: m.at, Size: len(m.data) / n, Seq: last - uint64(n), Group: last}
	head, rest, _ := bytes.Cut(m.data, lineBreak)
	err = domain.VisitMembers(head, func(key, value []byte) error {
		if string(key) == "workspaceId" {
			return domain.DecodeText(&ev.Stream.Scope, value)
		}
		return nil
	})
	var source []byte // of the events that follow; nil when it is in ev
	for len(rest) > 0 && err == nil {
		var line []byte
		line, rest, _ = bytes.Cut(rest, lineBreak)
		if bytes.HasPrefix(line, sourcePrefix) {
			source = bytes.TrimSuffix(line[len(sourcePrefix):], sourceEnd)
			continue
		}
		if ev.Seq++; wanted != nil && !wanted[ev.Seq] {
			continue
		}
		if source != nil {
			before := ev.Meta
			ev.Meta = domain.Meta{}
			err, source = decodeMeta(&ev.Meta, &before, source), nil
		}
		events = append(events, ev)
		err = errors.Join(err, l.decodeEvent(&events[len(events)-1], line))
	}
	if has := n - int(last-ev.Seq); err == nil && has != n {
		err = fmt.Errorf("it has %d events, not %d", has, n)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %d: %w", log, m.seq, errors.Join(errDamaged, err))
	}
	return events, nil
}

var lineBreak, sourcePrefix, sourceEnd = []byte("\n"), []byte(`{"source":`), []byte("}")

// packer appends to ACTIVITY when this process is its only writer. Appends of a workspace that come
// while another one is being sent are sent together. An append is known by the id of its first fact:
// one that is repeated finds the first, also when that was sent with others.
type packer struct {
	log *Log

	mu       sync.Mutex
	queues   map[string]*packQueue     // by workspace; those of which something is being sent
	pending  map[string]*pendingAppend // by the id of their first fact
	recent   map[string]uint64         // sequences of first facts of appends, by their id
	previous map[string]uint64         // what recent was before
	forget   *time.Timer               // makes recent the previous one; nil when both are empty
}

// packQueue has the appends of a workspace that wait for the one that is being sent.
type packQueue struct{ waiting []*pendingAppend }

// pendingAppend is an append whose outcome is not known yet.
type pendingAppend struct {
	commits []eventstore.Commit
	packs   []*packed
	done    chan struct{}
	seqs    []uint64        // of its facts
	kept    <-chan struct{} // closed when the payloads of its events are stored; nil when there are none
	err     error           // why it was refused

	failed  chan struct{} // closed when an attempt had an unknown outcome; another one follows
	fault   error         // of that attempt
	inDoubt bool          // somebody was told that the outcome is unknown
}

// id is that of its first fact.
func (a *pendingAppend) id() string { return a.commits[0].Facts[0].ID }

// duplicateWindow is for how long repeated appends are recognised at least: as long as by the broker.
const duplicateWindow = 2 * time.Minute

func newPacker(l *Log) *packer {
	return &packer{log: l, queues: map[string]*packQueue{}, pending: map[string]*pendingAppend{}, recent: map[string]uint64{}}
}

// append stores commits and returns the sequences of their facts. They may not be durable then. kept is closed when
// their payloads are.
func (p *packer) append(ctx context.Context, commits []eventstore.Commit) (seqs []uint64, kept <-chan struct{}, err error) {
	a, stored, err := p.enqueue(commits)
	if err != nil {
		return nil, nil, err
	}
	if stored > 0 {
		if seqs, err = p.log.verifyStored(ctx, domain.Activity, commits, stored); err != nil {
			return nil, nil, err
		}
		return seqs, p.log.payloads.storeInBackground(payloadsOf(commits), 0), nil
	}
	p.mu.Lock()
	failed := a.failed
	p.mu.Unlock()
	select {
	case <-a.done:
	case <-failed:
		p.mu.Lock()
		defer p.mu.Unlock()
		return nil, nil, a.fault
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		a.inDoubt = true
		return nil, nil, fmt.Errorf("%w: the outcome is unknown: %w", eventstore.ErrUnavailable, context.Cause(ctx))
	}
	switch {
	case a.err != nil:
		return nil, nil, a.err
	case !sameIDs(a.commits, commits):
		return nil, nil, usedTwice(commits[0].Facts[0].ID)
	}
	return a.seqs, a.kept, nil
}

// sameIDs reports whether two appends have the same facts.
func sameIDs(a, b []eventstore.Commit) bool {
	return slices.EqualFunc(a, b, func(a, b eventstore.Commit) bool {
		return a.Stream == b.Stream && slices.EqualFunc(a.Facts, b.Facts, func(a, b eventstore.Fact) bool { return a.ID == b.ID })
	})
}

// enqueue adds an append. stored is where its first fact is when it was appended before.
func (p *packer) enqueue(commits []eventstore.Commit) (a *pendingAppend, stored uint64, err error) {
	packs, err := p.log.encodePacked(commits)
	if err != nil {
		return nil, 0, err
	}
	id := commits[0].Facts[0].ID
	p.mu.Lock()
	defer p.mu.Unlock()
	if a, stored = p.find(id); a != nil || stored > 0 {
		return a, stored, nil
	}
	a = &pendingAppend{commits: commits, packs: packs, done: make(chan struct{}), failed: make(chan struct{})}
	p.pending[id] = a
	workspace := packs[0].workspace
	if q := p.queues[workspace]; q != nil {
		q.waiting = append(q.waiting, a)
		return a, 0, nil
	}
	q := &packQueue{waiting: []*pendingAppend{a}}
	p.queues[workspace] = q
	go p.drain(workspace, q)
	return a, 0, nil
}

// find returns an append that is pending, or where it is stored.
func (p *packer) find(id string) (a *pendingAppend, stored uint64) {
	if a := p.pending[id]; a != nil {
		return a, 0
	}
	if seq, ok := p.recent[id]; ok {
		return nil, seq
	}
	return nil, p.previous[id]
}

// drain sends what waits in a queue until nothing does.
func (p *packer) drain(workspace string, q *packQueue) {
	for {
		p.mu.Lock()
		if len(q.waiting) == 0 {
			delete(p.queues, workspace)
			p.mu.Unlock()
			return
		}
		next := q.next()
		p.mu.Unlock()
		p.send(next)
	}
}

// shipment is what is sent at once: one append, or several in one pack.
type shipment struct {
	appends []*pendingAppend
	packs   []*packed
}

// next takes the appends that are sent next: one that needs several messages, or as many as fit into one.
func (q *packQueue) next() shipment {
	first, n := q.waiting[0], 1
	s := shipment{packs: first.packs}
	if len(first.packs) == 1 {
		whole := *first.packs[0]
		for n < len(q.waiting) && len(q.waiting[n].packs) == 1 && whole.merge(q.waiting[n].packs[0]) {
			n++
		}
		s.packs = []*packed{&whole}
	}
	s.appends, q.waiting = q.waiting[:n:n], q.waiting[n:]
	return s
}

// maxSendTime is for how long messages are repeated: the broker recognises them for two minutes.
const maxSendTime = 90 * time.Second

// send stores a shipment. While the outcome is unknown, the same messages are repeated: the broker would
// not recognise the appends in another composition.
func (p *packer) send(s shipment) {
	l, began := p.log, time.Now()
	msgs := s.messages(l.conn.opts.Now())
	for {
		message, duplicate, err := l.sendPacks(msgs)
		switch {
		case err == nil && !duplicate:
			p.finish(s, s.seqs(l.numbering(domain.Activity), message), nil)
			return
		case err == nil:
			var seqs []uint64
			if seqs, err = l.verifyShipment(s, message, msgs[0]); errors.Is(err, errOtherMessage) {
				for _, a := range s.appends {
					p.send(shipment{[]*pendingAppend{a}, a.packs})
				}
				return
			}
			if err == nil || !errors.Is(err, eventstore.ErrUnavailable) || errors.Is(err, eventstore.ErrVoidIDs) {
				p.finish(s, seqs, err)
				return
			}
		case !errors.Is(err, eventstore.ErrUnavailable) || time.Since(began) > maxSendTime:
			p.finish(s, nil, err)
			return
		}
		p.fail(s, err)
		select {
		case <-l.conn.closing:
			p.finish(s, nil, err)
			return
		case <-time.After(sendPause):
		}
	}
}

// messages returns the messages of a shipment.
func (s shipment) messages(at time.Time) (msgs []*nats.Msg) {
	for i, pack := range s.packs {
		id := s.appends[0].id()
		if i > 0 {
			id += "-" + strconv.Itoa(i)
		}
		msgs = append(msgs, pack.message(id, at))
	}
	return msgs
}

// seqs returns the sequences of all facts of a shipment whose first message is stored at message.
func (s shipment) seqs(n numbering, message uint64) (seqs []uint64) {
	for i, pack := range s.packs {
		seqs = append(seqs, sequenceRange(n.last(message+uint64(i))-uint64(pack.events)+1, pack.events)...)
	}
	return seqs
}

// payloads returns the payloads of the events of a shipment.
func (s shipment) payloads() (all []payload) {
	for _, a := range s.appends {
		all = append(all, payloadsOf(a.commits)...)
	}
	return all
}

// group returns the last sequence of the only pack of a shipment; 0 when it has several.
func (s shipment) group(seqs []uint64) uint64 {
	if len(s.packs) > 1 {
		return 0
	}
	return seqs[len(seqs)-1]
}

// errOtherMessage says that the id of a pack is that of another message, which has the first of its appends only.
var errOtherMessage = errors.New("another message has this id")

// verifyShipment returns the sequences of the facts of a shipment whose first message has an id that is stored
// already, at a message. What was sent is that message, unless somebody appends the first fact again.
func (l *Log) verifyShipment(s shipment, message uint64, sent *nats.Msg) ([]uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.conn.opts.MaxWait)
	defer cancel()
	m, ok, err := l.messageAt(ctx, domain.Activity, message)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	if !ok {
		return nil, usedTwice(s.appends[0].id()) // and erased since
	}
	ids := m.eventIDs()
	if len(s.appends) == 1 {
		return l.verifyStored(ctx, domain.Activity, s.appends[0].commits, l.numbering(domain.Activity).last(message)-uint64(len(ids)-1))
	}
	if !slices.Equal(ids, storedMessage{header: sent.Header, data: sent.Data}.eventIDs()) {
		return nil, errOtherMessage
	}
	return s.seqs(l.numbering(domain.Activity), message), nil
}

// sendPause is the pause before messages are repeated.
const sendPause = 100 * time.Millisecond

// fail tells those who wait that the outcome of their append is unknown.
func (p *packer) fail(s shipment, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range s.appends {
		a.fault, a.inDoubt = err, true
		close(a.failed)
		a.failed = make(chan struct{})
	}
}

// finish tells those who wait where their append is stored, or why it is not.
func (p *packer) finish(s shipment, seqs []uint64, err error) {
	var kept <-chan struct{}
	if err == nil {
		kept = p.log.payloads.storeInBackground(s.payloads(), s.group(seqs))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range s.appends {
		delete(p.pending, a.id())
		if a.err = err; err == nil {
			a.seqs, seqs = p.takeSeqs(a, seqs)
			a.kept = kept
		}
		close(a.done)
	}
}

// takeSeqs returns the sequences of the facts of an append, which are the first of seqs, and the others. It
// remembers where the append is, and each of its commits when it was in doubt: after a fault, they may be
// appended again one by one.
func (p *packer) takeSeqs(a *pendingAppend, seqs []uint64) (own, others []uint64) {
	n := 0
	for _, c := range a.commits {
		if len(c.Facts) > 0 && (n == 0 || a.inDoubt) {
			p.remember(c.Facts[0].ID, seqs[n])
		}
		n += len(c.Facts)
	}
	return seqs[:n:n], seqs[n:]
}

// remember notes where a fact is, for duplicateWindow at least.
func (p *packer) remember(id string, seq uint64) {
	p.recent[id] = seq
	if p.forget == nil {
		p.forget = time.AfterFunc(duplicateWindow, p.rotate)
	}
}

// rotate forgets what is old.
func (p *packer) rotate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.previous, p.recent, p.forget = p.recent, map[string]uint64{}, nil
	if len(p.previous) > 0 {
		p.forget = time.AfterFunc(duplicateWindow, p.rotate)
	}
}

// sendPacks stores messages, all or none, and returns the sequence of the first. duplicate says that its id
// is stored already.
func (l *Log) sendPacks(msgs []*nats.Msg) (message uint64, duplicate bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.conn.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		messages, duplicate, err := l.send(ctx, domain.Activity, msgs)
		switch code := errorCode(err); {
		case err == nil:
			return messages[0], duplicate, nil
		case code == codeStoreFailed || code == codeInsufficientResources || code == codeStorageExceeded:
			return 0, false, l.conn.storageError(err)
		case code == codeDuplicateInProcess:
		case code != 0:
			return 0, false, fmt.Errorf("append: %w", err)
		case !isTransient(err):
			return 0, false, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		if !l.conn.waitRetry(ctx, attempt) {
			return 0, false, fmt.Errorf("%w: the outcome is unknown: %w", eventstore.ErrUnavailable, err)
		}
		if err := l.conn.Writable(); err != nil {
			return 0, false, err
		}
	}
}

// loadRecent loads the ids of the facts that were appended a moment ago, before a restart.
func (p *packer) loadRecent(ctx context.Context) error {
	l := p.log
	from, err := l.conn.firstSince(ctx, string(domain.Activity), activityRoot+">", time.Now().Add(-duplicateWindow))
	if err != nil {
		return err
	}
	n := l.numbering(domain.Activity)
	return l.conn.visitMessages(ctx, string(domain.Activity), activityRoot+">", from-1, loadBatch, func(m storedMessage) error {
		ids := m.eventIDs()
		for i, id := range ids {
			p.remember(id, n.last(m.seq)-uint64(len(ids)-1-i))
		}
		return nil
	})
}

// eventIDs returns the ids of the events of a message.
func (m storedMessage) eventIDs() (ids []string) {
	if len(m.header[headerPack]) == 0 {
		return m.header[headerID]
	}
	for line := range bytes.Lines(m.data) {
		if rest, ok := bytes.CutPrefix(line, idPrefix); ok {
			id, _, _ := bytes.Cut(rest, quote)
			ids = append(ids, string(id))
		}
	}
	return ids
}

var idPrefix, quote = []byte(`{"id":"`), []byte(`"`)
