package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
	"svc/eventstore"
)

// connection is what the parts of a Store share: the broker, the connection to it, the gates
// that make writes durable, and the reasons why writes are refused.
type connection struct {
	opts    Options
	broker  *broker // nil with an external one
	nc      *nats.Conn
	replies *replyInbox
	js      jetstream.JetStream
	metrics metrics

	diskCheckedAt atomic.Int64  // when the free disk space was last read
	faults        faults        // why appends are refused
	packBase      atomic.Uint64 // of the numbering of ACTIVITY
	streamsMu     sync.Mutex    // held while a stream is created, or the health of the broker is checked

	mu        sync.RWMutex
	gates     map[string]*gate // by stream; empty when the broker syncs
	reconnect chan struct{}    // closed and replaced when the broker was restarted
	closing   chan struct{}
	closed    sync.Once
	watchers  sync.WaitGroup
}

// connect reaches the broker: through a pipe when it is ours, else over TCP.
func (c *connection) connect() error {
	options := []nats.Option{
		nats.Name(c.opts.Name), nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond),
		nats.ReconnectJitter(20*time.Millisecond, 50*time.Millisecond), nats.ReconnectBufSize(-1),
		nats.ReconnectHandler(func(*nats.Conn) { c.notifyReconnected() }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.opts.Log.Warn("broker connection", "err", err)
		}),
	}
	address := nats.DefaultURL
	if c.broker != nil {
		options = append(options, nats.InProcessServer(c.broker), nats.Token(c.broker.token))
	} else {
		address = strings.Join(c.opts.URL, ",")
		options = append(options, c.clientAuth()...)
	}
	nc, err := nats.Connect(address, options...)
	if err != nil {
		return fmt.Errorf("cannot reach the broker at %s (NATS_URL): %w", redactURLs(c.opts.URL), err)
	}
	c.nc = nc
	if c.replies, err = newReplyInbox(nc); err != nil {
		return err
	}
	c.js, err = jetstream.New(nc)
	return err
}

func (c *connection) clientAuth() []nats.Option {
	var options []nats.Option
	if c.opts.CredsFile != "" {
		options = append(options, nats.UserCredentials(c.opts.CredsFile))
	}
	if c.opts.TLS != nil {
		options = append(options, nats.Secure(c.opts.TLS))
	}
	return append(options, nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
		if err != nil {
			c.opts.Log.Warn("broker connection lost, reconnecting", "err", err)
		}
	}))
}

// redactURLs lists broker addresses without their credentials.
func redactURLs(addresses []string) string {
	if len(addresses) == 0 {
		return "its own pipe"
	}
	redacted := make([]string, len(addresses))
	for i, a := range addresses {
		redacted[i] = a
		if u, err := url.Parse(a); err == nil {
			redacted[i] = u.Redacted()
		}
	}
	return strings.Join(redacted, ", ")
}

// notifyReconnected ends the consumers of readers, which are gone from the broker.
func (c *connection) notifyReconnected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.reconnect)
	c.reconnect = make(chan struct{})
}

// reconnected returns a channel that is closed when the broker is reconnected.
func (c *connection) reconnected() <-chan struct{} {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.reconnect
}

// warnUnlessSynced asks an external broker whether it fsyncs before it acknowledges, and logs a
// warning when it does not confirm that. It answers only accounts with system rights.
func (c *connection) warnUnlessSynced(ctx context.Context) {
	if err := c.checkBrokerSyncs(ctx); err != nil {
		c.opts.Log.Warn("the external broker did not confirm that it syncs before it acknowledges; "+
			"set `sync_interval: always` in the jetstream block of every server, or a power cut may lose acknowledged events",
			"reason", err.Error(), "replicas", c.opts.Replicas)
	}
}

