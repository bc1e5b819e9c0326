package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"svc/domain"
	"svc/eventstore"
)

// gate is the durability gate of one stream: it makes appends durable in groups. The broker writes
// a message to its block file before it acknowledges it; wait returns once that file has been
// fsynced since. One fsync runs at a time, for all appends that joined before it began.
//
// The gate never retries a failed fsync: the kernel may have dropped the pages and would answer the
// second call with success. It refuses everything until the store has reopened the stream.
type gate struct {
	gateOptions
	durable atomic.Uint64 // highest sequence known to be on disk

	announced atomic.Int64  // appends under way that have not joined a round yet
	idle      chan struct{} // notified when announced falls to 0

	mu      sync.Mutex
	current *round // the round of the running fsync; nil when none runs
	next    *round // the round of the next fsync; nil when nobody waits
	err     error  // why the gate has stopped
	wake    chan struct{}
	rewrite chan struct{} // notified when blocks may have been rewritten
	quit    chan struct{}
	ended   chan struct{}
	closed  bool

	blocks   blockFiles    // owned by run
	syncTime time.Duration // of the last fsync; owned by run
}

// round is one fsync and the appends that wait for it.
type round struct {
	done chan struct{}
	last uint64 // highest sequence that joined
	n    int
	err  error
}

// gateOptions describe a gate.
type gateOptions struct {
	dir         string      // directory of the block files of the stream
	top         string      // the directories from dir up to this one are synced, too
	dense       bool        // blocks are only ever added, one number after another
	watermark   *watermark  // of an event log; nil for other streams. The gate closes it
	observeSize func(n int) // called with the number of appends of one fsync
	onError     func(error) // called once when the gate stops
}

// openGate returns a running gate over the block files below dir. It syncs existing files, and the
// directories up to top, first.
func openGate(o gateOptions) (*gate, error) {
	g := &gate{
		gateOptions: o,
		idle:        make(chan struct{}, 1), wake: make(chan struct{}, 1), rewrite: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
		blocks: blockFiles{dir: o.dir, dense: o.dense},
	}
	if err := syncTree(filepath.Dir(o.dir), o.top); err != nil {
		return nil, err
	}
	if err := g.blocks.scan(); err != nil {
		return nil, err
	}
	go g.run()
	return g, nil
}

// announce announces an append, so that an fsync that is about to begin may wait a moment for it.
// Every announce is followed by one withdraw or one wait.
func (g *gate) announce() { g.announced.Add(1) }

// withdraw cancels an announcement.
func (g *gate) withdraw() {
	if g.announced.Add(-1) == 0 {
		select {
		case g.idle <- struct{}{}:
		default:
		}
	}
}

