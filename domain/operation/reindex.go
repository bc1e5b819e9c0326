package operation

import (
	"encoding/json"
	"time"

	"svc/domain"
)

// ReindexAbout says which documents of a knowledge base are processed again, and how.
type ReindexAbout struct {
	BaseID        string         `json:"baseId"`
	KnowledgeBase string         `json:"knowledgeBase"` // its slug when the operation began
	Documents     int            `json:"documents"`     // how many there were when it began
	Extract       bool           `json:"extract,omitempty"`
	Filters       map[string]any `json:"filters,omitempty"`  // nil: all documents
	Outdated      bool           `json:"outdated,omitempty"` // those only that were processed with other settings
	Rules         int            `json:"rules,omitempty"`    // version of the rules that divide texts, when it began
}

// Reindexing is how far a base is processed again.
type Reindexing struct {
	ReindexAbout
	Ready  int `json:"ready"`
	Failed int `json:"failed"`
}

type (
	// StartReindex begins to process documents again. Starting it twice does nothing.
	StartReindex struct {
		About   About
		Reindex ReindexAbout
	}
	// EndReindex ends it.
	EndReindex struct {
		Epoch         uint64
		Now           time.Time
		Status        Status
		Ready, Failed int
		Failure       *Failure
	}
)

func (StartReindex) operationCommand() {}
func (EndReindex) operationCommand()   {}

func (c StartReindex) decide(s State) ([]domain.Event, error) {
	if s.ID != "" {
		return nil, nil
	}
	return []domain.Event{Started{About: c.About}, ReindexStarted{ofReindex{c.Reindex.KnowledgeBase, c.About.ID, c.Reindex.Documents}, c.Reindex}}, nil
}

func (c EndReindex) decide(s State) ([]domain.Event, error) {
	if err := s.heldBy(c.Epoch); err != nil || s.Reindex == nil {
		return nil, err
	}
	of := ofReindex{s.Reindex.KnowledgeBase, s.ID, s.Reindex.Documents}
	ended := ReindexCompleted{of, c.Ready, c.Failed, c.Now.Sub(s.CreatedAt).Milliseconds()}
	result, err := json.Marshal(ended)
	if err != nil {
		return nil, err
	}
	return []domain.Event{ended, Ended{ID: s.ID, Kind: s.Kind, Status: c.Status, Result: result, Failure: c.Failure, EndedAt: c.Now}}, nil
}

// reindexed folds what happens to a base that is processed again.
func (s State) reindexed(ev domain.Event) State {
	switch e := ev.(type) {
	case ReindexStarted:
		s.Reindex, s.Count = &Reindexing{ReindexAbout: e.About}, &Count{Total: e.About.Documents}
	case ReindexCompleted:
		if s.Reindex != nil {
			s.Reindex = &Reindexing{s.Reindex.ReindexAbout, e.Ready, e.Failed}
		}
	}
	return s
}

// ofReindex says which operation an event is of.
type ofReindex struct {
	KnowledgeBase string `json:"knowledgeBase"`
	OperationID   string `json:"operationId"`
	Documents     int    `json:"documents"`
}

type (
	// ReindexStarted says that documents of a base are processed again.
	ReindexStarted struct {
		ofReindex
		About ReindexAbout `json:"about"`
	}
	// ReindexCompleted says what became of them.
	ReindexCompleted struct {
		ofReindex
		Ready    int   `json:"ready"`
		Failed   int   `json:"failed"`
		Duration int64 `json:"duration"` // milliseconds
	}
)

// EventType implements domain.Event.
func (ReindexStarted) EventType() string { return "knowledge.reindex.started" }

// EventType implements domain.Event.
func (ReindexCompleted) EventType() string { return "knowledge.reindex.completed" }

// Payload implements domain.PayloadEvent.
func (e ReindexStarted) Payload() any { return e.ofReindex }
