package node

import (
	"context"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/cmd/settings"
	"svc/commands/collections"
	"svc/commands/contexts"
	"svc/commands/egress"
	"svc/commands/parked"
	"svc/commands/programs"
	"svc/commands/recording"
	"svc/commands/runtime"
	"svc/commands/sandbox"
	"svc/commands/throttle"
	"svc/domain"
	"svc/domain/workspace"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/rows"
)

// running are the parts that automations take.
type running struct {
	secrets     *secretValues // repositories take them too
	programs    *programs.Library
	contexts    *contexts.Contexts
	runtime     *runtime.Runtime
	out         *egress.Egress // for fetch
	sandbox     *sandbox.Sandbox
	rows        *projections.DB // of collections
	rowModel    *rows.Model
	collections *collections.Collections
	parked      *parked.Parked
	records     *recording.Store
	replays     *recording.Replayer
	process     string            // this node since its start, as the others know it
	alive       *jetstream.Bucket // which of them are there; nil: there are no others

	cancelled *jetstream.Bucket // which runs were cancelled, for trees that are nobody's at that moment
}

// openRuntime opens what runs automations.
func (n *Node) openRuntime(ctx context.Context) error {
	a := &n.running
	a.parked = &parked.Parked{Store: n.store.Data, Vault: n.places.vault, Log: n.log}
	a.records = &recording.Store{Data: n.store.Data, Vault: n.places.vault, Now: time.Now}
	a.process = n.processID()
	a.contexts = contexts.New(contexts.Options{Store: n.store.Data, Vault: n.places.vault, Log: n.log})
	var err error
	a.programs, err = programs.New(programs.Options{
		Contents: &contents{library: n.places.library}, Secrets: a.secrets, Vault: n.places.vault, Rules: n.places.content.Rules,
		Defaults: func() programs.Defaults {
			c := n.config().Runtime
			return programs.Defaults{Workspaces: c.WorkspaceConfig, Apps: c.AppConfig}
		},
		Log: n.log,
	})
	if err != nil {
		return err
	}
	n.places.content.Room = n.room
	effects, err := n.effects()
	if err != nil {
		return err
	}
	a.runtime, err = runtime.New(runtime.Options{
		Store: n.store.Log, Payloads: n.store.Payloads, Contexts: a.contexts, Parked: a.parked, Recordings: a.records, Secrets: a.secrets, Process: a.process,
		Throttles: &throttle.Throttle{Rate: n.pace}, Settings: n.runtimeSettings, Registry: registry{n}, Effects: effects, Cancelled: n.wasCancelled, Recorded: n.wasRecorded,
		Host: n.host("runtime"), Now: time.Now, NewID: newID, Log: n.log,
	})
	if err != nil {
		return err
	}
	a.replays = &recording.Replayer{Store: a.records, Log: n.store.Log, Secrets: a.secrets, Code: a.sandbox, NewID: newID, Logger: n.log}
	if err := n.appear(ctx); err != nil {
		return err
	}
	n.closeWith("runtime", a.runtime.Close)
	n.repeat("parked trees", parkedEvery, "where trees stood that are over is not all forgotten yet", n.sweepParked)
	n.repeat("contexts", time.Minute, "contexts whose time is over are not all erased yet", n.sweepContexts)
	return n.hearCancels()
}

// wasRecorded reports whether one of several events of a workspace is on the log, as any node
// wrote it.
func (n *Node) wasRecorded(ctx context.Context, workspaceID string, eventIDs ...string) (there bool, err error) {
	look := func() error {
		return n.models.View(func(r projections.Reader) (err error) {
			for i := 0; i < len(eventIDs) && !there && err == nil; i++ {
				_, there, err = projections.FeedOf(domain.Activity).ByID(r, workspaceID, eventIDs[i])
			}
			return err
		})
	}
	if err := look(); err != nil || there {
		return there, err
	}
	if err := n.everything(ctx); err != nil {
		return false, err
	}
	err = look()
	return there, err
}

// sweepContexts erases what is left of contexts whose time is over.
func (n *Node) sweepContexts(ctx context.Context) error {
	_, err := n.running.contexts.Sweep(ctx, time.Now())
	return err
}

// cancelBroadcast is the air in which nodes tell each other which runs are to end.
const cancelBroadcast = "cancels"

// hearCancels ends runs on this node that are cancelled on any.
func (n *Node) hearCancels() error {
	stop, err := n.store.Broadcast(cancelBroadcast).Listen(func(body []byte) {
		workspaceID, correlationID, _ := strings.Cut(string(body), "\x00")
		n.running.runtime.Cancel(workspaceID, correlationID)
	})
	if err != nil {
		return err
	}
	n.closeWith("cancels", func(context.Context) error {
		stop()
		return nil
	})
	return nil
}

// cancelRun ends a run, on whichever nodes it is.
func (n *Node) cancelRun(workspaceID, correlationID string) error {
	if err := n.noteCancel(workspaceID, correlationID); err != nil {
		return err
	}
	return n.store.Broadcast(cancelBroadcast).Send([]byte(workspaceID + "\x00" + correlationID))
}

