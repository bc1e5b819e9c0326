package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"svc/domain"
	"svc/eventstore"
)

// readAhead is how many batches wait, decoded, while one is being applied.
const readAhead = 2

// read hands the batches of a log to visit, in order, until that returns false
// or fails, or ctx ends. The log is read and decoded meanwhile, on a goroutine
// that has ended when read returns.
func (m *Models) read(ctx context.Context, log domain.Log, from uint64, visit func(eventstore.Batch) (more bool, err error)) error {
	var reading sync.WaitGroup
	defer reading.Wait()
	sub, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan eventstore.Batch, readAhead)
	var ended error
	reading.Go(func() {
		defer close(batches)
		ended = m.opts.Store.Subscribe(sub, log, from, func(b eventstore.Batch) error { return send(sub, batches, b) })
	})
	for b := range batches {
		more, err := visit(gather(b, batches))
		if err != nil || !more {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case ended == nil:
		ended = errors.New("the subscription ended by itself")
	}
	return fmt.Errorf("read %s: %w", log, ended)
}

func send(ctx context.Context, batches chan<- eventstore.Batch, b eventstore.Batch) error {
	select {
	case batches <- b:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// gather adds to b what has come since, so that a log that is behind is applied
// in large transactions however small its batches are.
func gather(b eventstore.Batch, batches <-chan eventstore.Batch) eventstore.Batch {
	size := sizeOf(b.Events)
	for len(b.Events) < maxBatchEvents && size < maxBatchBytes {
		select {
		case next, ok := <-batches:
			if !ok {
				return b
			}
			b.Events, b.Pending = append(b.Events, next.Events...), next.Pending
			size += sizeOf(next.Events)
		default:
			return b
		}
	}
	return b
}

func sizeOf(events []domain.Recorded) (n int) {
	for _, ev := range events {
		n += ev.Size
	}
	return n
}
