package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Kinds of frames. All but the job go from the child to the parent.
const (
	frameReady  byte = 'r' // the child waits for its job
	frameJob    byte = 'j'
	frameLine   byte = 'l' // one line of the console
	frameValue  byte = 'v' // the result as JSON; empty for undefined
	frameFailed byte = 'e' // what the code did wrong, as JSON
	frameBroken byte = 'x' // why the child could not run it
)

// frameHeader is the kind and the length.
const frameHeader = 5

// errFrame is a frame that is longer than its reader takes.
var errFrame = errors.New("frame too long")

// writeFrame writes a frame in one piece.
func writeFrame(w io.Writer, kind byte, body []byte) error {
	frame := make([]byte, frameHeader, frameHeader+len(body))
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:], uint32(len(body)))
	_, err := w.Write(append(frame, body...))
	return err
}

// readFrame reads a frame of at most so many bytes. Room for it is made as it
// arrives: the length is only what the other side says.
func readFrame(r io.Reader, most int) (kind byte, body []byte, err error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	length := int64(binary.BigEndian.Uint32(header[1:]))
	if length > int64(most) {
		return header[0], nil, fmt.Errorf("%w: %d bytes of at most %d", errFrame, length, most)
	}
	body, err = io.ReadAll(io.LimitReader(r, length))
	if err == nil && int64(len(body)) < length {
		err = io.ErrUnexpectedEOF
	}
	return header[0], body, err
}
