package recording

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"svc/commands"
	"svc/domain"
)

// Data stores recordings. It is a *jetstream.Data, which documents these methods.
type Data interface {
	Put(ctx context.Context, id domain.StreamID, name string, body []byte, stored func(seq uint64, parts string)) error
	Since(ctx context.Context, id domain.StreamID, after uint64, visit func(seq uint64, snapshot bool, parts string, body []byte) error) error
	Sweep(ctx context.Context, workspaceID, kind string, dry bool, over func(start []byte) bool) (count, bytes uint64, err error)
}

// Store stores the recordings of runs, each sealed with the key of its workspace. Every field is
// required.
type Store struct {
	Data  Data
	Vault commands.Vault
	Now   func() time.Time
}

// StoredRecording is a recording to be stored: what a Recorder saved.
type StoredRecording struct {
	WorkspaceID   string
	CorrelationID string
	ExecutionID   string // of the first execution of the tree
	Expires       time.Time
	Body          []byte
}

// kind is that of the data.
const kind = "recordings"

// Put stores the recording of a tree beside those of the other trees of its run. It is on disk
// when Put returns nil.
func (s *Store) Put(ctx context.Context, k StoredRecording) error {
	sealed, err := s.Vault.Seal(ctx, k.WorkspaceID, k.Body, purpose(k.ExecutionID))
	if err == nil {
		body := storedRecord{k.Expires, k.ExecutionID, sealed}.encoded()
		err = s.Data.Put(ctx, stream(k.WorkspaceID, k.CorrelationID), k.ExecutionID, body, func(uint64, string) {})
	}
	if err != nil {
		return fmt.Errorf("store the recording of tree %s: %w", k.ExecutionID, err)
	}
	return nil
}

// Each calls visit with the recordings of a run that have not expired, in the order in which
// they were stored; only with that of one tree when executionID is not empty. It returns how
// many there were.
func (s *Store) Each(ctx context.Context, workspaceID, correlationID, executionID string, visit func(*Record) error) (found int, err error) {
	now := s.Now()
	err = s.Data.Since(ctx, stream(workspaceID, correlationID), 0, func(_ uint64, _ bool, _ string, body []byte) error {
		record, err := readStoredRecord(body)
		if err != nil {
			return err
		}
		if !now.Before(record.expires) || executionID != "" && executionID != record.executionID {
			return nil
		}
		plain, err := s.Vault.Open(ctx, workspaceID, record.sealed, purpose(record.executionID))
		if err != nil {
			return err
		}
		r, err := Parse(plain)
		if err != nil {
			return err
		}
		if r.CorrelationID != correlationID {
			return nil
		}
		found++
		return visit(r)
	})
	if err != nil {
		return found, fmt.Errorf("read the recordings of run %s: %w", correlationID, err)
	}
	return found, nil
}

// Sweep erases expired recordings: of a workspace, or of all when that is empty. It returns
// their number and size; a dry run does nothing else. A recording that cannot be read stays.
func (s *Store) Sweep(ctx context.Context, workspaceID string, dry bool) (count, bytes uint64, err error) {
	now := s.Now()
	return s.Data.Sweep(ctx, workspaceID, kind, dry, func(start []byte) bool {
		record, err := readStoredRecord(start)
		return err == nil && !now.Before(record.expires)
	})
}

// stream is where the recordings of a run are stored. A correlation id may be any text, so its
// hash is the name.
func stream(workspaceID, correlationID string) domain.StreamID {
	sum := sha256.Sum256([]byte(correlationID))
	return domain.StreamID{Scope: workspaceID, Kind: kind, ID: hex.EncodeToString(sum[:16])}
}

// purpose is what the recording of a tree is sealed for.
func purpose(executionID string) string { return "recordings/" + executionID }

// storedRecord is a recording with its expiry, as it is stored.
type storedRecord struct {
	expires     time.Time
	executionID string
	sealed      []byte
}

func (s storedRecord) encoded() []byte {
	body := binary.AppendVarint(nil, s.expires.UnixMilli())
	body = binary.AppendUvarint(body, uint64(len(s.executionID)))
	body = append(body, s.executionID...)
	return append(body, s.sealed...)
}

var errStoredRecord = errors.New("recording: the stored recording is damaged")

func readStoredRecord(body []byte) (storedRecord, error) {
	at, n := binary.Varint(body)
	if n <= 0 {
		return storedRecord{}, errStoredRecord
	}
	body = body[n:]
	size, n := binary.Uvarint(body)
	if n <= 0 || size > uint64(len(body)-n) {
		return storedRecord{}, errStoredRecord
	}
	end := n + int(size) //nolint:gosec // it is within body
	return storedRecord{time.UnixMilli(at), string(body[n:end]), body[end:]}, nil
}
