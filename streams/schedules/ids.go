package schedules

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// idOf derives an id from what it is of: the same for everybody who derives it. Its
// time is at.
func idOf(at time.Time, of ...string) string {
	h := sha256.New()
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	h.Write(ms[:])
	h.Write([]byte(strings.Join(of, "\x00")))
	id := ulid.ULID(h.Sum(nil)[:16])
	_ = id.SetTime(uint64(max(0, at.UnixMilli()))) // fails only for times in ten thousand years
	return id.String()
}

// newTrace returns a trace id that nothing else has.
func newTrace() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(id[:])
}
