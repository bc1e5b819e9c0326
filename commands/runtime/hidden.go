package runtime

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/commands/contexts"
	"svc/commands/programs"
	"svc/commands/sandbox"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// learned are the secrets that the run itself brought: inputs that are declared as secret,
// references that were followed, tokens. Whatever it triggers knows them too, on any node
// and after a restart: they are kept beside its contexts, and its events say that there
// are some. The secrets of the workspace and of its settings are none of them: every tree
// knows those.
type learned struct {
	mu    sync.Mutex
	all   []string
	kept  int // of them, the first ones
	own   int // of them, what this tree learned itself,
	bytes int // and how long that is
}

// A tree that has learned so many secrets, or so long ones, learns no more: each is looked
// for in all that the run tells, and kept with it.
const (
	mostLearned      = 1000
	mostLearnedBytes = 1 << 20
)

// errLearned says that somebody has more secrets than can be hidden.
var errLearned = automation.Raise(automation.InvalidInstruction, "the automation has too many secrets already", "limit", float64(mostLearned), "bytes", float64(mostLearnedBytes))

// hiddenKind is the kind of the contexts that hold what runs learned, by correlation id.
const hiddenKind = "hidden"

// hiddenFor is how long what a run learned is kept after it last learned something, or went
// on after a wait, besides the longest wait: longer than an event of it may have to wait
// before it triggers anything.
const hiddenFor = 7 * 24 * time.Hour

func (t *tree) hiddenKey() contexts.Key {
	return contexts.Key{WorkspaceID: t.workspaceID(), Kind: hiddenKind, ID: t.start.CorrelationID}
}

// learn adds secrets to those that nothing tells from now on that the run causes. What it
// refuses is not to be used: it would be told.
func (t *tree) learn(secrets ...string) error {
	l := &t.learned
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.fresh(secrets)
	if len(fresh) == 0 {
		return nil
	}
	if l.own >= mostLearned || l.bytes >= mostLearnedBytes {
		raised := *errLearned // who receives it says in it where it was raised
		return &raised
	}
	for _, secret := range fresh {
		l.own, l.bytes = l.own+1, l.bytes+len(secret)
	}
	t.redact.Add(fresh...)
	l.all = append(l.all, fresh...)
	return nil
}

// know is learn for what another tree of the run learned, or this one in another place.
func (t *tree) know(secrets ...string) {
	t.learned.mu.Lock()
	defer t.learned.mu.Unlock()
	t.redact.Add(secrets...)
	t.learned.all = append(t.learned.all, t.learned.fresh(secrets)...)
}

// fresh returns what is not known yet, each once.
func (l *learned) fresh(secrets []string) (fresh []string) {
	for _, secret := range secrets {
		if strings.TrimSpace(secret) != "" && !slices.Contains(l.all, secret) && !slices.Contains(fresh, secret) {
			fresh = append(fresh, secret)
		}
	}
	return fresh
}

// confide learns the secrets of an input.
func (t *tree) confide(p *programs.Program, in *value.Object) error {
	secrets, tooLong := p.Shape.Secrets(in)
	if err := t.learn(secrets...); err != nil {
		return err
	}
	return tooLong
}

// refresh lets everything be kept anew: what is kept goes in time.
func (l *learned) refresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = 0
}

// secrets returns what was learned.
func (l *learned) secrets() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// hides reports whether the run has secrets of its own.
func (t *tree) hides() bool {
	t.learned.mu.Lock()
	defer t.learned.mu.Unlock()
	return t.start.Meta.Hides || len(t.learned.all) > 0
}

// recall reads what other trees of the run learned. Most have none, and nothing is read.
func (t *tree) recall(ctx context.Context) error {
	t.redact.Add(t.start.House.Hidden(ctx)...)
	t.know(t.start.Hidden...)
	t.learned.kept = len(t.learned.all) // by who started it
	if !t.start.Meta.Hides || len(t.start.Hidden) > 0 {
		return nil
	}
	held, err := t.rt.Contexts.Load(ctx, t.hiddenKey())
	if err != nil {
		return err
	}
	t.know(held.Keys()...)
	t.learned.kept = len(t.learned.all)
	return nil
}

// keepLearned keeps what was learned. It comes before everything that tells of the run:
// who hears of that finds it.
func (t *tree) keepLearned(ctx context.Context) error {
	t.learned.mu.Lock()
	defer t.learned.mu.Unlock()
	if t.learned.kept == len(t.learned.all) {
		return nil
	}
	change := contexts.Change{Key: t.hiddenKey(), Expires: t.rt.Now().Add(t.settings.MaxWait + hiddenFor)}
	for _, secret := range t.learned.all[t.learned.kept:] {
		op := variable.Op{Kind: variable.Replace, Path: []expr.Step{{Key: secret}}, Value: true}
		change.Writes = append(change.Writes, contexts.Write{Op: op})
	}
	if err := t.rt.Contexts.Append(ctx, t.rt.NewID(), []contexts.Change{change}); err != nil {
		return err
	}
	t.learned.kept = len(t.learned.all)
	return nil
}

// unshared lets nothing be kept of what a tree learned that is over, or did not begin: it
// reached nobody and wrote nothing that somebody else would find a secret in.
func (l *learned) unshared() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = len(l.all)
}

// path is an address as events tell it. What is encoded where it need not be is no way
// around that.
func (t *tree) path(text string) string {
	shown := t.redact.Text(text)
	if plain, err := url.PathUnescape(shown); err == nil && plain != shown {
		if redacted := t.redact.Text(plain); redacted != plain {
			return redacted
		}
	}
	return shown
}

// shownTrigger is a trigger as events tell it.
func (t *tree) shownTrigger(from activity.Trigger) activity.Trigger {
	from.Value = t.path(from.Value)
	return from
}

// told is an error without the secrets of the run. Of what custom code said the end may
// have been cut off, in the middle of one.
func (t *tree) told(err *automation.Error) *automation.Error {
	if err == nil {
		return nil
	}
	told := *sandbox.Redacted(err, t.redact)
	told.Message = t.redact.Text(told.Message)
	told.Details, _ = t.redact.Value(told.Details).(*value.Object)
	return &told
}

// shown is a text of a request as events tell it; cut, when its end was cut off.
func (t *tree) shown(text string, cut bool) string {
	if cut {
		return t.redact.RedactCut(text)
	}
	return t.redact.Text(text)
}

// hushed is an error of the platform as its log tells it: without the secrets of the run.
type hushed struct {
	error
	text string
}

// Error implements error.
func (h hushed) Error() string { return h.text }

// Unwrap returns the error itself.
func (h hushed) Unwrap() error { return h.error }

func (t *tree) hush(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[hushed](err); ok {
		return err
	}
	return hushed{err, t.redact.Text(err.Error())}
}
