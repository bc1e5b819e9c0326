package jetstream

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"svc/domain"
)

// watermark is a small file that says how far a log is durable. A log that ends
// before it has lost acknowledged events: a damaged block at its end leaves no
// gap behind, only a shorter log.
//
// It is written after each fsync of the log and never synced itself: after a
// power cut it may be old, or torn, and then says less or nothing.
type watermark struct{ file *os.File }

// ErrDamaged says that the log is not what it was: acknowledged events are
// missing. Writes are refused until the operator has decided.
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

// get returns what the file says; 0 when it says nothing.
func (w *watermark) get() uint64 {
	b := make([]byte, len(markOf(0)))
	n, _ := w.file.ReadAt(b, 0)
	text, _, _ := strings.Cut(strings.TrimSpace(string(b[:n])), " ")
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || !bytes.Equal(b, markOf(seq)) {
		return 0
	}
	return seq
}

// markOf is what the file says of seq. Its sum tells a mark from the mixture of
// two, which a power cut leaves when it tears the write of the later one: the
// digits of 479 and 485 make a 489 that nothing ever reached.
func markOf(seq uint64) []byte {
	digits := fmt.Appendf(nil, "%20d", seq)
	return fmt.Appendf(digits, " %08x\n", crc32.ChecksumIEEE(digits))
}

// set notes that everything up to seq is on disk.
func (w *watermark) set(seq uint64) error {
	_, err := w.file.WriteAt(markOf(seq), 0)
	return err
}

// checkWatermarks stops appends when a log is shorter than it was.
func (s *Store) checkWatermarks() {
	for _, log := range domain.Logs() {
		g := s.gate(string(log))
		if g == nil {
			continue
		}
		have, was := s.Known().Of(log), g.mark.get()
		if have >= was {
			continue
		}
		s.faults.setDamaged(s.shorter(log, have, was))
	}
}

// shorter says, and returns, that a log lost its end.
func (s *Store) shorter(log domain.Log, have, was uint64) error {
	s.opts.Log.Error("acknowledged events are missing from the log", "log", log, "last", have, "wasDurable", was)
	return fmt.Errorf("%w: %s ends at %d and was on disk up to %d; restore the data directory from a backup, "+
		"or accept the loss: remove %s and start again", ErrDamaged, log, have, was, watermarkPath(s.opts.Dir, log))
}

// Damage returns an error that is ErrDamaged when acknowledged events are known
// to be missing from the log.
func (s *Store) Damage() error {
	if err := s.Writable(); errors.Is(err, ErrDamaged) {
		return err
	}
	return nil
}
