package projections

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"

	"svc/projections/fulltext"
)

// SearchReport is the outcome of a rebuild of the index.
type SearchReport struct {
	Bases     int      `json:"bases"`
	Documents int      `json:"documents"`
	Chunks    int      `json:"chunks"`
	Duration  Duration `json:"duration"`
}

// Rebuild builds the index of all bases again, or of those with an id or a slug, beside the live one, and replaces it.
// It reads stored passages only: nothing is loaded, extracted or embedded.
func (x *SearchIndex) Rebuild(ctx context.Context, idOrSlug string) (report SearchReport, err error) {
	started := x.o.Models.opts.Now()
	all, err := x.bases(0)
	if err != nil {
		return report, err
	}
	for _, b := range all {
		if wanted, err := x.isCalled(b, idOrSlug); err != nil || !wanted {
			if err != nil {
				return report, err
			}
			continue
		}
		documents, chunks, err := x.rebuildBase(ctx, b)
		if err != nil {
			return report, fmt.Errorf("rebuild the index of base %s: %w", b.baseID, err)
		}
		report.Bases++
		report.Documents += documents
		report.Chunks += chunks
	}
	report.Duration = Duration(x.o.Models.opts.Now().Sub(started))
	return report, nil
}

// isCalled reports whether a base has an id or a slug; "" is all of them.
func (x *SearchIndex) isCalled(b knownBase, idOrSlug string) (bool, error) {
	if idOrSlug == "" || idOrSlug == b.baseID {
		return true, nil
	}
	r := x.o.Models.Reader()
	defer r.Close()
	item, ok, err := Content{}.Get(r, b.workspaceID, "knowledge/"+idOrSlug)
	return ok && item.ID == b.baseID, err
}

// rebuildBase builds the index of a base again. Others may write between two batches.
func (x *SearchIndex) rebuildBase(ctx context.Context, b knownBase) (documents, chunks int, err error) {
	var s indexState
	err = x.write(ctx, b, func(w *indexWriter) (err error) {
		s, err = w.begin(ctx)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	area := s.area(indexName(b.workspaceID, b.baseID))
	defer x.endBuilding(area)
	for s.Building || s.Cursor != "" {
		err = x.write(ctx, b, func(w *indexWriter) error {
			w.patience = batchPatience
			s, err = w.advance(ctx, s)
			return err
		})
		if err != nil {
			return 0, 0, err
		}
	}
	if err := x.write(ctx, b, func(w *indexWriter) error { return w.replace(s) }); err != nil {
		return 0, 0, err
	}
	err = x.read(func(k indexKeys) error {
		if chunks, err = fulltext.CountChunks(k, area); err != nil {
			return err
		}
		return fulltext.Documents(k, area, "", func(string) bool { documents++; return true })
	})
	return documents, chunks, err
}

// begin begins an index beside the live one.
func (w *indexWriter) begin(ctx context.Context) (s indexState, err error) {
	w.persist = true
	live, err := w.load(ctx)
	if err != nil {
		return s, err
	}
	s = live.next()
	live.Newest = s.Generation
	area := s.area(w.name)
	w.x.mu.Lock()
	w.x.building[area] = true
	w.x.mu.Unlock()
	err = errors.Join(w.clear(s), w.db.Update(func(txn *badger.Txn) error { return w.setState(txn, live) }))
	if err != nil {
		w.x.endBuilding(area)
	}
	return s, err
}

// clear deletes what an older version has left of an index that it began with the same number.
func (w *indexWriter) clear(s indexState) error {
	return dropPrefix(w.db, areaPrefix(s.area(w.name)), func() bool { return false })
}

// endBuilding says that an index is the live one now, or to be swept.
func (x *SearchIndex) endBuilding(area string) {
	x.mu.Lock()
	delete(x.building, area)
	x.mu.Unlock()
	x.requestSweep()
}

// replace makes an index the live one. What was live is to be swept.
func (w *indexWriter) replace(s indexState) error {
	err := w.db.Update(func(txn *badger.Txn) error {
		old, _, err := indexKeys{txn}.state(w.name)
		if err != nil {
			return err
		}
		s.Newest = max(s.Newest, s.Generation, old.Newest)
		if err := txn.Delete(append([]byte{indexBatchSpace}, w.name...)); err != nil {
			return err
		}
		return w.setState(txn, s)
	})
	w.x.requestSweep()
	return err
}

// areaPrefix is what all keys of the index in an area begin with.
func areaPrefix(area string) []byte { return join([]byte{indexDataSpace}, fulltext.Prefix(area)) }

// isUnnamed reports whether no state names the index in an area, and nobody is building it.
func (x *SearchIndex) isUnnamed(txn *badger.Txn, area string) (bool, error) {
	x.mu.Lock()
	isBuilding := x.building[area]
	x.mu.Unlock()
	name := area[:max(0, strings.LastIndexByte(area, '/'))]
	s, known, err := indexKeys{txn}.state(name)
	return !isBuilding && (!known || s.area(name) != area), err
}

// requestSweep asks Run to delete indexes that no state names. Without Run they stay until the next start.
func (x *SearchIndex) requestSweep() {
	select {
	case x.sweep <- struct{}{}:
	default: // asked already
	}
}

// sweepLoop deletes the indexes that no state names, until ctx ends: what a rebuild has replaced, and what one has left that was
// interrupted.
func (x *SearchIndex) sweepLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.sweep:
		}
		if err := x.sweepOnce(ctx); err != nil && ctx.Err() == nil {
			x.o.Log.Warn("a former search index is not deleted yet", "err", err)
			pause(ctx, indexFaultPause)
			x.requestSweep()
		}
	}
}

