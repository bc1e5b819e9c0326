package kbdocument

import (
	"cmp"
	"slices"
	"time"

	"svc/domain"
)

// About is what events show of a document. Its text is never in an event.
type About struct {
	KnowledgeBase string `json:"knowledgeBase"` // the slug of the base
	ID            string `json:"id"`
	Key           string `json:"key,omitempty"`
	Name          string `json:"name"`
	Source        Source `json:"source"`
	URL           string `json:"url,omitempty"`
	Revision      int    `json:"revision"`
}

func (s State) about(base Base) About {
	return About{KnowledgeBase: base.Slug, ID: s.ID, Key: s.Key, Name: s.Name, Source: s.Source, URL: s.URL, Revision: s.Revision}
}

// Fetched is what loading the address of a document changed.
type Fetched struct {
	Revision  int        `json:"revision"`
	Revisions []Revision `json:"revisions"`
	At        time.Time  `json:"at"`
}

type (
	// Added says that a document came.
	Added struct {
		Document State `json:"document"`
		About    About `json:"about"`
		Cause    Cause `json:"cause"`
	}
	// Updated says that the content of a document was replaced, or what its owner says about it.
	Updated struct {
		Document State `json:"document"`
		About    About `json:"about"`
		Cause    Cause `json:"cause"`
	}
	// Deleted says that a document is gone.
	Deleted struct {
		About
		Cause Cause `json:"cause,omitempty"`
		Bulk  *Bulk `json:"bulk,omitempty"` // many documents; nil: one
	}
	// Removed says that one of many documents is gone: Deleted tells of all of them.
	Removed struct{}
	// Requeued says that the pipeline is to process the document again.
	Requeued struct {
		Job   Job `json:"job"`
		Depth int `json:"depth,omitempty"` // of the run that asked
	}
	// Begun says that the pipeline began an attempt.
	Begun struct {
		Generation int       `json:"generation"`
		Attempt    int       `json:"attempt"`
		Lost       int       `json:"lost,omitempty"`
		At         time.Time `json:"at"`
	}
	// Postponed says that an attempt ended, and when the next one may begin.
	Postponed struct {
		Generation int       `json:"generation"`
		Until      time.Time `json:"until,omitzero"`
	}
	// ReadyEvent says that the newest revision can be searched, and where its text and its passages are.
	ReadyEvent struct {
		About
		Generation int      `json:"generation"`
		Extract    *Extract `json:"extract"`
		Fetched    *Fetched `json:"fetched,omitempty"`
		VectorSet  string   `json:"vectorSet,omitempty"` // that a model is to make; "": none
		Chunks     int      `json:"chunks"`
		Characters int      `json:"characters"`
		Truncated  bool     `json:"truncated"`
		Duration   int64    `json:"duration"` // milliseconds
	}
	// FailedEvent says that the newest revision cannot be searched. An earlier one stays searchable.
	FailedEvent struct {
		About
		Generation int      `json:"generation"`
		Fetched    *Fetched `json:"fetched,omitempty"`
		Error      Fault    `json:"error"`
		Attempts   int      `json:"attempts"`
	}
	// EmbeddingQueued says which vectors a model is to make instead.
	EmbeddingQueued struct {
		Set string `json:"set"`
	}
	// Embedded says where the vectors of a document are, or why there are none.
	Embedded struct {
		Vectors Vectors `json:"vectors"`
	}
	// EmbeddingPostponed says that a model could not make vectors, and when it is asked again.
	EmbeddingPostponed struct {
		Set   string    `json:"set"`
		Until time.Time `json:"until"`
	}
)

// EventType implements domain.Event.
func (Added) EventType() string { return "knowledge.documents.added" }

// EventType implements domain.Event.
func (Updated) EventType() string { return "knowledge.documents.updated" }

// EventType implements domain.Event.
func (Deleted) EventType() string { return "knowledge.documents.deleted" }

// EventType implements domain.Event.
func (Removed) EventType() string { return "knowledge.documents.removed" }

