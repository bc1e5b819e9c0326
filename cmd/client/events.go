package client

import (
	"context"
	"fmt"
	"net/http"

	"svc/commands"
)

// Tail tells the events of a stream as they come, until ctx ends, tell returns false
// or the service refuses. A stream that breaks is opened again after the last event
// that arrived: nothing is missed, nothing is told twice.
func (c *Client) Tail(ctx context.Context, path string, tell func(Frame) (more bool)) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	t := &tail{c: c, path: path, tell: tell, leave: leave}
	for lost, pause := 0, c.pause(); ; {
		err := t.listen(ctx)
		switch {
		case t.over || ctx.Err() != nil:
			return nil
		case err == nil:
			lost, pause = 0, c.pause()
		case !mayPass(err) || !t.begun || lost == maxLost:
			return err
		}
		lost++
		if err := commands.Sleep(ctx, pause); err != nil {
			return nil
		}
		pause = min(2*pause, 16*c.pause())
	}
}

// tail is a stream that is followed over all its connections.
type tail struct {
	c     *Client
	path  string
	last  string // the frame that was heard last
	tell  func(Frame) bool
	leave func()
	begun bool // the service was there once
	over  bool // nobody wants to hear more
}

// listen hears what is new until the connection ends.
func (t *tail) listen(ctx context.Context) error {
	answer, err := t.c.once(ctx, call{method: http.MethodGet, path: t.path, accept: streamType, after: t.last})
	if err != nil {
		return err
	}
	if answer.stream == nil {
		return fmt.Errorf("GET %s was answered with something else than a stream", t.path)
	}
	t.begun = true
	_ = frames(answer.stream, t.hear) // however it ended, it goes on after what was heard
	return nil
}

// hear keeps where the stream is, and tells the frame.
func (t *tail) hear(f Frame) {
	if t.over {
		return // what was on its way when the last one was told
	}
	t.last = f.ID
	if f.Data != nil && !t.tell(f) {
		t.over = true
		t.leave()
	}
}
