// Package catalog is the one table of event types.
package catalog

import (
	"svc/domain"
	"svc/domain/accesstoken"
	"svc/domain/activity"
	"svc/domain/apikey"
	"svc/domain/keyring"
	"svc/domain/name"
	"svc/domain/session"
	"svc/domain/user"
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
		domain.Describe[user.LoginSucceeded](domain.Activity, "Somebody signed in."),
		domain.Describe[user.LoginFailed](domain.Activity, "Somebody was not let in."),
		domain.Describe[user.CodeAccepted](domain.State, "A code of a second factor was shown; it counts once."),
		domain.Describe[user.MFAFailed](domain.Activity, "A code of a second factor was wrong, or was shown twice."),
		domain.Describe[user.PasswordResetRequested](domain.Activity, "A mail with a link to choose a new password was asked for."),
		domain.Describe[user.PasswordReset](domain.State, "A new password was chosen with the link of a mail."),
		domain.Describe[user.SignedUp](domain.State, "Somebody made an account."),
		domain.Describe[user.Created](domain.State, "An account was made at the first start, by a super admin, by a provider, or for a visitor."),
		domain.Describe[user.Updated](domain.State, "An account changed."),
		domain.Describe[user.Deleted](domain.State, "An account was deleted."),
		domain.Describe[accesstoken.Created](domain.State, "A user made an access token."),
		domain.Describe[accesstoken.Deleted](domain.State, "An access token was revoked."),
		domain.Describe[keyring.Updated](domain.State, "Signing keys came or left, for the gateways."),
		domain.Describe[keyring.RuntimeUpdated](domain.State, "Signing keys came or left, for the runtimes."),
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
