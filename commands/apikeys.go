package commands

import (
	"context"
	"crypto/rand"
	"time"

	"svc/domain"
	"svc/domain/apikey"
)

// APIKeys makes, changes and revokes API keys.
type APIKeys struct {
	Engine *Engine
	Now    func() time.Time
}

// APIKey is a key after a command.
type APIKey = Execution[apikey.State]

// Create makes a key in a workspace and returns its value, which is kept nowhere.
func (k APIKeys) Create(ctx context.Context, workspaceID string, terms apikey.Terms) (made APIKey, value string, err error) {
	id := "key_" + NewID(ctx, 16)
	value = apikey.Prefix + rand.Text() + rand.Text()
	made, err = k.execute(ctx, workspaceID, id, apikey.Create{
		ID: id, WorkspaceID: workspaceID, Hash: domain.HashSecret(value), Last4: value[len(value)-4:], Terms: terms, Now: k.Now(),
	})
	return made, value, err
}

// Change replaces the terms of a key.
func (k APIKeys) Change(ctx context.Context, workspaceID, id string, terms apikey.Terms) (APIKey, error) {
	return k.execute(ctx, workspaceID, id, apikey.Change{Terms: terms, Now: k.Now()})
}

// Delete revokes a key.
func (k APIKeys) Delete(ctx context.Context, workspaceID, id string) (APIKey, error) {
	return k.execute(ctx, workspaceID, id, apikey.Delete{})
}

func (k APIKeys) execute(ctx context.Context, workspaceID, id string, cmd apikey.Command) (APIKey, error) {
	return Execute(ctx, k.Engine, apikey.Decider, apikey.Stream(workspaceID, id), cmd)
}
