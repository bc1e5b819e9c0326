package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"svc/domain"
)

// The watermark is a file that says how far each log was durable a moment ago.
// A log that ends before it has lost acknowledged events: a damaged block at
// its end leaves no gap behind, only a shorter log.

const (
	watermarkFile   = "durable"
	watermarkPeriod = time.Second
)

// ErrDamaged says that the log is not what it was: acknowledged events are
// missing. Writes are refused until the operator has decided.
var ErrDamaged = errors.New("the log is damaged")

func (s *Store) watermarkPath() string { return filepath.Join(s.opts.Dir, watermarkFile) }

// checkWatermark compares the logs with the watermark of the last run.
func (s *Store) checkWatermark() error {
	body, err := os.ReadFile(s.watermarkPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var marks map[domain.Log]uint64
	if json.Unmarshal(body, &marks) != nil {
		return nil // torn by a power cut: it says nothing
	}
	for _, log := range domain.Logs() {
		if have := s.Known().Of(log); have < marks[log] {
			s.setStopped(fmt.Errorf("%w: %s ends at %d, and was on disk up to %d: events are missing from its end. "+
				"Restore the data directory from a backup, or accept the loss: remove %s and start again",
				ErrDamaged, log, have, marks[log], s.watermarkPath()))
			s.opts.Log.Error("acknowledged events are missing from the log", "log", log, "last", have, "wasDurable", marks[log])
			return nil
		}
	}
	return nil
}

// writeWatermark notes how far the logs are durable, when that has changed. It
// is not synced: an older one only sees less.
func (s *Store) writeWatermark() {
	marks := map[domain.Log]uint64{}
	for _, log := range domain.Logs() {
		marks[log] = s.Durable(log)
	}
	if marks[domain.State] == s.marked.State && marks[domain.Activity] == s.marked.Activity {
		return
	}
	body, err := json.Marshal(marks)
	if err == nil {
		err = replaceFile(s.watermarkPath(), body)
	}
	if err != nil {
		s.opts.Log.Warn("the watermark of the log was not written", "err", err)
		return
	}
	s.marked = domain.Position{State: marks[domain.State], Activity: marks[domain.Activity]}
}

func replaceFile(path string, body []byte) error {
	if err := os.WriteFile(path+".tmp", body, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}
