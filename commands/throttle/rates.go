package throttle

import (
	"strconv"
	"strings"
)

// Rates are the paces of a workspace.
type Rates struct {
	Disabled                            bool // nothing waits
	Executions, Emits, Fetches, Repeats Rate
}

// Defaults are the paces when nobody says otherwise.
func Defaults() Rates {
	return Rates{Executions: Rate{100, 400}, Emits: Rate{30, 100}, Fetches: Rate{50, 200}, Repeats: Rate{1000, 4000}}
}

// Of returns the pace of one thing.
func (r Rates) Of(what What) Rate {
	if r.Disabled {
		return Rate{}
	}
	switch what {
	case Executions:
		return r.Executions
	case Emits:
		return r.Emits
	case Fetches:
		return r.Fetches
	case Repeats:
		return r.Repeats
	}
	return Rate{}
}

// overridePrefix begins the names of the secrets by which a super admin sets the
// paces of one workspace.
const overridePrefix = "svc_ratelimit_"

// Overridden returns the paces with what the secrets of a workspace say instead:
// secret returns the value of a name, "" when there is none. A value that is no
// number changes nothing.
func (r Rates) Overridden(secret func(name string) string) Rates {
	if disabled, err := strconv.ParseBool(strings.TrimSpace(secret(overridePrefix + "disabled"))); err == nil {
		r.Disabled = disabled
	}
	for _, o := range []struct {
		name string
		rate *Rate
	}{{"automations", &r.Executions}, {"emits", &r.Emits}, {"fetchs", &r.Fetches}, {"repeats", &r.Repeats}} {
		override(&o.rate.PerSecond, secret(overridePrefix+o.name))
		override(&o.rate.Burst, secret(overridePrefix+o.name+"_burst"))
	}
	return r
}

func override(n *float64, text string) {
	if given, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && given >= 0 {
		*n = given
	}
}