// EventType implements domain.Event.
func (Requeued) EventType() string { return "knowledge.documents.requeued" }

// EventType implements domain.Event.
func (Begun) EventType() string { return "knowledge.documents.begun" }

// EventType implements domain.Event.
func (Postponed) EventType() string { return "knowledge.documents.postponed" }

// EventType implements domain.Event.
func (ReadyEvent) EventType() string { return "knowledge.documents.ready" }

// EventType implements domain.Event.
func (FailedEvent) EventType() string { return "knowledge.documents.failed" }

// EventType implements domain.Event.
func (EmbeddingQueued) EventType() string { return "knowledge.documents.embeddingQueued" }

// EventType implements domain.Event.
func (Embedded) EventType() string { return "knowledge.documents.embedded" }

// EventType implements domain.Event.
func (EmbeddingPostponed) EventType() string { return "knowledge.documents.embeddingPostponed" }

// changePayload is what events show of a change.
type changePayload struct {
	About
	Cause Cause `json:"cause"`
}

// Payload implements domain.PayloadEvent.
func (e Added) Payload() any { return changePayload{e.About, e.Cause} }

// Payload implements domain.PayloadEvent.
func (e Updated) Payload() any { return changePayload{e.About, e.Cause} }

// Bulk is what an event shows of many documents.
type Bulk struct {
	KnowledgeBase string   `json:"knowledgeBase"`
	Count         int      `json:"count"`
	IDs           []string `json:"ids"` // the first 500
	Cause         Cause    `json:"-"`   // "": ByAPI
}

// MaxBulkIDs is how many ids an event about many documents has.
const MaxBulkIDs = 500

// deletedPayload is what an event shows of one document or of many.
type deletedPayload struct {
	KnowledgeBase string   `json:"knowledgeBase"`
	ID            string   `json:"id,omitempty"`
	Key           string   `json:"key,omitempty"`
	Name          string   `json:"name,omitempty"`
	Source        Source   `json:"source,omitempty"`
	URL           string   `json:"url,omitempty"`
	Revision      int      `json:"revision,omitempty"`
	Cause         Cause    `json:"cause,omitempty"`
	Count         int      `json:"count,omitempty"`
	IDs           []string `json:"ids,omitempty"`
}

// Payload implements domain.PayloadEvent.
func (e Deleted) Payload() any {
	if e.Bulk != nil {
		return deletedPayload{KnowledgeBase: e.Bulk.KnowledgeBase, Count: e.Bulk.Count, IDs: e.Bulk.IDs, Cause: e.Cause}
	}
	a := e.About
	return deletedPayload{
		KnowledgeBase: a.KnowledgeBase, ID: a.ID, Key: a.Key, Name: a.Name, Source: a.Source, URL: a.URL, Revision: a.Revision, Cause: e.Cause,
	}
}

// resultPayload is what events show of the end of a job.
type resultPayload struct {
	KnowledgeBase string `json:"knowledgeBase"`
	ID            string `json:"id"`
	Key           string `json:"key,omitempty"`
	Name          string `json:"name"`
	Revision      int    `json:"revision"`
}

// readyPayload is what an event shows of a document that is ready.
type readyPayload struct {
	resultPayload
	Chunks     int   `json:"chunks"`
	Characters int   `json:"characters"`
	Truncated  bool  `json:"truncated"`
	Duration   int64 `json:"duration"`
}

// Payload implements domain.PayloadEvent: the names of the blobs are not shown.
func (e ReadyEvent) Payload() any {
	return readyPayload{e.About.result(), e.Chunks, e.Characters, e.Truncated, e.Duration}
}

// failedPayload is what an event shows of a document that cannot be read.
type failedPayload struct {
	resultPayload
	Error    Fault `json:"error"`
	Attempts int   `json:"attempts"`
}

// Payload implements domain.PayloadEvent.
func (e FailedEvent) Payload() any { return failedPayload{e.About.result(), e.Error, e.Attempts} }

