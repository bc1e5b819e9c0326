package agents

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/domain"
)

// Conversations are found by an index: an entry for each with its agent, and one with its owner, so that a list costs the
// names in it and the conversations that it shows, however many others there are. An entry is named as its conversation
// and says where that is. It has no text, and is written before the conversation: one without a conversation is left
// over from a failure.
const (
	indexKind       = "conversations-" // with what its entries have in common: an agent, or an agent and an owner
	indexMarkerKind = "conversation-index"
	indexMarker     = "complete" // says that the conversations of a workspace from before there was an index are in it
)

// entriesOf returns the index that the conversations with an agent are in, or those of one owner with it.
func entriesOf(prefix string) string { return indexKind + strings.TrimSuffix(prefix, "-") }

// indexEntries returns the entries of a conversation.
func indexEntries(workspaceID, address string) []domain.StreamID {
	owner := address[:strings.LastIndex(address, "-")]
	id := address[len(owner)+1:]
	agent := owner[:strings.LastIndex(owner, "-")]
	return []domain.StreamID{{Scope: workspaceID, Kind: entriesOf(owner), ID: id}, {Scope: workspaceID, Kind: entriesOf(agent), ID: id}}
}

// addToIndex adds a conversation to the index.
func (s *store) addToIndex(ctx context.Context, workspaceID, address string) error {
	for _, id := range indexEntries(workspaceID, address) {
		if err := s.data.Put(ctx, id, s.newID(), []byte(address), func(uint64, string) {}); err != nil {
			return err
		}
	}
	return nil
}

// dropFromIndex removes a conversation from the index.
func (s *store) dropFromIndex(ctx context.Context, workspaceID, address string) error {
	for _, id := range indexEntries(workspaceID, address) {
		if err := s.data.Drop(ctx, id, 0); err != nil {
			return err
		}
	}
	return nil
}

// dropErased removes a conversation from the index of which something was erased, unless that was an earlier state of it.
func (s *store) dropErased(ctx context.Context, workspaceID, address string) error {
	if _, err := s.load(ctx, workspaceID, address); !errors.Is(err, errNoConversation) {
		return err
	}
	return s.dropFromIndex(ctx, workspaceID, address)
}

// indexed returns the names of the conversations in an index, the newest first.
func (s *store) indexed(ctx context.Context, workspaceID, index string) ([]string, error) {
	if err := s.completeIndex(ctx, workspaceID); err != nil {
		return nil, err
	}
	names, err := s.data.IDs(ctx, workspaceID, index)
	slices.Sort(names)
	slices.Reverse(names)
	return names, err
}

// locate returns where the conversation with a name in an index is; "": there is none.
func (s *store) locate(ctx context.Context, workspaceID, index, name string) (address string, err error) {
	if err := s.completeIndex(ctx, workspaceID); err != nil {
		return "", err
	}
	return s.readEntry(ctx, domain.StreamID{Scope: workspaceID, Kind: index, ID: name})
}

func (s *store) readEntry(ctx context.Context, id domain.StreamID) (text string, err error) {
	err = s.data.Since(ctx, id, 0, func(_ uint64, _ bool, _ string, body []byte) error {
		text = string(body)
		return nil
	})
	return text, err
}

// completeIndex adds the conversations of a workspace from before there was an index, once.
func (s *store) completeIndex(ctx context.Context, workspaceID string) error {
	marker := domain.StreamID{Scope: workspaceID, Kind: indexMarkerKind, ID: indexMarker}
	if done, err := s.readEntry(ctx, marker); err != nil || done != "" {
		return err
	}
	all, err := s.data.IDs(ctx, workspaceID, conversationKind)
	if err != nil {
		return err
	}
	for _, address := range all {
		if known, err := s.readEntry(ctx, indexEntries(workspaceID, address)[1]); err != nil {
			return err
		} else if known != "" {
			continue
		}
		if err := s.addToIndex(ctx, workspaceID, address); err != nil {
			return err
		}
	}
	return s.data.Put(ctx, marker, s.newID(), []byte(indexMarker), func(uint64, string) {})
}

// leftOverAfter is how old an entry without a conversation is before it is removed: a younger one may be about to get it.
const leftOverAfter = time.Hour

// dropLeftOver removes an entry whose conversation is gone.
func (s *store) dropLeftOver(ctx context.Context, workspaceID, address, name string) error {
	made, err := ulid.ParseStrict(name)
	if err != nil || s.now().Sub(ulid.Time(made.Time())) < leftOverAfter {
		return nil
	}
	return s.dropFromIndex(ctx, workspaceID, address)
}