func (c *connection) checkBrokerSyncs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	m, err := c.nc.RequestWithContext(ctx, "$SYS.REQ.SERVER.PING.JSZ", nil)
	if err != nil {
		return errors.New("this account may not ask for server settings")
	}
	var answer struct {
		Data struct {
			Config struct {
				SyncAlways bool `json:"sync_always"`
			} `json:"config"`
		} `json:"data"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return err
	}
	if !answer.Data.Config.SyncAlways {
		return errors.New("its sync_interval is not `always`")
	}
	return nil
}

// Codes of the broker's answers. Texts are never matched.
const (
	codeWrongLastSequence         = 10071 // lost race
	codeWrongLastSequenceConstant = 10164 // lost race on a replicated stream, or within a batch
	codeDuplicateInBatch          = 10201 // one of the ids is stored already
	codeDuplicateInProcess        = 10158 // an earlier attempt is still under way
	codeBatchIncomplete           = 10176 // the batch was dropped before its commit
	codeTooManyBatches            = 10210 // more batches under way than the broker accepts
	codeNoPeers                   = 10005 // the cluster has too few members yet
	codeNoMessage                 = 10037 // nothing at that sequence or subject
	codeStoreFailed               = 10077 // the stream could not write
	codeInsufficientResources     = 10023
	codeStorageExceeded           = 10047
)

// pubAck is the broker's answer to a publish.
type pubAck struct {
	Error     *jetstream.APIError `json:"error"`
	Sequence  uint64              `json:"seq"`
	Duplicate bool                `json:"duplicate"`
	Value     string              `json:"val"` // of a counter
}

func (c *connection) request(ctx context.Context, m *nats.Msg) (pubAck, error) {
	answer, err := c.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return pubAck{}, err
	}
	return parsePubAck(answer)
}

// errorCode returns the broker's code; 0 for an error that is not the broker's.
func errorCode(err error) int {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return int(api.ErrorCode)
	}
	return 0
}

// parsePubAck reads an answer of the broker to a publish.
func parsePubAck(answer *nats.Msg) (ack pubAck, err error) {
	if len(answer.Data) == 0 {
		if answer.Header.Get("Status") == "503" {
			return ack, nats.ErrNoResponders
		}
		return ack, nil // within a batch
	}
	if err := ack.decode(answer.Data); err != nil {
		return ack, fmt.Errorf("the broker's answer is not understood: %w", err)
	}
	if ack.Error != nil {
		return ack, ack.Error
	}
	return ack, nil
}

// decode sets a from the JSON of the broker. There is one for each message.
func (a *pubAck) decode(body []byte) error {
	return domain.VisitMembers(body, func(key, value []byte) error {
		switch string(key) {
		case "error":
			return json.Unmarshal(value, &a.Error)
		case "seq":
			return domain.DecodeInt(&a.Sequence, value)
		case "duplicate":
			return domain.DecodeBool(&a.Duplicate, value)
		case "val":
			return domain.DecodeText(&a.Value, value)
		}
		return nil
	})
}

// storageError wraps an error of the broker's storage as eventstore.ErrUnavailable. A stream that
// could not write must be reopened; one that is full must not.
func (c *connection) storageError(err error) error {
	if errorCode(err) == codeStoreFailed {
		c.reportWriteFailure(err)
	} else {
		err = fmt.Errorf("the log has reached its size limit, see JETSTREAM_MAX_STORE: %w", err)
	}
	return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
}

// waitRetry waits before a repeated attempt; false when there is no time for one.
func (c *connection) waitRetry(ctx context.Context, attempt int) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(min(time.Duration(attempt+1)*20*time.Millisecond, 250*time.Millisecond)):
		return true
	}
}

// retry repeats do until it succeeds, so many times at most, with pauses.
func (c *connection) retry(ctx context.Context, attempts int, do func() error) error {
	err := do()
	for attempt := 1; err != nil && attempt < attempts && c.waitRetry(ctx, attempt); attempt++ {
		err = do()
	}
	return err
}

// attemptWait bounds one exchange, so that a lost answer leaves time to ask again.
func (c *connection) attemptWait() time.Duration { return min(c.opts.MaxWait/2, 5*time.Second) }

// sendUntilKnown publishes one message until its outcome is known. When the broker refuses its
// expectation, winner names the message that may be the stored one.
func (c *connection) sendUntilKnown(ctx context.Context, stream string, m *nats.Msg, winner getRequest) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		seq, err := c.sendOne(ctx, m)
		if errors.Is(err, eventstore.ErrConflict) {
			won, ok, getErr := c.getMessage(ctx, stream, winner)
			if getErr == nil && ok && won.header.Get(headerID) == m.Header.Get(headerID) {
				return won.seq, nil
			}
			return 0, errors.Join(err, getErr)
		}
		if err == nil || !isTransient(err) || !c.waitRetry(ctx, attempt) {
			return seq, err
		}
	}
}

// sendOne makes one attempt to publish a message.
func (c *connection) sendOne(ctx context.Context, m *nats.Msg) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.attemptWait())
	defer cancel()
	ack, err := c.request(ctx, m)
	switch errorCode(err) {
	case codeWrongLastSequence, codeWrongLastSequenceConstant:
		return 0, eventstore.ErrConflict
	case codeStoreFailed, codeInsufficientResources, codeStorageExceeded:
		return 0, c.storageError(err)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return ack.Sequence, nil
}

// sendUnconditional publishes a message without an expectation until its outcome is known.
func (c *connection) sendUnconditional(ctx context.Context, m *nats.Msg) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		seq, err := c.sendOne(ctx, m)
		again := err != nil && (isTransient(err) || errorCode(err) == codeDuplicateInProcess)
		if !again || !c.waitRetry(ctx, attempt) {
			return seq, err
		}
	}
}

// getRequest names one message: by its sequence, the first of a subject at or
// after it, or the last of a subject.
type getRequest struct {
	Seq     uint64 `json:"seq,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"`
	LastFor string `json:"last_by_subj,omitempty"`
}

// retryRead repeats a read that got no answer: the broker may be restarting, or electing a
// leader.
func (c *connection) retryRead(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := withTimeout(ctx, c.opts.MaxWait/4, ask)
		if err == nil || !isTransient(err) || !c.waitRetry(ctx, attempt) {
			return err
		}
	}
}

// getMessage returns one message from the leader of a stream, which is never behind.
func (c *connection) getMessage(ctx context.Context, stream string, req getRequest) (m storedMessage, ok bool, err error) {
	err = c.retryRead(ctx, func(ctx context.Context) (err error) {
		m, ok, err = c.getMessageOnce(ctx, stream, req)
		return err
	})
	return m, ok, err
}

func (c *connection) getMessageOnce(ctx context.Context, stream string, req getRequest) (storedMessage, bool, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return storedMessage{}, false, err
	}
	answer, err := c.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, body)
	if err != nil {
		return storedMessage{}, false, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	var got struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Seq    uint64    `json:"seq"`
			Time   time.Time `json:"time"`
			Header []byte    `json:"hdrs"`
			Data   []byte    `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(answer.Data, &got); err != nil {
		return storedMessage{}, false, fmt.Errorf("the broker's answer is not understood: %w", err)
	}
	if got.Error != nil {
		if got.Error.ErrorCode == codeNoMessage {
			return storedMessage{}, false, nil
		}
		return storedMessage{}, false, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, got.Error)
	}
	header, err := decodeHeader(got.Message.Header)
	return storedMessage{seq: got.Message.Seq, at: got.Message.Time, header: header, data: got.Message.Data}, err == nil, err
}

