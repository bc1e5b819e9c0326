// Package catalog is the one table of event types.
package catalog

import (
	"svc/domain"
	"svc/domain/accesstoken"
	"svc/domain/activity"
	"svc/domain/apikey"
	"svc/domain/app"
	"svc/domain/file"
	"svc/domain/kbdocument"
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
		domain.Describe[domain.Sealed](domain.State, "The log ended in a commit that a power cut left incomplete. That commit has no effect.").Internal(),
		domain.Describe[name.Claimed](domain.State, "A unique name, such as a mail address, was claimed.").Internal(),
		domain.Describe[name.Released](domain.State, "A unique name was released.").Internal(),
		domain.Describe[activity.Failure](domain.Activity, "A request or a run failed in a workspace."),
		domain.Describe[activity.Interaction](domain.Activity, "A trigger started an automation: an endpoint, an event, a schedule, a page or a test."),
		domain.Describe[activity.Executed](domain.Activity, "An automation was executed. Its payload and output are erased after some time."),
		domain.Describe[activity.TreeStarted](domain.Activity, "A node started an automation, with everything that it calls.").Internal(),
		domain.Describe[activity.EndpointCalled](domain.Activity, "The endpoint of an automation was called."),
		domain.Describe[activity.ScheduleFired](domain.Activity, "A schedule fired."),
		domain.Describe[activity.Scheduled](domain.Activity, "The schedules of an automation were registered."),
		domain.Describe[activity.WaitPending](domain.Activity, "A run waits for an event, or sleeps."),
		domain.Describe[activity.WaitKept](domain.Activity, "A run still waits; its first event about the wait is erased by the cleanup.").Internal(),
		domain.Describe[activity.WaitFulfilled](domain.Activity, "The event that a run waited for arrived."),
		domain.Describe[activity.WaitExpired](domain.Activity, "A wait timed out."),
		domain.Describe[activity.FetchFailed](domain.Activity, "A request of an automation got an error, or no answer."),
		domain.Describe[activity.Replayed](domain.Activity, "A recorded run was replayed. Nothing was sent."),
		domain.Describe[activity.CollectionUpdated](domain.Activity, "The declaration of a collection was created or changed."),
		domain.Describe[activity.Dropped](domain.Activity, "The cleanup erased activity events.").Internal(),
		domain.Describe[activity.DeliveriesDropped](domain.Activity, "The cleanup erased records of deliveries.").Internal(),
		domain.Describe[activity.Cleaned](domain.Activity, "A cleanup job ended."),
		domain.Describe[user.LoginSucceeded](domain.Activity, "Somebody signed in."),
		domain.Describe[user.LoginFailed](domain.Activity, "A sign-in was refused."),
		domain.Describe[user.CodeAccepted](domain.State, "A code of a second factor was accepted. It cannot be used again."),
		domain.Describe[user.MFAFailed](domain.Activity, "A code of a second factor was wrong, or was used before."),
		domain.Describe[user.PasswordResetRequested](domain.Activity, "Somebody requested a mail with a link to set a new password."),
		domain.Describe[user.PasswordReset](domain.State, "A new password was set with the link of a mail."),
		domain.Describe[user.SignedUp](domain.State, "Somebody created an account."),
		domain.Describe[user.Created](domain.State, "An account was created at the first start, by a super admin, by an identity provider, or for a visitor."),
		domain.Describe[user.Updated](domain.State, "An account changed."),
		domain.Describe[user.Deleted](domain.State, "An account was deleted."),
		domain.Describe[accesstoken.Created](domain.State, "A user created an access token."),
		domain.Describe[accesstoken.Deleted](domain.State, "An access token was revoked."),
		domain.Describe[keyring.Updated](domain.State, "Signing keys of the gateway were added or removed."),
		domain.Describe[keyring.RuntimeUpdated](domain.State, "Signing keys of the runtime were added or removed."),
		domain.Describe[session.Ended](domain.State, "A session was ended before it expired."),
		domain.Describe[workspace.Created](domain.State, "A workspace was created."),
		domain.Describe[workspace.Updated](domain.State, "Settings of a workspace changed."),
		domain.Describe[workspace.Configured](domain.State, "The config of a workspace changed."),
		domain.Describe[workspace.BlocksUpdated](domain.State, "The blocks of a workspace changed."),
		domain.Describe[workspace.EventsUpdated](domain.State, "The event types of a workspace changed."),
		domain.Describe[workspace.Duplicated](domain.State, "A workspace was created as a copy of another one."),
		domain.Describe[workspace.Deleted](domain.State, "A workspace was deleted. It can be restored for some time."),
		domain.Describe[workspace.Undeleted](domain.State, "A deleted workspace was restored."),
		domain.Describe[workspace.Staged](domain.State, "Documents of a large import were staged for its last event.").Internal(),
		domain.Describe[workspace.Imported](domain.State, "An import replaced content of a workspace in one step."),
		domain.Describe[workspace.Restored](domain.State, "Earlier content of a workspace was restored."),
		domain.Describe[workspace.SecretsUpdated](domain.State, "Secrets of a workspace were set or removed."),
		domain.Describe[workspace.Locked](domain.State, "A workspace was locked for writing."),
		domain.Describe[workspace.Unlocked](domain.State, "The write lock of a workspace ended."),
		domain.Describe[workspace.Published](domain.State, "A version of a workspace was saved to a repository."),
		domain.Describe[workspace.VersionDeleted](domain.State, "The record of a version of a workspace was deleted."),
		domain.Describe[workspace.Marked](domain.State, "A push is going to put this commit on the intermediate branch: the commit belongs to the workspace.").Internal(),
		domain.Describe[workspace.Intended](domain.State, "A push is going to be sent. A node that takes over checks whether it was.").Internal(),
		domain.Describe[operation.Started](domain.State, "A push, a pull, an import or a bulk run started.").Internal(),
		domain.Describe[operation.Progress](domain.State, "A step of an operation started, ended or failed."),
		domain.Describe[operation.CancelRequested](domain.State, "Somebody asked an operation to stop.").Internal(),
		domain.Describe[operation.Resumed](domain.State, "Another node took an operation over.").Internal(),
		domain.Describe[operation.Advanced](domain.State, "The progress of an operation with many items.").Internal(),
		domain.Describe[operation.Ended](domain.State, "An operation ended.").Internal(),
		domain.Describe[operation.BulkImportStarted](domain.State, "A bulk import was planned."),
		domain.Describe[operation.BulkImportProgress](domain.State, "A bulk import finished one workspace."),
		domain.Describe[operation.BulkImportCompleted](domain.State, "A bulk import ended."),
		domain.Describe[operation.BulkPushStarted](domain.State, "A bulk push was planned."),
		domain.Describe[operation.BulkPushProgress](domain.State, "A bulk push finished one workspace."),
		domain.Describe[operation.BulkPushCompleted](domain.State, "A bulk push ended."),
		domain.Describe[workspace.AutomationCreated](domain.State, "An automation was created."),
		domain.Describe[workspace.AutomationUpdated](domain.State, "An automation was changed or renamed."),
		domain.Describe[workspace.AutomationDeleted](domain.State, "An automation was deleted."),
		domain.Describe[workspace.PageCreated](domain.State, "A page was created."),
		domain.Describe[workspace.PageUpdated](domain.State, "A page was changed or renamed."),
		domain.Describe[workspace.PageDeleted](domain.State, "A page was deleted."),
		domain.Describe[workspace.KnowledgeBaseCreated](domain.State, "A knowledge base was created."),
		domain.Describe[workspace.KnowledgeBaseUpdated](domain.State, "The settings of a knowledge base were changed, or it was renamed."),
		domain.Describe[workspace.KnowledgeBaseDeleted](domain.State, "A knowledge base was deleted."),
		domain.Describe[workspace.TestCreated](domain.State, "A test suite was created."),
		domain.Describe[workspace.TestUpdated](domain.State, "A test suite was changed, or renamed."),
		domain.Describe[workspace.TestDeleted](domain.State, "A test suite was deleted."),
		domain.Describe[workspace.AgentCreated](domain.State, "An agent was created."),
		domain.Describe[workspace.AgentUpdated](domain.State, "An agent was changed, or renamed."),
		domain.Describe[workspace.AgentDeleted](domain.State, "An agent was deleted."),
		domain.Describe[workspace.AgentPublished](domain.State, "Callers get an agent as it is now."),
		domain.Describe[workspace.AgentUnpublished](domain.State, "Callers do not get an agent any more."),
		domain.Describe[workspace.KnowledgeBaseShared](domain.State, "A knowledge base was shared with somebody, or the share was changed."),
		domain.Describe[workspace.KnowledgeBaseUnshared](domain.State, "A knowledge base is no longer shared with somebody."),
		domain.Describe[workspace.AgentShared](domain.State, "An agent was shared with somebody, or the share was changed."),
		domain.Describe[workspace.AgentUnshared](domain.State, "An agent is no longer shared with somebody."),
		domain.Describe[workspace.PageShared](domain.State, "A page was shared with somebody, or the share was changed."),
		domain.Describe[workspace.PageUnshared](domain.State, "A page is no longer shared with somebody."),
		domain.Describe[workspace.Installed](domain.State, "An app was installed in a workspace."),
		domain.Describe[workspace.InstanceConfigured](domain.State, "An app instance was changed or renamed."),
		domain.Describe[workspace.Uninstalled](domain.State, "An app instance was removed."),
		domain.Describe[workspace.Secured](domain.State, "The security document of a workspace was replaced."),
		domain.Describe[workspace.Shared](domain.State, "A workspace was shared with somebody, or the share was changed."),
		domain.Describe[workspace.Unshared](domain.State, "A workspace is no longer shared with somebody."),
		domain.Describe[file.Uploaded](domain.State, "A file was uploaded to a workspace."),
		domain.Describe[file.Updated](domain.State, "The name, the settings or the content of a file changed."),
		domain.Describe[file.Deleted](domain.State, "A file was deleted by somebody, or expired."),
		domain.Describe[file.Counted](domain.State, "The total size of all files of a workspace changed.").Internal(),
		domain.Describe[operation.CrawlStarted](domain.State, "A site of a knowledge base is read."),
		domain.Describe[operation.CrawlProgress](domain.State, "How far the reading of a site is, at most every five seconds."),
		domain.Describe[operation.CrawlCompleted](domain.State, "The reading of a site has ended."),
		domain.Describe[operation.ReindexStarted](domain.State, "Documents of a knowledge base are processed again."),
		domain.Describe[operation.ReindexCompleted](domain.State, "Documents of a knowledge base were processed again."),
		domain.Describe[kbdocument.Added](domain.State, "A document was added to a knowledge base."),
		domain.Describe[kbdocument.Updated](domain.State, "The content of a document of a knowledge base was replaced, or what its owner says about it."),
		domain.Describe[kbdocument.Deleted](domain.State, "A document of a knowledge base was deleted or expired, or many were deleted at once."),
		domain.Describe[kbdocument.ReadyEvent](domain.State, "The newest revision of a document can be searched."),
		domain.Describe[kbdocument.FailedEvent](domain.State, "The newest revision of a document cannot be searched."),
		domain.Describe[kbdocument.Removed](domain.State, "One of many documents of a knowledge base was deleted.").Internal(),
		domain.Describe[kbdocument.Requeued](domain.State, "A document is to be processed again.").Internal(),
		domain.Describe[kbdocument.Begun](domain.State, "A node began to process a document.").Internal(),
		domain.Describe[kbdocument.Postponed](domain.State, "A document could not be processed now, and is processed later.").Internal(),
		domain.Describe[app.Published](domain.State, "A workspace was published as an app, or a new version of it."),
		domain.Describe[app.Deleted](domain.State, "An app is no longer published."),
		domain.Describe[apikey.Created](domain.State, "An API key of a workspace was created."),
		domain.Describe[apikey.Updated](domain.State, "The rules, the name or the expiry of an API key changed."),
		domain.Describe[apikey.Deleted](domain.State, "An API key was revoked."),
		domain.Describe[natsuser.Created](domain.State, "An external program was allowed to watch events over NATS."),
		domain.Describe[natsuser.Deleted](domain.State, "An external program may no longer watch events over NATS."),
		domain.Describe[subscription.Created](domain.State, "A subscription was created: events of a workspace are sent to an address."),
		domain.Describe[subscription.Updated](domain.State, "The settings or the secret of a subscription changed."),
		domain.Describe[subscription.Deleted](domain.State, "A subscription was deleted."),
		domain.Describe[subscription.Disabled](domain.State, "A subscription was disabled by the platform, because its receiver failed for too long."),
		domain.Describe[subscription.Tested](domain.Activity, "The event that a test of a subscription sends."),
		domain.Describe[subscription.Attempted](domain.Activity, "The state of deliveries to a subscription.").Internal().ErasedAlone(),
		domain.Describe[topic.Created](domain.State, "A user topic was created: events can be sent to all users who join it."),
		domain.Describe[topic.Joined](domain.State, "A user joined a topic and receives its events."),
	}
}

// Events returns the registry of Table.
func Events() domain.Registry { return domain.NewRegistry(Table()...) }