// pause waits, but not after ctx has ended.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// sweepOnce deletes the indexes that no state names, some keys at a time. Half of the time is for others.
func (x *SearchIndex) sweepOnce(ctx context.Context) error {
	areas, err := x.unnamedAreas()
	if err != nil {
		return err
	}
	for _, area := range areas {
		x.vectors.forget(area)
		for from := areaPrefix(area); from != nil; {
			x.awaitQuiet(ctx, readersPatience)
			began := time.Now()
			err := x.write(ctx, knownBase{}, func(w *indexWriter) (err error) {
				from, err = w.sweepSome(area, from)
				return err
			})
			if err != nil {
				return err
			}
			pause(ctx, time.Since(began))
		}
	}
	return nil
}

// unnamedAreas returns the areas of the indexes that no state names.
func (x *SearchIndex) unnamedAreas() (areas []string, err error) {
	db, err := x.open()
	if err != nil {
		return nil, err
	}
	txn := db.NewTransaction(false)
	defer txn.Discard()
	opts := badger.DefaultIteratorOptions
	opts.PrefetchValues = false
	opts.Prefix = []byte{indexDataSpace}
	it := txn.NewIterator(opts)
	defer it.Close()
	for it.Rewind(); it.Valid(); {
		area, _, _ := strings.Cut(string(it.Item().Key()[1:]), "\x00")
		unnamed, err := x.isUnnamed(txn, area)
		if err != nil {
			return nil, err
		}
		if unnamed {
			areas = append(areas, area)
		}
		it.Seek(append(join([]byte{indexDataSpace}, []byte(area)), 1)) // behind all keys of the area
	}
	return areas, nil
}

// sweepSome deletes some keys of an area, from one on, and returns where to go on; nil: there is nothing left to delete.
func (w *indexWriter) sweepSome(area string, from []byte) (next []byte, err error) {
	err = w.db.Update(func(txn *badger.Txn) error {
		unnamed, err := w.x.isUnnamed(txn, area)
		if err == nil && unnamed {
			next, err = dropSome(txn, areaPrefix(area), from)
		}
		return err
	})
	return next, err
}

// How long who writes waits for those who read, while something is written that nobody waits for: before a step, and in all steps of a batch.
const (
	readersPatience = 50 * time.Millisecond
	batchPatience   = 500 * time.Millisecond
)

// giveWay lets those who read go first, as far as the batch may wait.
func (w *indexWriter) giveWay(ctx context.Context) {
	if w.patience > 0 {
		w.patience -= w.x.awaitQuiet(ctx, min(readersPatience, w.patience))
	}
}

// awaitQuiet waits until nobody reads, but not for long, and returns for how long.
func (x *SearchIndex) awaitQuiet(ctx context.Context, patience time.Duration) time.Duration {
	x.mu.Lock()
	if x.readers == 0 {
		x.mu.Unlock()
		return 0
	}
	if x.quiet == nil {
		x.quiet = make(chan struct{})
	}
	quiet := x.quiet
	x.mu.Unlock()
	began, timer := time.Now(), time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-quiet:
	case <-timer.C:
	case <-ctx.Done():
	}
	return time.Since(began)
}

// replaceFormer builds the indexes again that have the shape before.
func (x *SearchIndex) replaceFormer(ctx context.Context) error {
	if x.replaced {
		return nil
	}
	all, err := x.bases(0)
	if err != nil {
		return err
	}
	for _, b := range all {
		if err := x.replaceIfFormer(ctx, b); err != nil {
			return err
		}
	}
	x.replaced = true
	return nil
}

func (x *SearchIndex) replaceIfFormer(ctx context.Context, b knownBase) error {
	_, s, _, err := x.lag(b.workspaceID, b.baseID)
	if err != nil || s.Shape != formerShape {
		return err
	}
	_, _, err = x.rebuildBase(ctx, b)
	return err
}