func (a About) result() resultPayload {
	return resultPayload{a.KnowledgeBase, a.ID, a.Key, a.Name, a.Revision}
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Added:
		return e.Document
	case Updated:
		return e.Document
	case Deleted, Removed:
		s.Deleted, s.Job = true, nil
	case Requeued:
		job := e.Job
		s.Job, s.Generation, s.Operation, s.Depth = &job, job.Generation, cmp.Or(job.Operation, s.Operation), e.Depth
	case Begun:
		s = s.withAttempt(e.Generation, func(j *Job) { j.Attempts, j.Lost, j.Begun, j.NotBefore = e.Attempt, e.Lost, e.At, time.Time{} })
	case Postponed:
		s = s.withAttempt(e.Generation, func(j *Job) { j.Begun, j.NotBefore = time.Time{}, e.Until })
	case ReadyEvent:
		bulk := s.Job != nil && s.Job.Bulk
		s.Job, s.Fault, s.Extract, s.Embedding = nil, nil, e.Extract, nil
		s = s.withVectorSet(e.VectorSet, bulk)
		s = s.withFetched(e.Fetched).withText(e.Extract)
	case FailedEvent:
		fault := e.Error
		s.Job, s.Fault = nil, &fault
		s = s.withFetched(e.Fetched)
	case EmbeddingQueued:
		s = s.withVectorSet(e.Set, false)
	case Embedded:
		s.Embedding = nil
		kept := slices.DeleteFunc(slices.Clone(s.Vectors), func(v Vectors) bool { return v.Set == e.Vectors.Set })
		s.Vectors = append(kept[max(0, len(kept)-keptVectors+1):], e.Vectors)
	case EmbeddingPostponed:
		if s.Embedding != nil {
			s.Embedding = &EmbeddingJob{e.Set, s.Embedding.Bulk, s.Embedding.Attempts + 1, e.Until}
		}
	}
	return s
}

// withVectorSet returns a document that is to have a set of vectors: those that it has already become its newest, others
// are work for a model.
func (s State) withVectorSet(set string, bulk bool) State {
	s.Embedding = nil
	if set == "" {
		return s
	}
	if v, found := s.FindVectors(set); found && v.Fault == nil {
		others := slices.DeleteFunc(slices.Clone(s.Vectors), func(v Vectors) bool { return v.Set == set })
		s.Vectors = append(others, v)
		return s
	}
	s.Embedding = &EmbeddingJob{Set: set, Bulk: bulk}
	return s
}

// withAttempt returns a document whose job was changed, if it is the current one.
func (s State) withAttempt(generation int, change func(*Job)) State {
	if s.Job == nil || s.Job.Generation != generation {
		return s
	}
	job := *s.Job
	change(&job)
	s.Job = &job
	return s
}

func (s State) withFetched(f *Fetched) State {
	if f != nil {
		s.Revision, s.Revisions, s.CheckedAt = f.Revision, f.Revisions, f.At
	}
	return s
}

// withText returns a document that knows the text of the revision that was read: it can be read when another one is searched.
func (s State) withText(e *Extract) State {
	s.Revisions = slices.Clone(s.Revisions)
	for i := range s.Revisions {
		if s.Revisions[i].Number == e.Revision {
			s.Revisions[i].Text, s.Revisions[i].TextSize = e.Text, e.Size
		}
	}
	return s
}

// Deletion is the stream of one deletion of many documents.
func Deletion(workspaceID, id string) domain.StreamID {
	return DeletionDecider.Stream(workspaceID, id)
}

// DeletionDecider is the rule of deletions of many documents: each is recorded once.
var DeletionDecider = domain.Decider[bool, Bulk]{
	Kind: "kbdeletion", Version: 1,
	Decide: func(done bool, b Bulk) ([]domain.Event, error) {
		if done {
			return nil, nil
		}
		return []domain.Event{Deleted{Bulk: &b, Cause: cmp.Or(b.Cause, ByAPI)}}, nil
	},
	Evolve: func(bool, domain.Event) bool { return true },
}