// wait returns when everything up to seq is durable.
func (g *gate) wait(ctx context.Context, seq uint64) error {
	if g.durable.Load() >= seq {
		g.withdraw()
		return nil
	}
	r, err := g.joinRound(seq)
	g.withdraw()
	if err != nil {
		return err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errGateClosed = errors.New("the store is closed")

func (g *gate) joinRound(seq uint64) (*round, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return nil, g.err
	}
	if g.closed {
		return nil, errGateClosed
	}
	if g.current != nil && seq <= g.current.last {
		return g.current, nil // written before that fsync began
	}
	if g.next == nil {
		g.next = &round{done: make(chan struct{})}
		g.wake <- struct{}{} // never blocks: it has room for one, and run empties it before it takes next
	}
	g.next.last = max(g.next.last, seq)
	g.next.n++
	return g.next, nil
}

func (g *gate) run() {
	defer close(g.ended)
	defer g.blocks.close()
	if g.watermark != nil {
		defer g.watermark.file.Close()
	}
	for {
		select {
		case <-g.rewrite:
			g.syncRewrites()
		case <-g.wake:
			g.waitForAnnounced()
			g.syncRound()
		case <-g.quit:
			g.syncRound()
			return
		}
	}
}

// noticeRewrites has the gate sync blocks that have been rewritten since it looked last. It is called from outside, once
// for all gates: a timer in each would wake up an idle process for nothing.
func (g *gate) noticeRewrites() {
	if g.dense || !g.blocks.hasChanged() {
		return
	}
	select {
	case g.rewrite <- struct{}{}:
	default:
	}
}

// syncRewrites syncs what a purge or a compaction wrote, also when nothing is appended.
func (g *gate) syncRewrites() {
	if g.stopError() != nil || !g.blocks.hasChanged() {
		return
	}
	if err := g.blocks.sync(); err != nil {
		g.stop(fmt.Errorf("fsync %s: %w", g.dir, err))
	}
}

// stopError returns why the gate has stopped; nil when it runs.
func (g *gate) stopError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// waitForAnnounced gives announced appends about the time of one fsync to join: a larger round costs
// no more than a small one. A single writer never waits.
func (g *gate) waitForAnnounced() {
	if g.announced.Load() == 0 {
		return
	}
	timer := time.NewTimer(min(max(g.syncTime, minAnnounceWait), maxAnnounceWait))
	defer timer.Stop()
	for g.announced.Load() > 0 {
		select {
		case <-timer.C:
			return
		case <-g.idle:
		}
	}
}

const minAnnounceWait, maxAnnounceWait = 100 * time.Microsecond, time.Millisecond

// syncRound runs one fsync for the next round.
func (g *gate) syncRound() {
	g.mu.Lock()
	r, err := g.next, g.err
	g.current, g.next = r, nil
	g.mu.Unlock()
	if r == nil {
		return
	}
	if err == nil {
		start := time.Now()
		err = g.blocks.sync()
		g.syncTime = time.Since(start)
	}
	if err == nil && g.watermark != nil {
		err = g.watermark.write(max(r.last, g.durable.Load()))
	}
	if err != nil {
		g.stop(fmt.Errorf("fsync %s: %w", g.dir, err))
	} else {
		g.setDurable(r.last)
		g.observeSize(r.n)
	}
	g.mu.Lock()
	g.current = nil
	g.mu.Unlock()
	r.err = err
	close(r.done)
}

func (g *gate) setDurable(seq uint64) {
	if seq > g.durable.Load() {
		g.durable.Store(seq)
	}
}

// stop makes the gate refuse appends from now on.
func (g *gate) stop(err error) {
	g.mu.Lock()
	first := g.err == nil
	if first {
		g.err = err
	}
	g.mu.Unlock()
	if first {
		g.onError(err)
	}
}

// close runs the last fsync and ends the gate.
func (g *gate) close() {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	g.closed = true
	g.mu.Unlock()
	close(g.quit)
	<-g.ended
}

// flush waits for an fsync that begins after the call.
func (g *gate) flush(ctx context.Context) error {
	for range 2 { // the first one may have begun already
		r, err := g.joinRound(0)
		if err != nil {
			return err
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// gatedStreams are the streams on disk that have a gate. Buckets get theirs when they are opened.
var gatedStreams = []string{string(domain.State), string(domain.Activity), streamData, streamPayloads, streamLimits, streamBlobs}

// openGates opens the gates of gatedStreams, and of the streams that had one before the broker was
// restarted.
func (c *connection) openGates() error {
	if !c.opts.grouped() {
		return nil
	}
	c.mu.RLock()
	names := slices.Concat(gatedStreams, slices.Collect(maps.Keys(c.gates)))
	c.mu.RUnlock()
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := c.openGate(name); err != nil {
			return err
		}
	}
	return nil
}

func (c *connection) openGate(stream string) error {
	dir := filepath.Join(c.opts.Dir, "jetstream", "$G", "streams", stream, "msgs")
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("the embedded broker keeps %s elsewhere than expected: %w", stream, err)
	}
	o := gateOptions{
		dir: dir, top: filepath.Dir(filepath.Clean(c.opts.Dir)), dense: stream == string(domain.State),
		observeSize: c.metrics.gateBatch, onError: c.reportWriteFailure,
	}
	if log := domain.Log(stream); slices.Contains(domain.Logs(), log) {
		var err error
		if o.watermark, err = openWatermark(watermarkPath(c.opts.Dir, log)); err != nil {
			return err
		}
	}
	g, err := openGate(o)
	if err != nil {
		return err
	}
	c.mu.Lock()
	old := c.gates[stream]
	c.gates[stream] = g
	c.mu.Unlock()
	if old != nil { // closed without the lock: its last fsync may fail, and report that
		g.setDurable(old.durable.Load())
		old.close()
	}
	return nil
}

func (c *connection) gate(stream string) *gate {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.gates[stream]
}

// gateFault returns why a gate has stopped.
func (c *connection) gateFault() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, g := range c.gates {
		if err := g.stopError(); err != nil {
			return err
		}
	}
	return nil
}

// noticeRewrites has the gates sync what a purge or a compaction has rewritten.
func (c *connection) noticeRewrites() {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, g := range c.gates {
		g.noticeRewrites()
	}
}

// closeGates closes all gates. They stay in the map, so that a late append is refused.
func (c *connection) closeGates() {
	c.mu.RLock()
	gates := slices.Collect(maps.Values(c.gates))
	c.mu.RUnlock()
	for _, g := range gates {
		g.close()
	}
}

// writeDurably calls write, which stores messages on stream and returns the last sequence, and waits
// until they are durable.
func (c *connection) writeDurably(ctx context.Context, stream string, write func() (uint64, error)) error {
	g := c.gate(stream)
	if g == nil {
		_, err := write()
		return err
	}
	g.announce()
	seq, err := write()
	if err != nil {
		g.withdraw()
		return err
	}
	return gateError(g.wait(ctx, seq))
}

// waitDurable waits until stream is durable up to seq: a decision must not be based on a message
// that a power cut removes.
func (c *connection) waitDurable(ctx context.Context, stream string, seq uint64) error {
	g := c.gate(stream)
	if g == nil || seq == 0 {
		return nil
	}
	g.announce()
	return gateError(g.wait(ctx, seq))
}

func gateError(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}

// blockFiles fsyncs the block files of a stream. Blocks are numbered in ascending order, and messages
// are written to the newest.
//
// In a dense stream blocks are only ever added, one number after another: the next one is found by
// its name. In others a purge leaves gaps in the numbers and compaction replaces blocks: the
// directory is listed whenever it changed, and every new or replaced block is synced.
type blockFiles struct {
	dir   string
	dense bool

	newest uint64 // number of the block in file; 0 before there is one
	file   *os.File

	synced map[uint64]blockID // synced blocks, of a stream that is not dense
	listed atomic.Int64       // modification time of the directory when it was listed; 0 when that listing may have missed a change
}

// blockID identifies the content of a block: the file and its length.
type blockID struct {
	inode uint64
	size  int64
}

func (b *blockFiles) path(n uint64) string {
	return filepath.Join(b.dir, strconv.FormatUint(n, 10)+".blk")
}

// sync makes every byte written so far durable.
func (b *blockFiles) sync() error {
	if b.file == nil || !b.dense && b.hasChanged() {
		return b.scan()
	}
	added := false
	for {
		next, err := os.Open(b.path(b.newest + 1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// When there is a next block this one is complete, and is synced here for the last time.
		if err := b.syncNewest(); err != nil {
			return err
		}
		if next == nil {
			break
		}
		b.close()
		b.file, b.newest, added = next, b.newest+1, true
	}
	if added {
		return syncDir(b.dir)
	}
	return nil
}

func (b *blockFiles) syncNewest() error {
	if b.file == nil {
		return nil
	}
	return fdatasync(b.file)
}

// modTimeSlack is the resolution of modification times: a listing so soon after a change may have
// missed another one.
const modTimeSlack = 50 * time.Millisecond

// hasChanged reports whether the directory may have changed since it was listed. It may be called at any time.
func (b *blockFiles) hasChanged() bool {
	info, err := os.Stat(b.dir)
	return err != nil || info.ModTime().UnixNano() != b.listed.Load()
}

// scan lists the directory, syncs every block that has changed, and opens the newest one.
func (b *blockFiles) scan() error {
	info, err := os.Stat(b.dir)
	if err != nil {
		return err
	}
	listed := int64(0)
	if time.Since(info.ModTime()) >= modTimeSlack {
		listed = info.ModTime().UnixNano()
	}
	b.listed.Store(listed)
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	known, newest := make(map[uint64]blockID, len(entries)), uint64(0)
	for _, e := range entries {
		n, err := strconv.ParseUint(strings.TrimSuffix(e.Name(), ".blk"), 10, 64)
		if err != nil || !strings.HasSuffix(e.Name(), ".blk") {
			continue
		}
		id, err := b.syncIfChanged(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue // purged meanwhile
		}
		if err != nil {
			return err
		}
		known[n], newest = id, max(newest, n)
	}
	b.synced = known
	if err := b.openNewest(newest); err != nil {
		return err
	}
	return syncDir(b.dir)
}

// syncIfChanged syncs block n, unless it was synced as it is.
func (b *blockFiles) syncIfChanged(n uint64) (blockID, error) {
	f, err := os.Open(b.path(n))
	if err != nil {
		return blockID{}, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return blockID{}, err
	}
	id := blockID{inode: st.Ino, size: st.Size}
	if have, ok := b.synced[n]; ok && have == id && n != b.newest {
		return id, nil
	}
	return id, fdatasync(f)
}

// openNewest opens block n as the newest.
func (b *blockFiles) openNewest(n uint64) error {
	b.close()
	b.newest = n
	if n == 0 {
		return nil
	}
	f, err := os.Open(b.path(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // purged meanwhile: the next sync lists again
	}
	b.file = f
	return err
}

func (b *blockFiles) close() {
	if b.file != nil {
		_ = b.file.Close() // opened for reading: nothing can be lost
		b.file = nil
	}
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error { return syncPath(dir) }

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// syncTree fsyncs every file and directory below root, and the directories from root up to top.
func syncTree(root, top string) error {
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = syncPath(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a temporary file of the broker
		}
		return err
	})
	for dir := root; err == nil && dir != top && dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		err = syncDir(dir)
	}
	return err
}

// watermark is a small file with the sequence up to which a log is durable. A log that ends before
// it has lost acknowledged events: a damaged block at its end leaves no gap, only a shorter log.
//
// It is written after each fsync of the log and never synced itself: after a power cut it may be
// old, or torn, and is then too low or invalid.
type watermark struct{ file *os.File }

// ErrDamaged says that acknowledged events are missing from the log. Writes are refused until the
// operator has restored a backup or accepted the loss.
var ErrDamaged = errors.New("the log is damaged")

func watermarkPath(dir string, log domain.Log) string {
	return filepath.Join(dir, "durable-"+string(log))
}

func openWatermark(path string) (*watermark, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return &watermark{f}, nil
}

// read returns the sequence; 0 when the file is invalid.
func (w *watermark) read() uint64 {
	b := make([]byte, len(encodeWatermark(0)))
	n, _ := w.file.ReadAt(b, 0)
	text, _, _ := strings.Cut(strings.TrimSpace(string(b[:n])), " ")
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || !bytes.Equal(b, encodeWatermark(seq)) {
		return 0
	}
	return seq
}

// encodeWatermark returns the content of the file. The checksum detects a torn write: the digits of
// 479 and 485 can make a 489, which the log never reached.
func encodeWatermark(seq uint64) []byte {
	digits := fmt.Appendf(nil, "%20d", seq)
	return fmt.Appendf(digits, " %08x\n", crc32.ChecksumIEEE(digits))
}

// write stores seq.
func (w *watermark) write(seq uint64) error {
	_, err := w.file.WriteAt(encodeWatermark(seq), 0)
	return err
}

// checkWatermarks stops appends when a log ends before its watermark.
func (l *Log) checkWatermarks() {
	for _, log := range domain.Logs() {
		g := l.conn.gate(string(log))
		if g == nil {
			continue
		}
		have, was := l.numbering(log).message(l.Known().Of(log)), g.watermark.read()
		if have >= was {
			continue
		}
		l.conn.faults.setDamaged(l.truncationError(log, have, was))
	}
}

// truncationError logs and returns that a log has lost its end.
func (l *Log) truncationError(log domain.Log, have, was uint64) error {
	l.conn.opts.Log.Error("acknowledged events are missing from the log", "log", log, "last", have, "wasDurable", was)
	return fmt.Errorf("%w: %s ends at %d and was on disk up to %d; restore the data directory from a backup, "+
		"or accept the loss: remove %s and start again", ErrDamaged, log, have, was, watermarkPath(l.conn.opts.Dir, log))
}