func decodeHeader(raw []byte) (nats.Header, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return nats.DecodeHeadersMsg(raw)
}

// batchRequest asks for consecutive messages.
type batchRequest struct {
	Seq     uint64 `json:"seq"`
	NextFor string `json:"next_by_subj"`
	Batch   int    `json:"batch"`
}

// getMessages returns up to n messages that match filter, from seq on; more tells
// whether others follow. It needs no consumer.
func (c *connection) getMessages(ctx context.Context, stream, filter string, seq uint64, n int) (msgs []storedMessage, more bool, err error) {
	err = c.retryRead(ctx, func(ctx context.Context) (err error) {
		msgs, more, err = c.getMessagesOnce(ctx, stream, filter, seq, n)
		return err
	})
	return msgs, more, err
}

func (c *connection) getMessagesOnce(ctx context.Context, stream, filter string, seq uint64, n int) (msgs []storedMessage, more bool, err error) {
	answers := c.replies.open(n + 1)
	defer answers.close()
	body, err := json.Marshal(batchRequest{Seq: seq, NextFor: filter, Batch: n})
	if err != nil {
		return nil, false, err
	}
	if err := c.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, answers.subject("all"), body); err != nil {
		return nil, false, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return collectBatch(ctx, answers)
}

// collectBatch reads answers up to the end-of-batch mark.
func collectBatch(ctx context.Context, answers *replySlot) (msgs []storedMessage, more bool, err error) {
	for {
		m, err := answers.next(ctx)
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		switch m.Header.Get("Status") {
		case "204":
			pending, _ := strconv.ParseUint(m.Header.Get("Nats-Num-Pending"), 10, 64)
			return msgs, pending > 0 && len(msgs) > 0, nil
		case "404":
			return msgs, false, nil
		case "":
		default:
			return nil, false, fmt.Errorf("%w: the broker answered %s", eventstore.ErrUnavailable, m.Header.Get("Description"))
		}
		got, err := parseDirectGet(m)
		if err != nil {
			return nil, false, err
		}
		msgs = append(msgs, got)
	}
}

