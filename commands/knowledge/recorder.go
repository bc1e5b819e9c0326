package knowledge

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
)

// RecorderOptions configure a Recorder. All fields are required.
type RecorderOptions struct {
	// Append appends an event to the activity of a workspace.
	Append func(ctx context.Context, workspaceID string, ev domain.Event) error
	// LogQueries says whether events have the text of queries.
	LogQueries func() bool
	Log        *slog.Logger
}

// Recorder records searches and questions, and what they cost, without letting anybody wait: events are queued, and Run
// appends them. All methods are safe for concurrent use.
type Recorder struct {
	o     RecorderOptions
	queue chan queuedEvent

	mu       sync.Mutex
	stopped  bool              // Run has ended: events are appended at once
	searches map[[2]string]int // since the last minute, by workspace and base
}

type queuedEvent struct {
	ctx         context.Context
	workspaceID string
	event       domain.Event
}

// queueLength is how many events may wait. Beyond, whoever causes one waits.
const queueLength = 1000

// NewRecorder returns a Recorder.
func NewRecorder(o RecorderOptions) (*Recorder, error) {
	if o.Append == nil || o.LogQueries == nil || o.Log == nil {
		return nil, errors.New("knowledge: RecorderOptions lack a required field")
	}
	return &Recorder{o: o, queue: make(chan queuedEvent, queueLength), searches: map[[2]string]int{}}, nil
}

// Searched records a search that somebody made.
func (r *Recorder) Searched(ctx context.Context, in SearchRequest, found SearchAnswer) {
	ev := newQueried("search", in.Bases, in.Query, found)
	ev.Took = found.Took
	r.queried(ctx, in.WorkspaceID, ev)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.searches[[2]string{in.WorkspaceID, onlyBase(in.Bases)}]++
}

// Used records how much of something was used, also when the caller is gone: it was paid for. It is the workspace that
// used it, also when an app of it did: what apps report themselves is another matter.
func (r *Recorder) Used(ctx context.Context, workspaceID string, u activity.Usage) {
	if len(u.Metrics) == 0 {
		return
	}
	meta := commands.RequestFrom(ctx).Meta
	meta.AppSlug, meta.AppInstance, meta.AppDepth, meta.ServiceTopic = "", "", 0, ""
	r.record(commands.WithRequest(ctx, &commands.Request{Meta: meta}), workspaceID, u)
}

func (r *Recorder) queried(ctx context.Context, workspaceID string, ev activity.KnowledgeQueried) {
	if !r.o.LogQueries() {
		ev.Query = ""
	}
	r.record(ctx, workspaceID, ev)
}

// record queues an event.
func (r *Recorder) record(ctx context.Context, workspaceID string, ev domain.Event) {
	queued := queuedEvent{context.WithoutCancel(ctx), workspaceID, ev}
	r.mu.Lock()
	stopped := r.stopped
	if !stopped {
		select {
		case r.queue <- queued:
			r.mu.Unlock()
			return
		default:
		}
	}
	r.mu.Unlock()
	r.append(queued)
}

// appendTimeout limits how long one event is tried to be appended.
const appendTimeout = 10 * time.Second

func (r *Recorder) append(q queuedEvent) {
	ctx, cancel := context.WithTimeout(q.ctx, appendTimeout)
	defer cancel()
	if err := r.o.Append(ctx, q.workspaceID, q.event); err != nil {
		r.o.Log.Warn("an event was not recorded", "workspace", q.workspaceID, "type", q.event.EventType(), "err", err)
	}
}

const (
	appenders   = 4 // appends at once: they share a wait for the disk
	sumSearches = time.Minute
)

// Run appends events until ctx ends, and then what is queued.
func (r *Recorder) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for range appenders {
		running.Go(func() {
			for q := range r.queue {
				r.append(q)
			}
		})
	}
	commands.Every(ctx, sumSearches, func() { r.flush(ctx) })
	r.mu.Lock()
	r.stopped = true
	close(r.queue)
	r.mu.Unlock()
	running.Wait()
	r.flush(ctx)
	return nil
}

// flush records the number of searches since the last time.
func (r *Recorder) flush(ctx context.Context) {
	r.mu.Lock()
	searches := r.searches
	r.searches = map[[2]string]int{}
	r.mu.Unlock()
	for of, n := range searches {
		r.Used(ctx, of[0], activity.Usage{KnowledgeBase: of[1], Metrics: activity.Increments(map[string]int{activity.Queries: n})})
	}
}

// onlyBase returns the base that a query is about, "" when it is about several.
func onlyBase(bases []string) string {
	if len(bases) == 1 {
		return bases[0]
	}
	return ""
}

// Limits of what an event says of a query.
const (
	loggedQuery     = 500 // characters
	loggedDocuments = 5
)

func newQueried(kind string, bases []string, query string, found SearchAnswer) activity.KnowledgeQueried {
	text := []rune(query)
	ev := activity.KnowledgeQueried{
		KnowledgeBases: append([]string{}, bases...), Kind: kind, Mode: found.Mode, Query: string(text[:min(loggedQuery, len(text))]), Total: found.Total, DocumentIDs: []string{},
	}
	for _, result := range found.Results {
		if id := result.Document.ID; len(ev.DocumentIDs) < loggedDocuments && !slices.Contains(ev.DocumentIDs, id) {
			ev.DocumentIDs = append(ev.DocumentIDs, id)
		}
		if base := result.Document.KnowledgeBase; bases == nil && !slices.Contains(ev.KnowledgeBases, base) {
			ev.KnowledgeBases = append(ev.KnowledgeBases, base)
		}
	}
	return ev
}