func newID() string { return ulid.Make().String() }

// pace is how fast a workspace may do something.
func (n *Node) pace(workspaceID string, what throttle.What) throttle.Rate {
	c := n.config().Runtime
	rates := throttle.Rates{
		Disabled:   c.RateLimitDisabled,
		Executions: throttle.Rate{PerSecond: float64(c.RateAutomations), Burst: float64(c.BurstAutomations)},
		Emits:      throttle.Rate{PerSecond: float64(c.RateEmits), Burst: float64(c.BurstEmits)},
		Fetches:    throttle.Rate{PerSecond: float64(c.RateFetchs), Burst: float64(c.BurstFetchs)},
		Repeats:    throttle.Rate{PerSecond: float64(c.RateRepeats), Burst: float64(c.BurstRepeats)},
	}
	if set, err := n.running.secrets.Platform(context.Background(), workspaceID); err == nil && len(set) > 0 {
		rates = rates.Overridden(func(name string) string { return set[name] })
	}
	return rates.Of(what)
}

// runtimeForm gives the live settings in the runtime's form. It is made once: every tree
// asks for it.
type runtimeForm struct {
	of       *settings.Config
	settings runtime.Settings
}

// runtimeSettings returns the live settings in the runtime's form.
func (n *Node) runtimeSettings() runtime.Settings {
	c, made := n.config(), n.runtimeForm.Load()
	if made == nil || made.of != c {
		made = &runtimeForm{of: c, settings: runtimeSettings(c)}
		n.runtimeForm.Store(made)
	}
	return made.settings
}

func runtimeSettings(c *settings.Config) runtime.Settings {
	r := &c.Runtime
	return runtime.Settings{
		MaxDepth: r.MaxSuccessiveCalls, MaxActive: r.ExecutionMaxActive, MaxAttempts: r.ExecutionMaxAttempts,
		Wait: r.WaitDefaultTimeout, MaxWait: r.WaitMaxTimeout,
		RunExpires: r.ContextRunExpire, VisitorExpires: r.ContextSessionExpire, SocketExpires: r.ContextSocketExpire, SessionExpires: c.Auth.SessionCookieMaxAge,
		Sizes: map[string]int{
			"run": int(r.ContextRunSize), "session": int(r.ContextSessionSize), "user": int(r.ContextUserSize), "global": int(r.ContextGlobalSize),
			"socket": int(r.ContextSocketSize), "config": int(r.ContextConfigSize), "local": int(r.ContextLocalSize),
		},
		MaxEvent: c.Broker.EmitMaxLen, MaxExecuted: c.Broker.EmitExecutedMaxLen, KeepAlive: r.WebhooksKeepalive, CodeTimeout: r.CodeTimeout,
		Locale: r.Locale, Zone: r.Timezone, GlobalVars: r.GlobalVars,
		APIURL: c.HTTP.APIURL, StudioURL: c.HTTP.ConsoleURLs[0], PagesURL: c.HTTP.Origin() + "/pages", PagesHost: c.HTTP.PagesHost,
		Recording: r.Recording, MaxRecording: int(r.RecordingMaxSize), RecordingKept: r.RecordingKept,
	}
}

// contents finds what can run. It implements programs.Contents.
type contents struct{ *library }

// Moment implements programs.Contents.
func (c *contents) Moment() uint64 { return c.models.Position().State }

// Workspace implements programs.Contents.
func (c *contents) Workspace(id string) (w programs.Workspace, ok bool, err error) {
	err = c.models.View(func(r projections.Reader) error {
		rec, found, err := projections.Workspaces{}.Record(r, id)
		ok = found && (rec.Deleted == nil || time.Now().Before(lastWords(rec.Deleted)))
		if err != nil || !ok {
			return err
		}
		w = programs.Workspace{ID: id, Slug: rec.Meta.Slug, Name: rec.Meta.Name, Revision: rec.Dynamic.ContentRevision, Deleted: rec.Deleted != nil}
		w.CollectionSlugs, err = projections.Instances{}.KeptSlugs(r, id)
		return err
	})
	return w, ok, err
}

// goodbye is how long the end of a workspace can start something at least, however soon it
// may be erased.
const goodbye = time.Hour

// lastWords is until when what the end of a workspace starts can be begun.
func lastWords(d *workspace.Gone) time.Time {
	if least := d.At.Add(goodbye); least.After(d.Until) {
		return least
	}
	return d.Until
}

// Edition implements programs.Contents.
func (c *contents) Edition(slug, version string) (workspaceID string, revision uint64, err error) {
	err = c.models.View(func(r projections.Reader) error {
		app, found, err := projections.Apps{}.RunningVersion(r, slug, version)
		workspaceID, revision = app.WorkspaceID, found
		return err
	})
	return workspaceID, revision, err
}
