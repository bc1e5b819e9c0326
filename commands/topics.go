package commands

import (
	"context"

	"svc/domain/topic"
)

// Topics makes user topics and adds users to them.
type Topics struct{ Engine *Engine }

// Create makes a topic of a workspace with its first members. One that exists is left
// as it is, its members too.
func (t Topics) Create(ctx context.Context, workspaceID, name string, userIDs []string) error {
	return t.execute(ctx, workspaceID, name, topic.Create{Name: name, UserIDs: userIDs})
}

// Join adds users to a topic of a workspace. One that does not exist is made, or
// without create refused as not found.
func (t Topics) Join(ctx context.Context, workspaceID, name string, userIDs []string, create bool) error {
	return t.execute(ctx, workspaceID, name, topic.Join{Name: name, UserIDs: userIDs, Create: create})
}

func (t Topics) execute(ctx context.Context, workspaceID, name string, cmd topic.Command) error {
	_, err := Execute(ctx, t.Engine, topic.Decider, topic.Stream(workspaceID, name), cmd)
	return err
}