// parseDirectGet reads a direct answer, whose place is in its headers.
func parseDirectGet(m *nats.Msg) (storedMessage, error) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return storedMessage{}, fmt.Errorf("the broker's answer has no sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	if err != nil {
		return storedMessage{}, fmt.Errorf("the broker's answer has no time: %w", err)
	}
	return storedMessage{seq: seq, at: at, header: m.Header, data: m.Data}, nil
}

// lastOnLeader returns the sequence up to which a read must reach, 0 with one replica. Batches of
// messages are served by any replica, and one may be behind; the leader is not.
func (c *connection) lastOnLeader(ctx context.Context, stream, filter string) (uint64, error) {
	if c.opts.Replicas == 1 {
		return 0, nil
	}
	m, ok, err := c.getMessage(ctx, stream, getRequest{LastFor: filter})
	if err != nil || !ok {
		return 0, err
	}
	return m.seq, nil
}

// visitMessages calls visit with the messages of a stream that match filter, after a sequence, in
// order, and asks for batch of them at a time.
func (c *connection) visitMessages(ctx context.Context, stream, filter string, after uint64, batch int, visit func(storedMessage) error) error {
	leaderLast, err := c.lastOnLeader(ctx, stream, filter)
	if err != nil || after > 0 && leaderLast == after {
		return err
	}
	for attempt := 0; ; {
		msgs, more, err := c.getMessages(ctx, stream, filter, after+1, batch)
		if err != nil {
			return err
		}
		for _, m := range msgs {
			if after = m.seq; err == nil {
				err = visit(m)
			}
		}
		if err != nil || !more && after >= leaderLast {
			return err
		}
		if attempt++; !more && !c.waitRetry(ctx, attempt) {
			return fmt.Errorf("%w: the replica is behind", eventstore.ErrUnavailable)
		}
	}
}

// subjectsInfo returns the state of a stream, with the subjects that match a filter.
func (c *connection) subjectsInfo(ctx context.Context, name, filter string) (*jetstream.StreamInfo, error) {
	stream, err := c.js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	return stream.Info(ctx, jetstream.WithSubjectFilter(filter))
}

