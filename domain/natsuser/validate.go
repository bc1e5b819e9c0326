package natsuser

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"svc/domain"
)

// Bounds of what one user watches: each workspace and type is a rule that the broker
// holds for each of its connections.
const (
	maxName       = 100
	maxWorkspaces = 200
	maxTypes      = 20
	maxPattern    = 200
)

// publicKey is the form of the public key of a NATS user.
var publicKey = regexp.MustCompile(`^U[A-Z2-7]{55}$`)

func (c Create) validate() error {
	var errs []domain.FieldError
	fault := func(wrong bool, field, message string) {
		if wrong {
			errs = append(errs, domain.FieldError{Field: field, Message: message})
		}
	}
	t := c.Terms
	fault(!publicKey.MatchString(c.PublicKey), "publicKey", "must be the public key of a NATS user")
	fault(!domain.IsTitle(t.Name, maxName), "name", "must be 1 to 100 characters without control characters")
	fault(t.All == (len(t.Workspaces) > 0), "workspaces", "must name at least one workspace, or all must be true, not both")
	fault(len(t.Workspaces) > maxWorkspaces, "workspaces", fmt.Sprintf("must be at most %d", maxWorkspaces))
	fault(len(t.Types) > maxTypes, "types", fmt.Sprintf("must be at most %d", maxTypes))
	fault(!t.ExpiresAt.IsZero() && !t.ExpiresAt.After(c.Now), "expiresAt", "must be in the future")
	for i, pattern := range t.Types {
		fault(!IsPattern(pattern), fmt.Sprintf("types.%d", i), "must be an event type of which whole words may be *, such as workspaces.bulkPush.*")
	}
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// IsPattern reports whether a pattern of event types can be watched. Subjects know
// wildcards for whole words only.
func IsPattern(pattern string) bool {
	if !domain.IsTitle(pattern, maxPattern) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(pattern, "."), func(word string) bool {
		return word == "" || word != "*" && strings.Contains(word, "*")
	})
}
