package client

import (
	"context"
	"net/url"
	"strings"
)

// Workspace returns what the API calls a workspace that somebody names by its id
// or by its slug. A name that could be both is the id of a workspace that the
// caller may read, else a slug; slug:{slug} is always one.
func (c *Client) Workspace(ctx context.Context, name string) (string, error) {
	if strings.HasPrefix(name, slugPrefix) || name == "platform" {
		return name, nil
	}
	if !couldBeID(name) {
		return slugPrefix + name, nil
	}
	var found []struct {
		ID string `json:"id"`
	}
	if err := c.Get(ctx, "/workspaces?limit=1&ids="+url.QueryEscape(name), &found); err != nil {
		return "", err
	}
	if len(found) == 0 {
		return slugPrefix + name, nil
	}
	return found[0].ID, nil
}

const (
	slugPrefix = "slug:"
	idLength   = 7
)

func couldBeID(name string) bool {
	return len(name) == idLength && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
