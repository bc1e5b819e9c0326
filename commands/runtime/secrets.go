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

// runSecrets are the secrets that the run itself brought: inputs that are declared as secret,
// references that were followed, tokens. Whatever it triggers knows them too, on any node
// and after a restart: they are kept beside its contexts, and its events say that there
// are some. The secrets of the workspace and of its settings are none of them: every tree
// knows those.
type runSecrets struct {
	mu       sync.Mutex
	all      []string
	stored   int // of them, the first ones
	ownCount int // of them, what this tree learned itself,
	ownBytes int // and how long that is
}

// A tree that has learned so many secrets, or so long ones, learns no more: each is looked
// for in all that the run tells, and kept with it.
const (
	maxRunSecrets     = 1000
	maxRunSecretBytes = 1 << 20
)

// errTooManySecrets says that somebody has more secrets than can be hidden.
var errTooManySecrets = automation.Raise(automation.InvalidInstruction, "the automation has too many secrets already", "limit", float64(maxRunSecrets), "bytes", float64(maxRunSecretBytes))

// secretsKind is the kind of the contexts that hold what runs learned, by correlation id.
const secretsKind = "hidden"

// secretsLifetime is how long what a run learned is kept after it last learned something, or went
// on after a wait, besides the longest wait: longer than an event of it may have to wait
// before it triggers anything.
const secretsLifetime = 7 * 24 * time.Hour

func (t *run) secretsKey() contexts.Key {
	return contexts.Key{WorkspaceID: t.workspaceID(), Kind: secretsKind, ID: t.start.CorrelationID}
}

// addSecrets adds secrets to those that nothing tells from now on that the run causes. What it
// refuses is not to be used: it would be told.
func (t *run) addSecrets(secrets ...string) error {
	l := &t.runSecrets
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.unknown(secrets)
	if len(fresh) == 0 {
		return nil
	}
	if l.ownCount >= maxRunSecrets || l.ownBytes >= maxRunSecretBytes {
		raised := *errTooManySecrets // who receives it says in it where it was raised
		return &raised
	}
	for _, secret := range fresh {
		l.ownCount, l.ownBytes = l.ownCount+1, l.ownBytes+len(secret)
	}
	t.redact.Add(fresh...)
	l.all = append(l.all, fresh...)
	return nil
}

// addKnownSecrets is learn for what another tree of the run learned, or this one in another place.
func (t *run) addKnownSecrets(secrets ...string) {
	t.runSecrets.mu.Lock()
	defer t.runSecrets.mu.Unlock()
	t.redact.Add(secrets...)
	t.runSecrets.all = append(t.runSecrets.all, t.runSecrets.unknown(secrets)...)
}

// unknown returns what is not known yet, each once.
func (l *runSecrets) unknown(secrets []string) (fresh []string) {
	for _, secret := range secrets {
		if strings.TrimSpace(secret) != "" && !slices.Contains(l.all, secret) && !slices.Contains(fresh, secret) {
			fresh = append(fresh, secret)
		}
	}
	return fresh
}

// addInputSecrets learns the secrets of an input.
func (t *run) addInputSecrets(p *programs.Program, in *value.Object) error {
	secrets, tooLong := p.Shape.Secrets(in)
	if err := t.addSecrets(secrets...); err != nil {
		return err
	}
	return tooLong
}

// markUnstored lets everything be kept anew: what is kept goes in time.
func (l *runSecrets) markUnstored() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stored = 0
}

// list returns what was learned.
func (l *runSecrets) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// hasRunSecrets reports whether the run has secrets of its own.
func (t *run) hasRunSecrets() bool {
	t.runSecrets.mu.Lock()
	defer t.runSecrets.mu.Unlock()
	return t.start.Meta.Hides || len(t.runSecrets.all) > 0
}

// loadRunSecrets reads what other trees of the run learned. Most have none, and nothing is read.
func (t *run) loadRunSecrets(ctx context.Context) error {
	t.redact.Add(t.start.ProgramSet.ConfigSecrets(ctx)...)
	t.addKnownSecrets(t.start.RunSecrets...)
	t.runSecrets.stored = len(t.runSecrets.all) // by who started it
	if !t.start.Meta.Hides || len(t.start.RunSecrets) > 0 {
		return nil
	}
	held, err := t.rt.Contexts.Load(ctx, t.secretsKey())
	if err != nil {
		return err
	}
	t.addKnownSecrets(held.Keys()...)
	t.runSecrets.stored = len(t.runSecrets.all)
	return nil
}

// storeRunSecrets keeps what was learned. It comes before everything that tells of the run:
// who hears of that finds it.
func (t *run) storeRunSecrets(ctx context.Context) error {
	t.runSecrets.mu.Lock()
	defer t.runSecrets.mu.Unlock()
	if t.runSecrets.stored == len(t.runSecrets.all) {
		return nil
	}
	change := contexts.Change{Key: t.secretsKey(), Expires: t.rt.Now().Add(t.settings.MaxWait + secretsLifetime)}
	for _, secret := range t.runSecrets.all[t.runSecrets.stored:] {
		op := variable.Op{Kind: variable.Replace, Path: []expr.Step{{Key: secret}}, Value: true}
		change.Writes = append(change.Writes, contexts.Write{Op: op})
	}
	if err := t.rt.Contexts.Append(ctx, t.rt.NewID(), []contexts.Change{change}); err != nil {
		return err
	}
	t.runSecrets.stored = len(t.runSecrets.all)
	return nil
}

// markStored lets nothing be kept of what a tree learned that is over, or did not begin: it
// reached nobody and wrote nothing that somebody else would find a secret in.
func (l *runSecrets) markStored() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stored = len(l.all)
}

// redactPath is an address as events tell it. What is encoded where it need not be is no way
// around that.
func (t *run) redactPath(text string) string {
	shown := t.redact.Text(text)
	if plain, err := url.PathUnescape(shown); err == nil && plain != shown {
		if redacted := t.redact.Text(plain); redacted != plain {
			return redacted
		}
	}
	return shown
}

// redactTrigger is a trigger as events tell it.
func (t *run) redactTrigger(from activity.Trigger) activity.Trigger {
	from.Value = t.redactPath(from.Value)
	return from
}

// redactRaised is an error without the secrets of the run. Of what custom code said the end may
// have been cut off, in the middle of one.
func (t *run) redactRaised(err *automation.Error) *automation.Error {
	if err == nil {
		return nil
	}
	told := *sandbox.Redacted(err, t.redact)
	told.Message = t.redact.Text(told.Message)
	told.Details, _ = t.redact.Value(told.Details).(*value.Object)
	return &told
}

// toEmittedEvent is a text of a request as events tell it; cut, when its end was cut off.
func (t *run) redactText(text string, cut bool) string {
	if cut {
		return t.redact.RedactCut(text)
	}
	return t.redact.Text(text)
}

// redactedError is an error of the platform as its log tells it: without the secrets of the run.
type redactedError struct {
	error
	text string
}

// Error implements error.
func (h redactedError) Error() string { return h.text }

// Unwrap returns the error itself.
func (h redactedError) Unwrap() error { return h.error }

func (t *run) redactError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[redactedError](err); ok {
		return err
	}
	return redactedError{err, t.redact.Text(err.Error())}
}
