package access_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/access"
)

// executed is what is known of all ends of executions.
func executed() access.Partly {
	const kind = "runtime.automations.executed"
	return access.Partly{"type": kind, "source": access.Partly{"workspaceId": here, "serviceTopic": kind}, "target": access.Absent}
}

func TestWhatIsForeseenOfEventsOfOneType(t *testing.T) {
	const (
		all, none, some = "all", "none", "some"
	)
	fresh := workspace(t, access.Default(here), family()...)
	for name, tt := range map[string]struct {
		w    *access.Workspace
		who  access.Principal
		want string
	}{
		"a super admin":                  {fresh, root, all},
		"an owner":                       {fresh, ann, all},
		"an editor":                      {fresh, eve, all},
		"somebody without a role":        {fresh, rob, none},
		"a visitor":                      {fresh, visitor, none},
		"nobody":                         {fresh, nobody, none},
		"of one's session":               {ruled(t, `[{"action":"read","subject":"events","conditions":{"source.sessionId":"{{session.id}}"}}]`), rob, some},
		"of an automation":               {ruled(t, `[{"action":"read","subject":"events","conditions":{"payload.slug":"pay"}}]`), rob, some},
		"of all but one":                 {ruled(t, `[{"action":"read","subject":"events","conditions":{"payload.slug":{"$ne":"pay"}}}]`), rob, some},
		"of the type":                    {ruled(t, `[{"action":"read","subject":"events","conditions":{"type":{"$regex":"^runtime\\."}}}]`), rob, all},
		"of another type":                {ruled(t, `[{"action":"read","subject":"events","conditions":{"type":"order.paid"}}]`), rob, none},
		"of all other types":             {ruled(t, `[{"action":"read","subject":"events","conditions":{"type":{"$not":{"$regex":"^runtime\\."}}}}]`), rob, none},
		"one of two conditions":          {ruled(t, `[{"action":"read","subject":"events","conditions":{"$or":[{"payload.slug":"pay"},{"type":{"$exists":true}}]}}]`), rob, all},
		"two conditions":                 {ruled(t, `[{"action":"read","subject":"events","conditions":{"payload.slug":"pay","type":"order.paid"}}]`), rob, none},
		"for somebody":                   {ruled(t, `[{"action":"read","subject":"events","conditions":{"target":{"$exists":true}}}]`), rob, none},
		"from a whole source":            {ruled(t, `[{"action":"read","subject":"events","conditions":{"source":{"workspaceId":"x"}}}]`), rob, some},
		"denied":                         {ruled(t, `[{"action":"read","subject":"events"},{"action":"read","subject":"events","inverted":true}]`), rob, none},
		"denied for the type":            {ruled(t, `[{"action":"read","subject":"events"},{"action":"read","subject":"events","inverted":true,"conditions":{"type":{"$regex":"executed"}}}]`), rob, none},
		"denied for another":             {ruled(t, `[{"action":"read","subject":"events"},{"action":"read","subject":"events","inverted":true,"conditions":{"type":"x"}}]`), rob, all},
		"denied for some":                {ruled(t, `[{"action":"read","subject":"events"},{"action":"read","subject":"events","inverted":true,"conditions":{"payload.slug":"pay"}}]`), rob, some},
		"denied but for some":            {ruled(t, `[{"action":"read","subject":"events","inverted":true},{"action":"read","subject":"events","conditions":{"payload.slug":"pay"}}]`), rob, some},
		"allowed, and some once more":    {ruled(t, `[{"action":"read","subject":"events"},{"action":"read","subject":"events","conditions":{"payload.slug":"pay"}}]`), rob, all},
		"what is denied does not matter": {ruled(t, `[{"action":"read","subject":"events","inverted":true,"conditions":{"payload.slug":"pay"}},{"action":"read","subject":"events"}]`), rob, all},
	} {
		t.Run(name, func(t *testing.T) {
			allowed, sure := tt.w.For(tt.who).Foresee("read", "events", executed())
			got := map[[2]bool]string{{true, true}: all, {false, true}: none}[[2]bool{allowed, sure}]
			if !sure {
				got = some
			}
			require.Equal(t, tt.want, got)
		})
	}
	_, sure := fresh.For(nobody).Foresee("read", "pages", access.Partly{"workspaceId": here})
	require.False(t, sure, "reading the workspace decides")
}

// What is foreseen of an object, however little of it is known, is so.
func TestWhatIsForeseenIsAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := workspace(t, someDocument(t), someShares(t)...).For(somebody(t))
		for range 10 {
			q := someQuestion(t)
			object, ok := q.object.(access.Fields)
			if !ok || len(q.fields) > 0 { // it is shared by itself
				continue
			}
			known := access.Partly{}
			for _, name := range []string{"name", "labels", "meta", "type", "target", "id", "workspaceId", "runningWorkspaceId", "source", "nothing"} {
				if !rapid.Bool().Draw(t, "knows "+name) {
					continue
				}
				if known[name] = access.Absent; object[name] != nil {
					known[name] = object[name]
				}
			}
			if allowed, sure := r.Foresee(q.action, q.subject, known); sure {
				require.Equal(t, q.of(r), allowed, "%v, of which %v is known", q, known)
			}
		}
	})
}
