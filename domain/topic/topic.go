// Package topic holds the rules of user topics: names that events are sent to, so
// that every user who has joined one receives them. A topic belongs to one workspace,
// and is never left.
package topic

import (
	"fmt"
	"slices"

	"svc/domain"
)

// Decider is the rule of user topics.
var Decider = domain.Decider[State, Command]{Kind: "topic", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of a topic of a workspace. Names are free text, so that a
// hash stands for them.
func Stream(workspaceID, name string) domain.StreamID {
	return Decider.Stream(workspaceID, domain.HashSecret(name))
}

// Bounds of topics.
const (
	MaxName    = 200    // characters of a name
	MaxUser    = 128    // characters of the id of a user
	MostAtOnce = 500    // users of one command: each of them is an event
	Most       = 10_000 // members of a topic
)

// State is a topic. The zero State is one that does not exist.
type State struct {
	Name    string   `json:"name"`
	Members []string `json:"members,omitempty"` // sorted; never changed, only replaced
}

// Has reports whether a user has joined.
func (s State) Has(userID string) bool {
	_, there := slices.BinarySearch(s.Members, userID)
	return there
}

// Command is what can be asked of a topic.
type Command interface{ topicCommand() }

type (
	// Create makes a topic with its first members. One that exists is left as it is.
	Create struct {
		Name    string
		UserIDs []string
	}
	// Join adds users. Those who have joined before are passed over.
	Join struct {
		Name    string
		UserIDs []string
		Create  bool // a topic that does not exist is made
	}
)

func (Create) topicCommand() {}
func (Join) topicCommand()   {}

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Create:
		return create(s, c)
	case Join:
		return join(s, c)
	default:
		return nil, domain.Refuse(domain.CodeInternal, "topic: unknown command %T", cmd)
	}
}

func create(s State, c Create) ([]domain.Event, error) {
	if err := validate(c.Name, c.UserIDs); err != nil || s.Name != "" {
		return nil, err
	}
	return []domain.Event{Created{Topic: c.Name, UserIDs: newMembers(s, c.UserIDs)}}, nil
}

func join(s State, c Join) ([]domain.Event, error) {
	if err := validate(c.Name, c.UserIDs); err != nil {
		return nil, err
	}
	if len(c.UserIDs) == 0 {
		return nil, domain.Invalid(domain.FieldError{Field: "userIds", Message: "must name a user"})
	}
	var events []domain.Event
	switch {
	case s.Name == "" && !c.Create:
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such user topic").With("resource", "userTopic").With("id", c.Name)
	case s.Name == "":
		events = append(events, Created{Topic: c.Name, UserIDs: []string{}})
	}
	joining := newMembers(s, c.UserIDs)
	if len(s.Members)+len(joining) > Most {
		return nil, domain.Refuse(domain.CodeQuota, "a user topic has at most %d members", Most)
	}
	for _, id := range joining {
		events = append(events, Joined{Topic: c.Name, User: User{ID: id}})
	}
	return events, nil
}

// newMembers are those of a list who have not joined, each of them once.
func newMembers(s State, userIDs []string) []string {
	list := make([]string, 0, len(userIDs))
	seen := make(map[string]bool, len(userIDs))
	for _, id := range userIDs {
		if !seen[id] && !s.Has(id) {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list
}

func validate(name string, userIDs []string) error {
	var errs []domain.FieldError
	if !domain.IsTitle(name, MaxName) {
		errs = append(errs, domain.FieldError{Field: "topic", Message: fmt.Sprintf("must be 1 to %d characters without control characters", MaxName)})
	}
	if len(userIDs) > MostAtOnce {
		errs = append(errs, domain.FieldError{Field: "userIds", Message: fmt.Sprintf("must be at most %d at once", MostAtOnce)})
	}
	for i, id := range userIDs {
		if len(errs) < 2 && !domain.IsTitle(id, MaxUser) { // a long list has as many faults
			errs = append(errs, domain.FieldError{Field: fmt.Sprintf("userIds[%d]", i), Message: fmt.Sprintf("must be the id of a user, of at most %d characters", MaxUser)})
		}
	}
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Created:
		members := slices.Clone(e.UserIDs)
		slices.Sort(members)
		return State{Name: e.Topic, Members: members}
	case Joined:
		if at, there := slices.BinarySearch(s.Members, e.User.ID); !there {
			s.Members = slices.Concat(s.Members[:at], []string{e.User.ID}, s.Members[at:])
		}
	}
	return s
}

type (
	// Created says that a topic was made, and who its first members are.
	Created struct {
		Topic   string   `json:"topic"`
		UserIDs []string `json:"userIds"`
	}
	// Joined says that one more user receives what is sent to a topic.
	Joined struct {
		Topic string `json:"topic"`
		User  User   `json:"user"`
	}
	// User is a member.
	User struct {
		ID string `json:"id"`
	}
)

// EventType implements domain.Event.
func (Created) EventType() string { return "events.userTopics.created" }

// EventType implements domain.Event.
func (Joined) EventType() string { return "events.userTopics.joined" }
