package domain

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// Position is a point in the event logs: the last sequence of each that is
// meant. The zero Position is before everything.
type Position struct{ State, Activity uint64 }

// At returns the position of one event.
func At(log Log, seq uint64) Position {
	if log == State {
		return Position{State: seq}
	}
	return Position{Activity: seq}
}

// Max returns the position that has both p and q behind it.
func (p Position) Max(q Position) Position {
	return Position{State: max(p.State, q.State), Activity: max(p.Activity, q.Activity)}
}

// Min returns the last position that is behind neither p nor q.
func (p Position) Min(q Position) Position {
	return Position{State: min(p.State, q.State), Activity: min(p.Activity, q.Activity)}
}

// Of returns the sequence in log.
func (p Position) Of(log Log) uint64 {
	if log == State {
		return p.State
	}
	return p.Activity
}

// IsZero reports whether p is before everything.
func (p Position) IsZero() bool { return p == Position{} }

// Token returns p as the opaque URL-safe text of the API.
func (p Position) Token() string {
	b := binary.AppendUvarint(nil, p.State)
	b = binary.AppendUvarint(b, p.Activity)
	return base64.RawURLEncoding.EncodeToString(append(b, checksum(b)))
}

var errPosition = errors.New("domain: not a position token")

// ParsePosition reads a token made by Token.
func ParsePosition(token string) (Position, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 3 || b[len(b)-1] != checksum(b[:len(b)-1]) {
		return Position{}, errPosition
	}
	b = b[:len(b)-1]
	state, n := binary.Uvarint(b)
	if n <= 0 {
		return Position{}, errPosition
	}
	activity, m := binary.Uvarint(b[n:])
	if m <= 0 || n+m != len(b) {
		return Position{}, errPosition
	}
	p := Position{State: state, Activity: activity}
	if p.Token() != token {
		return Position{}, errPosition // one position has one token
	}
	return p, nil
}

func checksum(b []byte) byte { return byte(crc32.ChecksumIEEE(b)) }

// MarshalText implements encoding.TextMarshaler: a position is shown as its
// token.
func (p Position) MarshalText() ([]byte, error) { return []byte(p.Token()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Position) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePosition(string(text))
	return err
}
