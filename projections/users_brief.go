package projections

import "encoding/json"

// StoredBrief is Brief for whoever may have made something of the same bytes
// before.
func (p Users) StoredBrief(r Reader, id string) (value []byte, ok bool, err error) {
	return r.Get(p, briefKey(id))
}

// ParseBrief reads what StoredBrief returned.
func ParseBrief(value []byte) (b UserBrief, err error) { return b, json.Unmarshal(value, &b) }