// lastSequence returns the last sequence of a stream.
func (c *connection) lastSequence(ctx context.Context, stream string) (uint64, error) {
	st, err := c.js.Stream(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return st.CachedInfo().State.LastSeq, nil
}

// workspaceToken is the token of a workspace in a filter; "" selects all workspaces.
func workspaceToken(workspaceID string) string {
	if workspaceID == "" {
		return "*"
	}
	return token(workspaceID)
}

// purge erases the messages of subject before a sequence, if there are any, and waits until that
// is durable.
func (c *connection) purge(ctx context.Context, stream, subject string, below uint64) error {
	if err := c.Writable(); err != nil {
		return err
	}
	first, ok, err := c.getMessage(ctx, stream, getRequest{Seq: 1, NextFor: subject})
	if err != nil || !ok || first.seq >= below {
		return err
	}
	if err := c.purgeBelow(ctx, stream, subject, below); err != nil {
		return err
	}
	if g := c.gate(stream); g != nil {
		ctx, cancel := context.WithTimeout(ctx, purgeWait)
		defer cancel()
		return gateError(g.flush(ctx))
	}
	return nil
}

// firstSince returns the sequence before which every message of subject is older than at.
func (c *connection) firstSince(ctx context.Context, stream, subject string, at time.Time) (uint64, error) {
	last, err := c.lastSequence(ctx, stream)
	if err != nil {
		return 0, err
	}
	low, high := uint64(1), last+1 // what is before low is older, what is from high on is not
	for low < high {
		middle := low + (high-low)/2
		m, ok, err := c.getMessage(ctx, stream, getRequest{Seq: middle, NextFor: subject})
		if err != nil {
			return 0, err
		}
		if ok && m.seq < high && m.at.Before(at) {
			low = m.seq + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// purgeBelow erases the messages of subject before seq; all of them when 0.
func (c *connection) purgeBelow(ctx context.Context, stream, subject string, seq uint64) error {
	body, err := json.Marshal(jetstream.StreamPurgeRequest{Subject: subject, Sequence: seq})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, purgeWait)
	defer cancel()
	answer, err := c.nc.RequestWithContext(ctx, "$JS.API.STREAM.PURGE."+stream, body) // without the state of the stream, which the client library asks for first
	if err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	var done struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &done); err != nil {
		return fmt.Errorf("the broker's answer is not understood: %w", err)
	}
	if done.Error != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, done.Error)
	}
	return nil
}

// Bounds of one attempt. A stream without a leader does not answer and is asked again soon; a slow
// broker is given more time with each attempt.
const (
	minAttemptTime = 500 * time.Millisecond
	maxAttemptTime = 8 * time.Second
	attemptPause   = 200 * time.Millisecond // between two attempts
)

// retryStart repeats an attempt while the broker starts, or its cluster has no quorum yet.
func (c *connection) retryStart(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, brokerStartTimeout)
	defer cancel()
	for wait := minAttemptTime; ; wait = min(2*wait, maxAttemptTime) {
		err := withTimeout(ctx, wait, attempt)
		if err == nil || !isTransient(err) && errorCode(err) != codeNoPeers {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the broker does not serve its streams: %w", err)
		case <-time.After(attemptPause):
		}
	}
}

func withTimeout(ctx context.Context, wait time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return do(ctx)
}

// isTransient reports whether an attempt that failed with err may succeed later.
func isTransient(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Code == 503
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrConnectionReconnecting) ||
		errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrDisconnected)
}

// replyInbox receives the answers to requests with several answers, and to those that are sent
// without waiting. It is one subscription: one for each request would cost the broker more than
// the request.
type replyInbox struct {
	prefix string

	mu     sync.Mutex
	number uint64
	slots  map[string]*replySlot
}

// replySlot receives the answers to one request.
type replySlot struct {
	inbox *replyInbox
	name  string
	msgs  chan *nats.Msg
}

// newReplyInbox subscribes for as long as the connection lasts.
func newReplyInbox(nc *nats.Conn) (*replyInbox, error) {
	b := &replyInbox{prefix: nc.NewInbox() + ".", slots: map[string]*replySlot{}}
	sub, err := nc.Subscribe(b.prefix+">", b.dispatch)
	if err != nil {
		return nil, err
	}
	return b, sub.SetPendingLimits(-1, -1) // each slot has its own buffer
}

