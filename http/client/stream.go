package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Frame is one message of a stream of server-sent events.
type Frame struct {
	ID    string // the position after it, to begin another stream at
	Event string // its type; "" for those without one
	Data  []byte // JSON
}

// largestFrame is the largest line of a stream that is read.
const largestFrame = 64 << 20

// stream reads a stream of server-sent events. A lost connection is opened again after the last frame that was read, so
// that nothing is missed and nothing comes twice. A finite stream ends when the service closes it, any other when ctx
// ends, when the loop is left, or with an error: a refusal, or one after the last of the retries.
func (c *Client) stream(ctx context.Context, r *request, finite bool) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // the loop was left: the connection is closed
		r.headers.Set("Accept", "text/event-stream")
		for failures := 0; ; {
			err := c.follow(ctx, r, func(f Frame) bool {
				failures = 0
				return yield(f, nil)
			})
			switch {
			case errors.Is(err, errLeft) || finite && errors.Is(err, io.EOF):
				return
			case ctx.Err() != nil:
				err = ctx.Err()
			case CodeOf(err) == "" && failures <= c.retries:
				if err = wait(ctx, c.backoff(failures, nil)); err == nil {
					failures++
					continue
				}
			}
			yield(Frame{}, err)
			return
		}
	}
}

// errLeft says that the reader of a stream wants no more.
var errLeft = errors.New("the loop was left")

// follow reads a stream until it ends, which is an error in any case, and notes where to go on.
func (c *Client) follow(ctx context.Context, r *request, visit func(Frame) bool) error {
	answer, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return &Error{Status: http.StatusOK, Code: "unexpected_answer", Message: "no stream of events, but " + kind}
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, largestFrame)
	var frame Frame
	var hasData bool
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			if frame.ID != "" {
				r.headers.Set("Last-Event-ID", frame.ID) // also of a frame without data: it tells the position
			}
			if hasData && !visit(frame) {
				return errLeft
			}
			frame, hasData = Frame{}, false
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			if utf8.Valid(value) {
				frame.ID = string(value)
			}
		case "event":
			frame.Event = string(value)
		case "data":
			if hasData {
				frame.Data = append(frame.Data, '\n')
			}
			frame.Data, hasData = append(frame.Data, value...), true
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}
