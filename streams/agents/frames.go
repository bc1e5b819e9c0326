package agents

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// Frame is a piece of the story of a message, as streams tell it.
type Frame struct {
	ID    int             `json:"id"` // from 1
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// The events of frames.
const (
	frameMessage    = "message"
	frameDelta      = "delta"
	frameToolCall   = "tool_call"
	frameToolResult = "tool_result"
	frameApproval   = "approval"
	frameDone       = "done"
	frameError      = "error"
)

// isLast reports whether nothing follows a frame.
func (f Frame) isLast() bool { return f.Event == frameDone || f.Event == frameError }

// story is the frames of a message that this node works on. All methods are safe for concurrent use.
type story struct {
	mu      sync.Mutex
	frames  []Frame
	before  int           // how many frames there were before those
	told    int           // how many are stored
	changed chan struct{} // closed when there are more
	closed  bool          // nobody adds any
}

func newStory(before int) *story { return &story{before: before, changed: make(chan struct{})} }

// add adds a frame.
func (s *story) add(event string, data any) {
	body, err := json.Marshal(data)
	if err != nil {
		body = []byte("{}")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, Frame{s.before + len(s.frames) + 1, event, body})
	close(s.changed)
	s.changed = make(chan struct{})
}

// end says that this node adds nothing more.
func (s *story) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	close(s.changed)
	s.changed = make(chan struct{})
}

// after returns the frames after an id, whether that is all, and what is closed when there are more.
func (s *story) after(id int) (frames []Frame, closed bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from := max(0, id-s.before); from < len(s.frames) {
		frames = s.frames[from:len(s.frames):len(s.frames)]
	}
	return frames, s.closed, s.changed
}

// take returns the frames that are not stored yet.
func (s *story) take() []Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames := s.frames[s.told:len(s.frames):len(s.frames)]
	s.told = len(s.frames)
	return frames
}

// count returns the number of all frames.
func (s *story) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.before + len(s.frames)
}

// pollEvery is how often the frames of a message on another node are looked for.
const pollEvery = 300 * time.Millisecond

// Follow passes the frames of a message after an id to send until the last one, until it waits for an approval, or until
// ctx or this node ends. Any node can. When the frames are gone, the text comes as one.
func (a *Agents) Follow(ctx context.Context, workspaceID string, found Found, after int, send func(Frame) error) error {
	if s := a.storyOf(found.message.ID); s != nil && (s.before == 0 || after >= s.before) {
		last, err := follow(ctx, s, after, send)
		if err != nil || last.isLast() || a.isClosing() {
			return err
		}
		after = max(after, last.ID) // it waits for an approval, or somebody else goes on with it
	}
	return a.followStored(ctx, workspaceID, found, after, send)
}

// follow passes the frames of a message that this node works on until it does not any more, and returns the last one.
func follow(ctx context.Context, s *story, after int, send func(Frame) error) (last Frame, err error) {
	for {
		frames, closed, changed := s.after(after)
		for _, f := range frames {
			if err := send(f); err != nil {
				return last, err
			}
			last, after = f, f.ID
		}
		if closed {
			return last, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return last, context.Cause(ctx)
		}
	}
}

// followStored passes the frames that are stored, until the message has ended.
func (a *Agents) followStored(ctx context.Context, workspaceID string, found Found, after int, send func(Frame) error) error {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for seq := uint64(0); ; {
		c, err := a.store.load(ctx, workspaceID, found.address)
		if errors.Is(err, errNoConversation) {
			return noMessage(found.message.ID)
		}
		if err != nil {
			return err
		}
		m := c.message(found.message.ID)
		if m == nil {
			return noMessage(found.message.ID)
		}
		_, frames, last, err := a.store.entries(ctx, workspaceID, m.ID, seq)
		if err != nil {
			return err
		}
		seq = last
		for _, f := range frames {
			if f.ID <= after {
				continue
			}
			if f.ID != after+1 {
				break // frames are missing: the text is told when it is complete
			}
			if err := send(f); err != nil {
				return err
			}
			if after = f.ID; f.isLast() {
				return nil
			}
		}
		switch {
		case m.Status == WaitingApproval:
			return nil
		case m.Status.HasEnded():
			return sendWhole(*m, after, send)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sendWhole passes a message that has ended, its text as one frame.
func sendWhole(m Message, after int, send func(Frame) error) error {
	s := newStory(after)
	if after == 0 {
		s.add(frameMessage, started{m.ID, m.ConversationID})
	}
	if m.Text != "" {
		s.add(frameDelta, delta{m.Text})
	}
	s.addEnd(m)
	for _, f := range s.take() {
		if err := send(f); err != nil {
			return err
		}
	}
	return nil
}

// addEnd adds the last frame of a message.
func (s *story) addEnd(m Message) {
	if m.Status == Failed && m.Error != nil {
		s.add(frameError, m.Error)
		return
	}
	s.add(frameDone, m)
}

type (
	// started is the first frame of a message.
	started struct {
		MessageID      string `json:"messageId"`
		ConversationID string `json:"conversationId"`
	}
	// delta is a piece of the text.
	delta struct {
		Text string `json:"text"`
	}
)
