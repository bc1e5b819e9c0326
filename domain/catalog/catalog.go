// Package catalog is the one table of event types.
package catalog

import (
	"svc/domain"
	"svc/domain/accesstoken"
	"svc/domain/activity"
	"svc/domain/apikey"
	"svc/domain/app"
	"svc/domain/file"
	"svc/domain/keyring"
	"svc/domain/name"
	"svc/domain/natsuser"
	"svc/domain/operation"
	"svc/domain/session"
	"svc/domain/subscription"
	"svc/domain/topic"
	"svc/domain/user"
	"svc/domain/workspace"
)

// Table lists every event type the platform writes, in the order of the
// catalogue. A row never leaves it: a stored event must always open.
func Table() []domain.Fact {
	return []domain.Fact{
		domain.Describe[domain.Sealed](domain.State, "The log ended in a commit that a power cut left incomplete; that commit never counted.").Internal(),
		domain.Describe[name.Taken](domain.State, "A name that only one can have, such as a mail address, was taken.").Internal(),
		domain.Describe[name.Released](domain.State, "A name that only one can have is free again.").Internal(),
		domain.Describe[activity.Failure](domain.Activity, "A request or a run failed in a workspace."),
		domain.Describe[activity.Interaction](domain.Activity, "Something made an automation run: an endpoint, an event, a schedule, a page or a test."),
		domain.Describe[activity.Executed](domain.Activity, "An automation was executed; what it was given and gave is erased after a while."),
		domain.Describe[activity.TreeStarted](domain.Activity, "An automation and what it calls began on a node.").Internal(),
		domain.Describe[activity.EndpointCalled](domain.Activity, "The endpoint of an automation was called."),
		domain.Describe[activity.ScheduleFired](domain.Activity, "The time of a schedule came."),
		domain.Describe[activity.Scheduled](domain.Activity, "The schedules of an automation were registered."),
		domain.Describe[activity.WaitPending](domain.Activity, "A run waits for an event, or for time to pass."),
		domain.Describe[activity.WaitKept](domain.Activity, "A run still waits; the event that said so first is erased.").Internal(),
		domain.Describe[activity.WaitFulfilled](domain.Activity, "The event that a run waited for came."),
		domain.Describe[activity.WaitExpired](domain.Activity, "The time of a wait is over."),
		domain.Describe[activity.FetchFailed](domain.Activity, "A request of an automation was answered with an error, or not at all."),
		domain.Describe[activity.Replayed](domain.Activity, "A recorded run was executed again, with nothing leaving."),
		domain.Describe[activity.CollectionUpdated](domain.Activity, "A collection was declared or altered."),
		domain.Describe[activity.Dropped](domain.Activity, "Activity events were erased by the cleanup, and are known no more.").Internal(),
		domain.Describe[activity.DeliveriesDropped](domain.Activity, "Records of deliveries were erased by the cleanup, and are known no more.").Internal(),
		domain.Describe[activity.Cleaned](domain.Activity, "A run of the cleanup erased what is old."),
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
		domain.Describe[workspace.Configured](domain.State, "The config of a workspace changed."),
		domain.Describe[workspace.BlocksUpdated](domain.State, "The blocks of a workspace changed."),
		domain.Describe[workspace.EventsUpdated](domain.State, "The event types of a workspace changed."),
		domain.Describe[workspace.Duplicated](domain.State, "A workspace was made as a copy of another."),
		domain.Describe[workspace.Deleted](domain.State, "A workspace was deleted; it can be brought back for a while."),
		domain.Describe[workspace.Undeleted](domain.State, "A deleted workspace was brought back."),
		domain.Describe[workspace.Staged](domain.State, "Documents of a large import were put down; the import takes them up.").Internal(),
		domain.Describe[workspace.Imported](domain.State, "An import switched the content of a workspace in one step."),
		domain.Describe[workspace.Restored](domain.State, "An earlier content of a workspace was put back."),
		domain.Describe[workspace.SecretsUpdated](domain.State, "Secrets of a workspace were set or removed."),
		domain.Describe[workspace.Locked](domain.State, "A workspace was locked for writing."),
		domain.Describe[workspace.Unlocked](domain.State, "The write lock of a workspace ended."),
		domain.Describe[workspace.Published](domain.State, "A version of a workspace was saved to a repository."),
		domain.Describe[workspace.VersionDeleted](domain.State, "A version of a workspace was forgotten."),
		domain.Describe[workspace.Marked](domain.State, "A commit that is about to be put on the intermediate branch is the workspace's own.").Internal(),
		domain.Describe[workspace.Intended](domain.State, "A push is about to be sent; who takes over finds out what became of it.").Internal(),
		domain.Describe[operation.Started](domain.State, "A push, a pull, an import or a bulk run began.").Internal(),
		domain.Describe[operation.Progress](domain.State, "A step of an operation began, was done or failed."),
		domain.Describe[operation.CancelRequested](domain.State, "Somebody asked an operation to stop.").Internal(),
		domain.Describe[operation.Resumed](domain.State, "Another node goes on with an operation.").Internal(),
		domain.Describe[operation.Advanced](domain.State, "How far an operation is that goes through many things.").Internal(),
		domain.Describe[operation.Ended](domain.State, "An operation ended.").Internal(),
		domain.Describe[operation.BulkImportStarted](domain.State, "An import of many workspaces has its plan."),
		domain.Describe[operation.BulkImportProgress](domain.State, "One workspace of an import of many is done."),
		domain.Describe[operation.BulkImportCompleted](domain.State, "An import of many workspaces has ended."),
		domain.Describe[operation.BulkPushStarted](domain.State, "A push of many workspaces has its plan."),
		domain.Describe[operation.BulkPushProgress](domain.State, "One workspace of a push of many is done."),
		domain.Describe[operation.BulkPushCompleted](domain.State, "A push of many workspaces has ended."),
		domain.Describe[workspace.AutomationCreated](domain.State, "An automation was created."),
		domain.Describe[workspace.AutomationUpdated](domain.State, "An automation was changed or renamed."),
		domain.Describe[workspace.AutomationDeleted](domain.State, "An automation was deleted."),
		domain.Describe[workspace.PageCreated](domain.State, "A page was created."),
		domain.Describe[workspace.PageUpdated](domain.State, "A page was changed or renamed."),
		domain.Describe[workspace.PageDeleted](domain.State, "A page was deleted."),
		domain.Describe[workspace.PageShared](domain.State, "A page was shared with somebody, or shared otherwise than before."),
		domain.Describe[workspace.PageUnshared](domain.State, "A page is no longer shared with somebody."),
		domain.Describe[workspace.Installed](domain.State, "An app was installed in a workspace."),
		domain.Describe[workspace.InstanceConfigured](domain.State, "An app instance was changed or renamed."),
		domain.Describe[workspace.Uninstalled](domain.State, "An app instance was removed."),
		domain.Describe[workspace.Secured](domain.State, "The security document of a workspace was replaced."),
		domain.Describe[workspace.Shared](domain.State, "A workspace was shared with somebody, or shared otherwise than before."),
		domain.Describe[workspace.Unshared](domain.State, "A workspace is no longer shared with somebody."),
		domain.Describe[file.Uploaded](domain.State, "A file was uploaded to a workspace."),
		domain.Describe[file.Updated](domain.State, "The name, the terms or the content of a file changed."),
		domain.Describe[file.Deleted](domain.State, "A file was deleted, by somebody or because its time was over."),
		domain.Describe[file.Counted](domain.State, "How many bytes the files of a workspace have together.").Internal(),
		domain.Describe[app.Published](domain.State, "A workspace was published as an app, or a new version of it."),
		domain.Describe[app.Deleted](domain.State, "An app is published no more."),
		domain.Describe[apikey.Created](domain.State, "An API key was made in a workspace."),
		domain.Describe[apikey.Updated](domain.State, "What an API key may do, its name or its time changed."),
		domain.Describe[apikey.Deleted](domain.State, "An API key was revoked."),
		domain.Describe[natsuser.Created](domain.State, "A program of others was let in, to watch events over NATS."),
		domain.Describe[natsuser.Deleted](domain.State, "A program of others was shut out: it watches no events any more."),
		domain.Describe[subscription.Created](domain.State, "A subscription was made: events of a workspace are sent to an address."),
		domain.Describe[subscription.Updated](domain.State, "The terms or the secret of a subscription changed."),
		domain.Describe[subscription.Deleted](domain.State, "A subscription was deleted."),
		domain.Describe[subscription.Disabled](domain.State, "A subscription was disabled by the platform, because its receiver failed for too long."),
		domain.Describe[subscription.Tested](domain.Activity, "A subscription was tested: the event that is sent."),
		domain.Describe[subscription.Attempted](domain.Activity, "Where a delivery to a subscription stands.").Internal(),
		domain.Describe[topic.Created](domain.State, "A user topic was made: events can be sent to all who join it."),
		domain.Describe[topic.Joined](domain.State, "A user joined a topic, and receives what is sent to it."),
	}
}

// Events returns the registry of Table.
func Events() domain.Registry { return domain.NewRegistry(Table()...) }
