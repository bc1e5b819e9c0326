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

// Data keeps records. It is a *jetstream.Data, whose methods say what each of these
// does.
type Data interface {
	Put(ctx context.Context, id domain.StreamID, name string, body []byte, stored func(seq uint64, parts string)) error
	Since(ctx context.Context, id domain.StreamID, after uint64, visit func(seq uint64, snapshot bool, parts string, body []byte) error) error
	Sweep(ctx context.Context, workspaceID, kind string, dry bool, over func(start []byte) bool) (count, bytes uint64, err error)
}

// Store keeps the records of runs, each sealed with the data key of its workspace.
// Every field is required.
type Store struct {
	Data  Data
	Vault commands.Vault
	Now   func() time.Time
}

// Kept is a record to be kept: what a Recorder saved.
type Kept struct {
	WorkspaceID   string
	CorrelationID string
	ExecutionID   string // of the first execution of the tree
	Expires       time.Time
	Body          []byte
}

// kind is that of the data.
const kind = "recordings"

// Put keeps the record of a tree beside those of the other trees of its run. It is on
// disk when Put returns nil.
func (s *Store) Put(ctx context.Context, k Kept) error {
	sealed, err := s.Vault.Seal(ctx, k.WorkspaceID, k.Body, purpose(k.ExecutionID))
	if err == nil {
		body := sheet{k.Expires, k.ExecutionID, sealed}.encoded()
		err = s.Data.Put(ctx, stream(k.WorkspaceID, k.CorrelationID), k.ExecutionID, body, func(uint64, string) {})
	}
	if err != nil {
		return fmt.Errorf("keep the record of tree %s: %w", k.ExecutionID, err)
	}
	return nil
}

// Each calls visit with the records of a run that have not expired, in the order in
// which they were kept; only with that of one tree when executionID is not empty. It
// returns how many there were.
func (s *Store) Each(ctx context.Context, workspaceID, correlationID, executionID string, visit func(*Record) error) (found int, err error) {
	now := s.Now()
	err = s.Data.Since(ctx, stream(workspaceID, correlationID), 0, func(_ uint64, _ bool, _ string, body []byte) error {
		kept, err := readSheet(body)
		if err != nil {
			return err
		}
		if !now.Before(kept.expires) || executionID != "" && executionID != kept.executionID {
			return nil
		}
		plain, err := s.Vault.Open(ctx, workspaceID, kept.sealed, purpose(kept.executionID))
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
		return found, fmt.Errorf("read the records of run %s: %w", correlationID, err)
	}
	return found, nil
}

// Sweep erases the records that have expired: of a workspace, or of all when that is
// empty. It returns how many there were, and how large they are; on a dry run that is
// all it does. What cannot be read is left alone.
func (s *Store) Sweep(ctx context.Context, workspaceID string, dry bool) (count, bytes uint64, err error) {
	now := s.Now()
	return s.Data.Sweep(ctx, workspaceID, kind, dry, func(start []byte) bool {
		kept, err := readSheet(start)
		return err == nil && !now.Before(kept.expires)
	})
}

// stream is where the records of a run are. Correlation ids may be anything: a digest
// is a plain name.
func stream(workspaceID, correlationID string) domain.StreamID {
	sum := sha256.Sum256([]byte(correlationID))
	return domain.StreamID{Scope: workspaceID, Kind: kind, ID: hex.EncodeToString(sum[:16])}
}

// purpose is what the record of a tree is sealed for.
func purpose(executionID string) string { return "recordings/" + executionID }

// sheet is a record as it is kept.
type sheet struct {
	expires     time.Time
	executionID string
	sealed      []byte
}

func (s sheet) encoded() []byte {
	body := binary.AppendVarint(nil, s.expires.UnixMilli())
	body = binary.AppendUvarint(body, uint64(len(s.executionID)))
	body = append(body, s.executionID...)
	return append(body, s.sealed...)
}

var errSheet = errors.New("recording: no record is kept here")

func readSheet(body []byte) (sheet, error) {
	at, n := binary.Varint(body)
	if n <= 0 {
		return sheet{}, errSheet
	}
	body = body[n:]
	size, n := binary.Uvarint(body)
	if n <= 0 || size > uint64(len(body)-n) {
		return sheet{}, errSheet
	}
	end := n + int(size) //nolint:gosec // it is within body
	return sheet{time.UnixMilli(at), string(body[n:end]), body[end:]}, nil
}
