package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc/domain"
	"svc/domain/user"
)

// The purposes of tokens in mails.
const (
	purposeReset   = "reset"
	purposeConfirm = "confirm"
)

// linkAge is the lifetime of the token of a mail.
const linkAge = time.Hour

// link is stored for the token of a mail. The aggregate refuses it when the address or the
// password has changed, so a reset can happen only once.
type link struct {
	UserID  string    `json:"userId"`
	Email   string    `json:"email"`
	Was     string    `json:"was"` // fingerprint of the password
	Expires time.Time `json:"expires"`
}

// issueLink returns a new token. Only its hash is stored.
func (a *Accounts) issueLink(ctx context.Context, purpose string, s user.State) (token string, err error) {
	token = randomText()
	body, err := json.Marshal(link{UserID: s.ID, Email: s.Email, Was: s.Credentials.Fingerprint(), Expires: a.o.Now().Add(linkAge).UTC()})
	if err != nil {
		return "", err
	}
	if err := a.o.Links.Put(ctx, linkKey(purpose, token), body, linkAge); err != nil {
		return "", fmt.Errorf("keep the token of a mail: %w", err)
	}
	return token, nil
}

// openLink returns the link of a token, or refuses it.
func (a *Accounts) openLink(ctx context.Context, purpose, token string) (link, error) {
	body, ok, err := a.o.Links.Get(ctx, linkKey(purpose, token))
	if err != nil {
		return link{}, unavailable(err)
	}
	if !ok {
		return link{}, unknownToken()
	}
	var have link
	if err := json.Unmarshal(body, &have); err != nil {
		return link{}, fmt.Errorf("read the token of a mail: %w", err)
	}
	if !have.Expires.After(a.o.Now()) {
		return link{}, unknownToken()
	}
	return have, nil
}

// deleteLink deletes a used token. An error is only logged: the aggregate refuses the token
// anyway.
func (a *Accounts) deleteLink(ctx context.Context, purpose, token string) {
	if err := a.o.Links.Delete(ctx, linkKey(purpose, token)); err != nil {
		a.o.Log.WarnContext(ctx, "used mail token not deleted", "purpose", purpose, "err", err)
	}
}

func linkKey(purpose, token string) string {
	return purpose + "/" + domain.HashSecret(token)
}

// unknownToken is the error for all invalid tokens.
func unknownToken() error {
	return domain.Invalid(domain.FieldError{Field: "token", Message: "is unknown, used or expired"})
}

// job is background work that no request waits for.
type job func(ctx context.Context) error

// enqueue queues a job of the request in ctx.
func (a *Accounts) enqueue(ctx context.Context, do job) { a.outbox.post(ctx, do) }

// mailReset records the request for a mail, and sends it to a local account.
func (a *Accounts) mailReset(email, ip string) job {
	return func(ctx context.Context) error {
		if err := a.o.Engine.Record(ctx, domain.Platform, user.PasswordResetRequested{Email: email, IP: ip}); err != nil {
			return err
		}
		s, err := a.byEmail(ctx, email)
		if err != nil || !isLocal(s) || s.Status == user.Deactivated {
			return err
		}
		return a.mailLink(ctx, purposeReset, s, "Choose a new password",
			"Somebody, hopefully you, asked for a new password for "+s.Email+".\n\n"+
				"Open this address within one hour to choose it:\n\n", "If it was not you, ignore this mail: nothing has changed.\n")
	}
}

// mailConfirmation sends the mail that proves the address of a local account, unless it is
// proven.
func (a *Accounts) mailConfirmation(email string) job {
	return func(ctx context.Context) error {
		s, err := a.byEmail(ctx, email)
		if err != nil || !isLocal(s) || s.Credentials.EmailProven || s.Status == user.Deactivated {
			return err
		}
		return a.mailLink(ctx, purposeConfirm, s, "Confirm your mail address",
			"Somebody, hopefully you, made an account with the address "+s.Email+".\n\n"+
				"Open this address within one hour to confirm that it is yours:\n\n", "If it was not you, ignore this mail.\n")
	}
}

// mailInvitation sends a link to choose a first password.
func (a *Accounts) mailInvitation(userID string) job {
	return func(ctx context.Context) error {
		s, err := a.load(ctx, userID)
		if err != nil || !s.Exists() {
			return err
		}
		return a.mailLink(ctx, purposeReset, s, "You are invited",
			"An account was made for you with the address "+s.Email+".\n\n"+
				"Open this address within one hour to choose your password:\n\n", "When it is too late, ask for a new password on the sign-in page.\n")
	}
}

// mailLink sends a mail with a new token between two texts, if mail is configured.
func (a *Accounts) mailLink(ctx context.Context, purpose string, s user.State, subject, before, after string) error {
	if a.o.Mailer == nil {
		return nil
	}
	token, err := a.issueLink(ctx, purpose, s)
	if err != nil {
		return err
	}
	err = a.o.Mailer.Send(ctx, s.Email, subject, before+a.o.Settings().link(purpose, token)+"\n\n"+after)
	if err != nil && strings.Contains(err.Error(), token) {
		return errors.New("the mail server refused a mail and repeated what is in it") // a token is never logged
	}
	return err
}

func isLocal(s user.State) bool {
	_, local := s.AuthData[user.Local]
	return local
}

// Limits of the background work.
const (
	outboxSize     = 256
	outboxWorkers  = 2
	outboxPatience = time.Minute // for one job
)

// outbox does work in the background, so that the time of an answer reveals nothing.
type outbox struct {
	log     *slog.Logger
	jobs    chan posted
	ctx     context.Context
	cancel  context.CancelFunc
	working sync.WaitGroup
	dropped atomic.Int64 // jobs that were cut off by close

	mu     sync.RWMutex
	closed bool
}

// posted is a job with the context values of its request.
type posted struct {
	ctx context.Context
	do  job
}

func openOutbox(log *slog.Logger) *outbox {
	ctx, cancel := context.WithCancel(context.Background())
	o := &outbox{log: log, jobs: make(chan posted, outboxSize), ctx: ctx, cancel: cancel}
	for range outboxWorkers {
		o.working.Go(o.work)
	}
	return o
}

// post queues a job, or drops it when there are too many: the user can ask again.
func (o *outbox) post(ctx context.Context, do job) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed {
		return
	}
	select {
	case o.jobs <- posted{context.WithoutCancel(ctx), do}:
	default:
		o.log.WarnContext(ctx, "a mail was dropped, too many are waiting", "waiting", outboxSize)
	}
}

func (o *outbox) work() {
	for p := range o.jobs {
		ctx, cancel := context.WithTimeout(p.ctx, outboxPatience)
		stop := context.AfterFunc(o.ctx, cancel)
		err := p.do(ctx)
		if err != nil && o.ctx.Err() != nil {
			o.dropped.Add(1)
		}
		if err != nil {
			o.log.WarnContext(ctx, "a mail was not sent", "err", err)
		}
		stop()
		cancel()
	}
}

// close accepts no more jobs and waits for the queued ones until ctx ends.
func (o *outbox) close(ctx context.Context) error {
	o.mu.Lock()
	if !o.closed {
		o.closed = true
		close(o.jobs)
	}
	o.mu.Unlock()
	done := make(chan struct{})
	go func() {
		o.working.Wait()
		close(done)
	}()
	defer o.cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	o.cancel()
	<-done
	if n := o.dropped.Load(); n > 0 {
		return fmt.Errorf("%d mails were not sent: %w", n, context.Cause(ctx))
	}
	return nil
}
