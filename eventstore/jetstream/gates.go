package jetstream

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"svc/domain"
	"svc/eventstore"
)

// gatedStreams are the streams of the embedded broker that are kept on disk,
// besides those of buckets, which join when they are opened.
var gatedStreams = []string{string(domain.State), string(domain.Activity), streamData, streamPayloads, streamLimits, streamBlobs}

// openGates gates every stream that is to be gated, and those that were before
// the broker was restarted.
func (s *Store) openGates() error {
	if !s.opts.grouped() {
		return nil
	}
	s.mu.RLock()
	names := slices.Concat(gatedStreams, slices.Collect(maps.Keys(s.gates)))
	s.mu.RUnlock()
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := s.openGate(name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) openGate(stream string) error {
	dir := filepath.Join(s.opts.Dir, "jetstream", "$G", "streams", stream, "msgs")
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("the embedded broker keeps %s elsewhere than expected: %w", stream, err)
	}
	o := gateOptions{
		dir: dir, top: filepath.Dir(filepath.Clean(s.opts.Dir)), dense: stream == string(domain.State),
		observe: s.metrics.gateBatch, fail: s.fail,
	}
	if log := domain.Log(stream); slices.Contains(domain.Logs(), log) {
		var err error
		if o.mark, err = openWatermark(watermarkPath(s.opts.Dir, log)); err != nil {
			return err
		}
	}
	g, err := openGate(o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	old := s.gates[stream]
	s.gates[stream] = g
	s.mu.Unlock()
	if old != nil { // closed without the lock: its last fsync may fail, and report that
		g.advance(old.durable.Load())
		old.close()
	}
	return nil
}

func (s *Store) gate(stream string) *gate {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.gates[stream]
}

// gateFault returns why a gate is shut.
func (s *Store) gateFault() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, g := range s.gates {
		if err := g.fault(); err != nil {
			return err
		}
	}
	return nil
}

// closeGates shuts all gates. They stay where they are, so that nobody who
// comes late is let through without one.
func (s *Store) closeGates() {
	s.mu.RLock()
	gates := slices.Collect(maps.Values(s.gates))
	s.mu.RUnlock()
	for _, g := range gates {
		g.close()
	}
}

// durably runs write, which stores something on stream and returns its last
// sequence, and waits until that is on disk.
func (s *Store) durably(ctx context.Context, stream string, write func() (uint64, error)) error {
	g := s.gate(stream)
	if g == nil {
		_, err := write()
		return err
	}
	g.enter()
	seq, err := write()
	if err != nil {
		g.leave()
		return err
	}
	return gateError(g.wait(ctx, seq))
}

// onDisk waits until what was read up to seq is on disk: whoever decides on it
// must not be told afterwards that it never was.
func (s *Store) onDisk(ctx context.Context, stream string, seq uint64) error {
	g := s.gate(stream)
	if g == nil || seq == 0 {
		return nil
	}
	g.enter()
	return gateError(g.wait(ctx, seq))
}

func gateError(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}
