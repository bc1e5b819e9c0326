package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/commands/contexts"
	"svc/commands/programs"
	"svc/commands/sandbox"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/redact"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// runSecrets knows all secrets that a run must not show, and redacts them. Besides those of
// the workspace and its config, which every run knows, a run has secrets of its own: inputs
// that are declared as secret, references that it resolved, tokens. Whatever it triggers
// must know them, too, on any node and after a restart: they are stored beside the contexts
// of the run, and its events say that there are some.
type runSecrets struct {
	*runCore
	set *redact.Set // all that are known

	mu       sync.Mutex
	own      []string // of the run
	stored   int      // of own, the first ones
	ownCount int      // of own, those that this tree added,
	ownBytes int      // and their length
}

// The limits of the secrets that a tree may add: each is searched for in everything that the
// run records, and is stored with it.
const (
	maxRunSecrets     = 1000
	maxRunSecretBytes = 1 << 20
)

// errTooManySecrets says that a run has more secrets than can be redacted.
var errTooManySecrets = automation.Raise(automation.InvalidInstruction, "the automation has too many secrets already", "limit", float64(maxRunSecrets), "bytes", float64(maxRunSecretBytes))

// secretsKind is the kind of the contexts that store secrets of runs, by correlation id.
const secretsKind = "hidden"

// secretsLifetime is how long secrets are stored after a run last added one or continued
// after a wait, in addition to the longest wait. It is longer than the time that an event of
// the run may need to trigger something.
const secretsLifetime = 7 * 24 * time.Hour

func (s *runSecrets) key() contexts.Key {
	return contexts.Key{WorkspaceID: s.workspaceID(), Kind: secretsKind, ID: s.start.CorrelationID}
}

// add adds secrets of the run, which are redacted from now on. A secret that is refused must
// not be used: it would be shown.
func (s *runSecrets) add(secrets ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := s.unknown(secrets)
	if len(fresh) == 0 {
		return nil
	}
	if s.ownCount >= maxRunSecrets || s.ownBytes >= maxRunSecretBytes {
		raised := *errTooManySecrets // the machine sets where it was raised
		return &raised
	}
	for _, secret := range fresh {
		s.ownCount, s.ownBytes = s.ownCount+1, s.ownBytes+len(secret)
	}
	s.set.Add(fresh...)
	s.own = append(s.own, fresh...)
	return nil
}

// addKnown adds secrets that another tree of the run has added, or this one on another node.
func (s *runSecrets) addKnown(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.Add(secrets...)
	s.own = append(s.own, s.unknown(secrets)...)
}

// unknown returns those that the run does not have yet, each once.
func (s *runSecrets) unknown(secrets []string) (fresh []string) {
	for _, secret := range secrets {
		if strings.TrimSpace(secret) != "" && !slices.Contains(s.own, secret) && !slices.Contains(fresh, secret) {
			fresh = append(fresh, secret)
		}
	}
	return fresh
}

// addInput adds the secrets of an input.
func (s *runSecrets) addInput(p *programs.Program, in *value.Object) error {
	secrets, tooLong := p.Shape.Secrets(in)
	if err := s.add(secrets...); err != nil {
		return err
	}
	return tooLong
}

// markUnstored has all of them stored again, because stored secrets expire.
func (s *runSecrets) markUnstored() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = 0
}

// list returns the secrets of the run.
func (s *runSecrets) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.own)
}

// exist reports whether the run has secrets of its own.
func (s *runSecrets) exist() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start.Meta.Hides || len(s.own) > 0
}

// load reads the secrets that other trees of the run have added. Most runs have none, and
// nothing is read.
func (s *runSecrets) load(ctx context.Context) error {
	s.set.Add(s.start.ProgramSet.ConfigSecrets(ctx)...)
	s.addKnown(s.start.RunSecrets...)
	s.stored = len(s.own) // by who started it
	if !s.start.Meta.Hides || len(s.start.RunSecrets) > 0 {
		return nil
	}
	stored, err := s.rt.Contexts.Load(ctx, s.key())
	if err != nil {
		return err
	}
	s.addKnown(stored.Keys()...)
	s.stored = len(s.own)
	return nil
}

// store stores the secrets of the run. It is called before anything of the run becomes
// visible, so that whoever reads that finds them.
func (s *runSecrets) store(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored == len(s.own) {
		return nil
	}
	change := contexts.Change{Key: s.key(), Expires: s.rt.Now().Add(s.settings.MaxWait + secretsLifetime)}
	for _, secret := range s.own[s.stored:] {
		op := variable.Op{Kind: variable.Replace, Path: []expr.Step{{Key: secret}}, Value: true}
		change.Writes = append(change.Writes, contexts.Write{Op: op})
	}
	if err := s.rt.Contexts.Append(ctx, s.rt.NewID(), []contexts.Change{change}); err != nil {
		return err
	}
	s.stored = len(s.own)
	return nil
}

// markStored has nothing stored, for a tree that has ended or did not begin: it reached
// nobody, and wrote nothing that could contain a secret.
func (s *runSecrets) markStored() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = len(s.own)
}

// redactPath redacts an address, also one with needless percent-encoding.
func (s *runSecrets) redactPath(text string) string {
	redacted := s.set.Text(text)
	if plain, err := url.PathUnescape(redacted); err == nil && plain != redacted {
		if redacted := s.set.Text(plain); redacted != plain {
			return redacted
		}
	}
	return redacted
}

// redactTrigger redacts the address of a trigger.
func (s *runSecrets) redactTrigger(from activity.Trigger) activity.Trigger {
	from.Value = s.redactPath(from.Value)
	return from
}

// redactRaised redacts an error of an automation. The output of custom code in it may end in
// the middle of a secret.
func (s *runSecrets) redactRaised(err *automation.Error) *automation.Error {
	if err == nil {
		return nil
	}
	redacted := *sandbox.Redacted(err, s.set)
	redacted.Message = s.set.Text(redacted.Message)
	redacted.Details, _ = s.set.Value(redacted.Details).(*value.Object)
	return &redacted
}

// redactJSON returns a value as redacted JSON.
func (s *runSecrets) redactJSON(v any) json.RawMessage {
	return json.RawMessage(value.JSON(s.set.Value(v), ""))
}

// redactFact redacts an event about what triggered the run.
func (s *runSecrets) redactFact(ev domain.Event) domain.Event {
	switch ev := ev.(type) {
	case activity.Interaction:
		ev.Trigger = s.redactTrigger(ev.Trigger)
		return ev
	case activity.EndpointCalled:
		ev.Endpoint = s.redactPath(ev.Endpoint)
		return ev
	}
	return ev
}

// redactText redacts a text; cut says that its end is missing.
func (s *runSecrets) redactText(text string, cut bool) string {
	if cut {
		return s.set.RedactCut(text)
	}
	return s.set.Text(text)
}

// redactedError is an error of the platform with a redacted text, for the log of the node.
type redactedError struct {
	error
	text string
}

// Error implements error.
func (h redactedError) Error() string { return h.text }

// Unwrap returns the error itself.
func (h redactedError) Unwrap() error { return h.error }

func (s *runSecrets) redactError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[redactedError](err); ok {
		return err
	}
	return redactedError{err, s.set.Text(err.Error())}
}
