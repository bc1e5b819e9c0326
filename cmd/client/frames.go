package client

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"time"
)

// Frame is one event of a stream.
type Frame struct {
	ID   string // where the stream goes on after it
	Type string
	Data json.RawMessage // nil: it only tells where the stream is
}

const (
	silence  = 45 * time.Second // three times what the service lets pass without a word
	maxFrame = 64 << 20         // the result of a run over 2000 workspaces
)

// stream is a stream that is read, and can be left.
type stream struct {
	io.ReadCloser
	leave func()
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.leave()
	return s.ReadCloser.Close()
}

// frames tells the frames of a stream until it ends: nil, or how it broke. One that
// says nothing for too long is left. It is closed after that.
func frames(from io.ReadCloser, tell func(Frame)) error {
	defer from.Close()
	quiet := time.AfterFunc(silence, func() { _ = from.Close() }) // the next read fails
	defer quiet.Stop()
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 4<<10), maxFrame)
	var now Frame
	var data []string
	for lines.Scan() {
		quiet.Reset(silence)
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "" && (data != nil || now.ID != ""):
			if data != nil {
				now.Data = json.RawMessage(strings.Join(data, "\n"))
			}
			tell(now)
			now, data = Frame{}, nil
		case name == "id":
			now.ID = value
		case name == "event":
			now.Type = value
		case name == "data":
			data = append(data, value)
		}
	}
	return lines.Err()
}
