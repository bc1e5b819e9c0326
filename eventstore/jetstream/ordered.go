package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errConsumerGone says that the broker was restarted or unreachable: the reader
// goes on with a new consumer where it was.
var errConsumerGone = errors.New("the consumer is gone")

// reading is one consumer of a stream, in order.
type reading struct {
	pending uint64 // how many messages there were when it began
	msgs    chan jetstream.Msg
	ended   <-chan struct{} // closed when the broker was restarted
	ctx     context.Context
	cancel  context.CancelFunc
	consume jetstream.ConsumeContext
}

// keepReading reads with one consumer after the other, until ctx ends or read fails
// with anything but errConsumerGone.
func keepReading(ctx context.Context, read func(context.Context) error) error {
	for {
		err := read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errConsumerGone):
		case err != nil:
			return err
		}
	}
}

// read makes a consumer of the messages from a sequence on. It is to be begun, and
// to be stopped.
func (s *Store) read(ctx context.Context, stream string, from uint64, filters ...string) (*reading, jetstream.Consumer, error) {
	r := &reading{msgs: make(chan jetstream.Msg, batchEvents/4), ended: s.epochEnded()}
	consumer, err := s.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		FilterSubjects: filters, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, nil, err
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.pending = info.NumPending
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r, consumer, nil
}

// begin lets messages come, so many at once at most.
func (r *reading) begin(consumer jetstream.Consumer, atOnce int) (err error) {
	r.consume, err = consumer.Consume(func(m jetstream.Msg) {
		if r.ctx.Err() != nil {
			return // one before it may have been dropped: that would look like a gap
		}
		select {
		case r.msgs <- m:
		case <-r.ctx.Done():
		}
	}, jetstream.PullMaxMessagesWithBytesLimit(atOnce, 2*batchBytes), jetstream.PullHeartbeat(time.Second), jetstream.PullExpiry(30*time.Second))
	return err
}

// stop ends the consumer. The client waits there for a broker that does not answer, up to
// ten seconds, so nobody waits for it.
func (r *reading) stop() {
	r.cancel()
	if r.consume != nil {
		go r.consume.Stop()
	}
}

// pump hands over each message that comes, with those that may be there already.
func (r *reading) pump(take func(m jetstream.Msg, more <-chan jetstream.Msg) error) error {
	for {
		select {
		case <-r.ctx.Done():
			return r.ctx.Err()
		case <-r.ended:
			return errConsumerGone
		case m := <-r.msgs:
			if err := take(m, r.msgs); err != nil {
				return err
			}
		}
	}
}
