package activity

import (
	"encoding/json"
	"time"

	"svc/domain"
)

// TreeStarted says that a tree began, or begins again because the node that ran it is
// gone. It is for the runtime alone: a tree ends with the event of its first execution,
// and what has no such event was interrupted. A tree that is over at once has no start
// of its own, and of one that is not the cleanup says again how it began before it erases
// what said so first.
type TreeStarted struct {
	ExecutionID string  `json:"executionId"` // of its first execution
	Automation  string  `json:"automation"`
	Trigger     Trigger `json:"trigger"`
	Attempt     int     `json:"attempt"`
	Replica     string  `json:"replica"` // the node, as it is since its last start
	StartedAt   string  `json:"startedAt"`
}

// EventType implements domain.Event.
func (TreeStarted) EventType() string { return "runtime.trees.started" }

// WaitPending says that a tree stands in a wait. Where it stands is kept apart, sealed.
type WaitPending struct {
	ID          string          `json:"id"`
	ExecutionID string          `json:"executionId"`
	ExpiresAt   string          `json:"expiresAt"`
	Wait        json.RawMessage `json:"wait,omitempty"` // as the instruction has it
	Since       time.Time       `json:"since,omitzero"` // when the wait began; zero: with this event
}

// EventType implements domain.Event.
func (WaitPending) EventType() string { return "runtime.waits.pending" }

// WaitKept says again that a tree stands in a wait, before the cleanup erases what said so
// first. It is for the runtime alone: nothing has happened.
type WaitKept WaitPending

// EventType implements domain.Event.
func (WaitKept) EventType() string { return "runtime.waits.kept" }

// WaitFulfilled says that the event that a wait is for came.
type WaitFulfilled struct {
	ID    string      `json:"id"`
	Event AwaitedName `json:"event"`
}

// AwaitedName names the event that ended a wait.
type AwaitedName struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// EventType implements domain.Event.
func (WaitFulfilled) EventType() string { return "runtime.waits.fulfilled" }

// WaitExpired says that the time of a wait is over.
type WaitExpired struct {
	ID string `json:"id"`
}

// EventType implements domain.Event.
func (WaitExpired) EventType() string { return "runtime.waits.expired" }

// FetchFailed says that a request of an automation was answered with an error, or not
// at all. Credentials in it are left out.
type FetchFailed struct {
	Request  json.RawMessage `json:"request,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
	Error    json.RawMessage `json:"error,omitempty"`
}

// EventType implements domain.Event.
func (FetchFailed) EventType() string { return "runtime.fetch.failed" }

// Within implements Bounded.
func (e FetchFailed) Within(limit int) domain.Event { return within(e, limit, Fit) }

// Replayed says that a recorded run was executed again, with nothing leaving.
type Replayed struct {
	CorrelationID string `json:"correlationId"`
	Document      string `json:"document"`
	Status        string `json:"status"`
	Differences   int    `json:"differences"`
}

// EventType implements domain.Event.
func (Replayed) EventType() string { return "runtime.runs.replayed" }

// CollectionUpdated says that a collection was declared or altered.
type CollectionUpdated struct {
	Collection    string          `json:"collection"`
	OldCollection string          `json:"oldCollection,omitempty"`
	Schema        string          `json:"schema"`
	Properties    json.RawMessage `json:"properties,omitempty"`
	Indexes       json.RawMessage `json:"indexes,omitempty"`
	Uniques       json.RawMessage `json:"uniques,omitempty"`
	AppSlug       string          `json:"appSlug,omitempty"`
}

// EventType implements domain.Event.
func (CollectionUpdated) EventType() string { return "workspaces.collections.updated" }

// Within implements Bounded.
func (e CollectionUpdated) Within(limit int) domain.Event { return within(e, limit, Fit) }