// dispatch sends an answer to its slot, and drops it when the slot is closed.
func (b *replyInbox) dispatch(m *nats.Msg) {
	name, _, _ := strings.Cut(strings.TrimPrefix(m.Subject, b.prefix), ".")
	b.mu.Lock()
	s := b.slots[name]
	b.mu.Unlock()
	if s == nil {
		return
	}
	select {
	case s.msgs <- m:
	default: // more answers than expected
	}
}

// open returns a slot for a number of answers. The caller closes it.
func (b *replyInbox) open(answers int) *replySlot {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.number++
	s := &replySlot{inbox: b, name: strconv.FormatUint(b.number, 36), msgs: make(chan *nats.Msg, answers)}
	b.slots[s.name] = s
	return s
}

func (s *replySlot) close() {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	delete(s.inbox.slots, s.name)
}

// subject is the reply subject for a part of the request.
func (s *replySlot) subject(part string) string { return s.inbox.prefix + s.name + "." + part }

// next waits for an answer.
func (s *replySlot) next(ctx context.Context) (*nats.Msg, error) {
	select {
	case m := <-s.msgs:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// metrics are those of the store.
type metrics struct {
	append     *prometheus.HistogramVec
	appendedOK prometheus.Observer // of append
	batches    prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
		append: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "svc_append_duration_seconds", Help: "Time from an append to its durable acknowledgement, by outcome.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .5, 1, 2},
		}, []string{"outcome"}),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "svc_gate_batch_size", Help: "How many appends one fsync made durable.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
	}
	m.appendedOK = m.append.WithLabelValues(appendOK)
	if reg != nil {
		reg.MustRegister(m.append, m.batches)
	}
	return m
}

func (m metrics) gateBatch(n int) { m.batches.Observe(float64(n)) }

func (m metrics) appended(start time.Time, outcome string) {
	observer := m.appendedOK
	if outcome != appendOK {
		observer = m.append.WithLabelValues(outcome)
	}
	observer.Observe(time.Since(start).Seconds())
}

// faults are the reasons why appends are refused. They are independent: one must not hide, or
// clear, another.
type faults struct {
	mu      sync.RWMutex
	damaged error  // acknowledged events are missing; stays until a restart
	broken  error  // a write failed; until the store was reopened
	low     error  // the disk is low; until there is space
	count   uint64 // how often broken was reported

	reported chan struct{} // has an element when broken was reported since it was last empty
}

// errBroken marks a fault after which the broker must read its files again.
var errBroken = errors.New("a write to the log failed")

// current returns why appends are refused; nil when they are not.
func (f *faults) current() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, err := range []error{f.damaged, f.broken, f.low} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *faults) setDamaged(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damaged == nil {
		f.damaged = err
	}
}

// setLow sets or clears the low-disk fault and reports whether that is a change.
func (f *faults) setLow(err error) (changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed = (f.low == nil) != (err == nil)
	f.low = err
	return changed
}

func (f *faults) setBroken(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = fmt.Errorf("%w: %w", errBroken, err)
	f.count++
	select {
	case f.reported <- struct{}{}:
	default:
	}
}

// brokenCount returns how many failures were reported; 0 when there is no such fault.
func (f *faults) brokenCount() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.broken == nil || f.damaged != nil {
		return 0
	}
	return f.count
}

// clearBroken clears broken, unless another failure was reported since.
func (f *faults) clearBroken(since uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count != since {
		return false
	}
	f.broken = nil
	return true
}

// Writable returns nil when appends are possible now, else an error that is
// eventstore.ErrUnavailable and says why.
func (c *connection) Writable() error {
	if err := c.faults.current(); err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}

// reportWriteFailure stops appends after a failed write or fsync, until watchDisk has reopened the
// broker. It only logs with an external broker, and in a cluster, where the fault may be that of
// another node.
func (c *connection) reportWriteFailure(err error) {
	c.opts.Log.Error("a write to the log failed", "err", err)
	if c.Alone() {
		c.faults.setBroken(err)
	}
}
