// Package catalog is the one table of event types.
package catalog

import (
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/apikey"
	"svc/domain/name"
	"svc/domain/session"
	"svc/domain/workspace"
)

// Table lists every event type the platform writes, in the order of the
// catalogue. A row never leaves it: a stored event must always open.
func Table() []domain.Fact {
	return []domain.Fact{
		domain.Describe[domain.Sealed](domain.State, "The log ended in a commit that a power cut left incomplete; that commit never counted."),
		domain.Describe[name.Taken](domain.State, "A name that only one can have, such as a mail address, was taken."),
		domain.Describe[name.Released](domain.State, "A name that only one can have is free again."),
		domain.Describe[activity.Failure](domain.Activity, "A request or a run failed in a workspace."),
		domain.Describe[session.Ended](domain.State, "A session ended before its time."),
		domain.Describe[workspace.Created](domain.State, "A workspace was created."),
		domain.Describe[workspace.Updated](domain.State, "Settings of a workspace changed."),
		domain.Describe[workspace.Secured](domain.State, "The security document of a workspace was replaced."),
		domain.Describe[workspace.Shared](domain.State, "A workspace was shared with somebody, or shared otherwise than before."),
		domain.Describe[workspace.Unshared](domain.State, "A workspace is no longer shared with somebody."),
		domain.Describe[apikey.Created](domain.State, "An API key was made in a workspace."),
		domain.Describe[apikey.Updated](domain.State, "What an API key may do, its name or its time changed."),
		domain.Describe[apikey.Deleted](domain.State, "An API key was revoked."),
	}
}

// Events returns the registry of Table.
func Events() domain.Registry { return domain.NewRegistry(Table()...) }
