// Package name is a word that only one owner can have on the whole platform: a
// mail address, an identity at a provider. The name is an aggregate of its own,
// so that the log decides who has it, whichever nodes ask at the same time.
package name

import (
	"crypto/sha256"
	"encoding/hex"

	"svc/domain"
)

// Decider is the rule of names.
var Decider = domain.Decider[State, Command]{Kind: "name", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of the name with this value among those of a kind.
// It is told by its hash: a name may be personal, and the log is for ever.
func Stream(kind, value string) domain.StreamID {
	sum := sha256.Sum256([]byte(kind + "\x00" + value))
	return Decider.Stream(domain.Platform, hex.EncodeToString(sum[:16]))
}

// State is who has the name. The zero State is a free one.
type State struct {
	Owner string `json:"owner,omitempty"`
}

// Command is what can be asked of a name.
type Command interface{ nameCommand() }

type (
	// Claim gives the name to Owner. Taking what one has does nothing.
	Claim struct{ Kind, Owner string }
	// Release frees the name if Owner has it.
	Release struct{ Kind, Owner string }
)

func (Claim) nameCommand()   {}
func (Release) nameCommand() {}

type (
	// Claimed says that somebody has the name from now on.
	Claimed struct {
		Kind  string `json:"kind"`
		Owner string `json:"owner"`
	}
	// Released says that the name is free.
	Released struct {
		Kind  string `json:"kind"`
		Owner string `json:"owner"`
	}
)

// EventType implements domain.Event.
func (Claimed) EventType() string { return "names.taken" }

// EventType implements domain.Event.
func (Released) EventType() string { return "names.released" }

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Claim:
		switch s.Owner {
		case c.Owner:
			return nil, nil
		case "":
			return []domain.Event{Claimed(c)}, nil
		}
		return nil, domain.Refuse(domain.CodeAlreadyExists, "this %s is used already", c.Kind).With("field", c.Kind)
	case Release:
		if s.Owner != c.Owner {
			return nil, nil
		}
		return []domain.Event{Released(c)}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "name: unknown command %T", cmd)
	}
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Claimed:
		return State{Owner: e.Owner}
	case Released:
		return State{}
	}
	return s
}
